import { Injectable, type OnModuleInit } from '@nestjs/common';
import { monotonicMs } from '../../kernel';
import { Notifications } from '../../platform';
import type { EffectiveAutoPolicy } from './auto-settings';
import { type AutoAudience, autoSettingsChannel, AutoSettingsStore } from './auto-settings.store';
import { effectivePolicy } from './effective-policy';

interface Kept {
  readonly policy: Promise<EffectiveAutoPolicy>;
  readonly until: number;
}

const MOST_CALLERS = 10_000;
/** Announcements end a copy within milliseconds; this ends it where none arrive. */
const KEPT_MS = 5_000;

/** This node's copies of the policies that callers of `auto` are under. */
@Injectable()
export class AutoPolicies implements OnModuleInit {
  private readonly kept = new Map<string, Kept>();

  constructor(
    private readonly store: AutoSettingsStore,
    private readonly notifications: Notifications,
  ) {}

  async onModuleInit(): Promise<void> {
    const forget = (): void => this.kept.clear();
    await this.notifications.on(autoSettingsChannel, forget);
    this.notifications.onGap(forget);
    this.store.follow(forget);
  }

  /** What counts for a caller. */
  of(audience: AutoAudience): Promise<EffectiveAutoPolicy> {
    const key = `${audience.organisationId} ${audience.userId} ${audience.keyId}`;
    const known = this.kept.get(key);
    const now = monotonicMs();
    if (known !== undefined && known.until > now) return known.policy;
    const policy = this.store.levels(audience).then(effectivePolicy);
    this.kept.delete(key);
    this.kept.set(key, { policy, until: now + KEPT_MS });
    policy.catch(() => this.kept.delete(key));
    if (this.kept.size > MOST_CALLERS) {
      const oldest = this.kept.keys().next();
      if (!oldest.done) this.kept.delete(oldest.value);
    }
    return policy;
  }
}
