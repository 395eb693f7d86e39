import { Injectable, type OnModuleInit } from '@nestjs/common';
import { monotonicMs, withDeadline } from '../../kernel';
import { Notifications } from '../../platform';
import type { EffectiveAutoPolicy } from './auto-settings';
import { type AutoAudience, autoSettingsChannel, AutoSettingsStore } from './auto-settings.store';
import { effectivePolicy } from './effective-policy';

interface CachedPolicy {
  readonly policy: Promise<EffectiveAutoPolicy>;
  until: number;
}

const MAX_CALLERS = 10_000;
/** Announcements expire a copy within milliseconds; this limit applies if none arrive. */
const CACHE_TTL_MS = 5_000;
const READ_DEADLINE_MS = 2_000;

/** Caches the effective policies of callers of `auto`. A policy that cannot be refreshed stays in force. */
@Injectable()
export class AutoPolicies implements OnModuleInit {
  private readonly cache = new Map<string, CachedPolicy>();

  constructor(
    private readonly store: AutoSettingsStore,
    private readonly notifications: Notifications,
  ) {}

  async onModuleInit(): Promise<void> {
    const expireAll = (): void => {
      for (const each of this.cache.values()) each.until = 0;
    };
    await this.notifications.on(autoSettingsChannel, expireAll);
    this.notifications.onGap(expireAll);
    this.store.onChange(expireAll);
  }

  of(audience: AutoAudience): Promise<EffectiveAutoPolicy> {
    const key = `${audience.organisationId} ${audience.userId} ${audience.keyId}`;
    const cached = this.cache.get(key);
    const now = monotonicMs();
    if (cached !== undefined && cached.until > now) return cached.policy;
    const policy = this.read(audience, cached?.policy);
    this.cache.delete(key);
    this.cache.set(key, { policy, until: now + CACHE_TTL_MS });
    policy.catch(() => this.cache.delete(key));
    if (this.cache.size > MAX_CALLERS) {
      const oldest = this.cache.keys().next();
      if (!oldest.done) this.cache.delete(oldest.value);
    }
    return policy;
  }

  private async read(
    audience: AutoAudience,
    previous: Promise<EffectiveAutoPolicy> | undefined,
  ): Promise<EffectiveAutoPolicy> {
    try {
      return effectivePolicy(await withDeadline(READ_DEADLINE_MS, this.store.levels(audience)));
    } catch (error) {
      if (previous === undefined) throw error;
      return previous;
    }
  }
}
