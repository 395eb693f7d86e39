import type { Redis, Result } from 'ioredis';
import type { RateWindow, RateReading } from './rate-reading';
import {
  correctTokensScript,
  enterScript,
  heartbeatScript,
  renewScript,
  takeScript,
  takeTokensScript,
} from './redis-scripts';
import type { TokenWindow } from './token-log';

type WindowResponse = [allowed: number, used: number, resetMs: number, retryMs: number, since: string];

declare module 'ioredis' {
  interface RedisCommander<Context> {
    rateTake(
      key: string,
      sinceKey: string,
      limit: number,
      windowMs: number,
      adds: 0 | 1,
    ): Result<WindowResponse, Context>;
    rateTakeTokens(
      momentsKey: string,
      tokensKey: string,
      sinceKey: string,
      limit: number,
      windowMs: number,
      adds: 0 | 1,
      tokens: number,
      id: string,
    ): Result<WindowResponse, Context>;
    rateCorrectTokens(tokensKey: string, id: string, tokens: number): Result<null, Context>;
    rateEnter(
      key: string,
      sinceKey: string,
      limit: number,
      leaseMs: number,
      id: string,
    ): Result<[allowed: number, used: number, since: string], Context>;
    rateRenew(key: string, leaseMs: number, ...ids: string[]): Result<null, Context>;
    ratePresence(key: string, node: string, forgetMs: number): Result<number, Context>;
  }
}

const PREFIX = 'switchboard:rate:';
const SINCE = `${PREFIX}since`;
/** A node without a heartbeat for this long is not counted. */
const FORGET_NODE_MS = 10_000;
/** A call of a dead node stops counting after this long. */
const SLOT_LEASE_MS = 30_000;

interface CountsSince {
  /** A value other than before means that Redis has lost its counts. */
  readonly since: string;
}

export type SharedReading = RateReading & CountsSince;
export type SharedEntry = CountsSince & { readonly allowed: boolean; readonly used: number };

/** Windows in Redis: one for all nodes, read and written in one round trip by its clock. */
export class RedisWindows {
  constructor(private readonly redis: Redis) {
    redis.defineCommand('rateTake', { numberOfKeys: 2, lua: takeScript });
    redis.defineCommand('rateTakeTokens', { numberOfKeys: 3, lua: takeTokensScript });
    redis.defineCommand('rateCorrectTokens', { numberOfKeys: 1, lua: correctTokensScript });
    redis.defineCommand('rateEnter', { numberOfKeys: 2, lua: enterScript });
    redis.defineCommand('rateRenew', { numberOfKeys: 1, lua: renewScript });
    redis.defineCommand('ratePresence', { numberOfKeys: 1, lua: heartbeatScript });
  }

  take(window: RateWindow): Promise<SharedReading> {
    return this.run(window, 1);
  }

  peek(window: RateWindow): Promise<SharedReading> {
    return this.run(window, 0);
  }

  /** Without an id, nothing is taken. */
  async takeTokens({ key, limit, windowMs }: TokenWindow, tokens: number, id = ''): Promise<SharedReading> {
    const response = await this.redis.rateTakeTokens(
      PREFIX + key,
      `${PREFIX}${key}:sums`,
      SINCE,
      limit,
      windowMs,
      id === '' ? 0 : 1,
      tokens,
      id,
    );
    return toReading(limit, response);
  }

  async correctTokens({ key }: TokenWindow, id: string, tokens: number): Promise<void> {
    await this.redis.rateCorrectTokens(`${PREFIX}${key}:sums`, id, tokens);
  }

  /** Without an id, nothing is taken. */
  async enter(key: string, limit: number, id = ''): Promise<SharedEntry> {
    const [allowed, used, since] = await this.redis.rateEnter(PREFIX + key, SINCE, limit, SLOT_LEASE_MS, id);
    return { allowed: allowed === 1, used, since };
  }

  async leave(key: string, id: string): Promise<void> {
    await this.redis.zrem(PREFIX + key, id);
  }

  async renew(key: string, ids: readonly string[]): Promise<void> {
    await this.redis.rateRenew(PREFIX + key, SLOT_LEASE_MS, ...ids);
  }

  register(node: string): Promise<number> {
    return this.redis.ratePresence(`${PREFIX}nodes`, node, FORGET_NODE_MS);
  }

  close(): void {
    this.redis.disconnect();
  }

  private async run({ key, limit, windowMs }: RateWindow, adds: 0 | 1): Promise<SharedReading> {
    return toReading(limit, await this.redis.rateTake(PREFIX + key, SINCE, limit, windowMs, adds));
  }
}

const toReading = (
  limit: number,
  [allowed, used, resetMs, retryMs, since]: WindowResponse,
): SharedReading => ({
  allowed: allowed === 1,
  limit,
  used,
  resetMs,
  retryMs,
  since,
});
