import { Controller, Query, Req } from '@nestjs/common';
import { type StoredTokenEvent, TokenEvents } from '../../catalogue';
import { KeyRegister, RateLimiter } from '../../keys';
import { Settings } from '../../platform';
import { Access, adminScope, Data, type HttpRequest } from '../../web';
import { PoolHealthQuery } from './pool-health';
import { TokenLogQuery } from './token-log.dto';
import { RateStateQuery } from './observability.dto';

@Controller()
export class ObservabilityController {
  constructor(
    private readonly events: TokenEvents,
    private readonly health: PoolHealthQuery,
    private readonly keys: KeyRegister,
    private readonly rates: RateLimiter,
    private readonly settings: Settings,
  ) {}

  @Data('/api/admin/token-logs', Access.role('platform_admin'))
  async tokenLogs(@Query() query: TokenLogQuery) {
    const { limit, offset } = query;
    const events = await this.events.find({
      provider: query.provider,
      keyName: query.key_name,
      kinds: query.kinds,
      source: query.source,
      errorKind: query.error_kind,
      sinceMs: query.since_ms,
      windowHours: query.window_hours,
      limit: limit + 1,
      offset,
    });
    return {
      object: 'list',
      data: events.slice(0, limit).map(presentEvent),
      has_more: events.length > limit,
      limit,
      offset,
      window_hours: query.window_hours,
    };
  }

  @Data('/dashboard/admin/api/proxy-health', Access.role('platform_admin'))
  async proxyHealth() {
    return { checked_at: new Date().toISOString(), pools: await this.health.pools() };
  }

  /** Returns the state of a key's rate windows without consuming from them. */
  @Data('/dashboard/admin/api/key-rate-limit-state', Access.role('department_admin'))
  async rateState(@Query() { key_id: keyId }: RateStateQuery, @Req() request: HttpRequest) {
    const key = await this.keys.get(adminScope(request), keyId);
    const rateLimitRpm = key.rateLimitRpm ?? this.settings.keyRateLimitRpm;
    const limitedKey = { ...key, keyId: key.id, rateLimitRpm };
    const [{ limit, used, remaining, resetsAt }, tokens, parallel] = await Promise.all([
      this.rates.stateOf(limitedKey),
      this.rates.tokensOf(limitedKey),
      this.rates.parallelOf(limitedKey),
    ]);
    return {
      key_id: key.id,
      key_public_id: key.publicId,
      name: key.name,
      status: key.status,
      window_seconds: 60,
      limit,
      is_own_limit: key.rateLimitRpm !== null,
      used,
      remaining,
      blocked: remaining === 0,
      resets_at: resetsAt?.toISOString() ?? null,
      tokens:
        tokens === null
          ? null
          : { ...tokens, resetsAt: undefined, resets_at: tokens.resetsAt?.toISOString() ?? null },
      parallel,
    };
  }
}

const presentEvent = ({ id, at, provider, keyName, kind, source, errorKind, detail }: StoredTokenEvent) => ({
  id,
  at: at.toISOString(),
  at_ms: at.getTime(),
  provider,
  key_name: keyName,
  kind,
  source,
  error_kind: errorKind,
  detail,
});
