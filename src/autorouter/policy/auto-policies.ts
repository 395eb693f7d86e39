import { Injectable, type OnModuleInit } from '@nestjs/common';
import { monotonicMs, withDeadline } from '../../kernel';
import { Notifications } from '../../platform';
import type { EffectiveAutoPolicy } from './auto-settings';
import { type AutoAudience, autoSettingsChannel, AutoSettingsStore } from './auto-settings.store';
import { effectivePolicy } from './effective-policy';

interface Kept {
  readonly policy: Promise<EffectiveAutoPolicy>;
  until: number;
}

const MOST_CALLERS = 10_000;
/** Announcements end a copy within milliseconds; this ends it where none arrive. */
const KEPT_MS = 5_000;
const READ_DEADLINE_MS = 2_000;

/** This node's copies of the policies that callers of `auto` are under. One that cannot be read anew stays. */
@Injectable()
export class AutoPolicies implements OnModuleInit {
  private readonly kept = new Map<string, Kept>();

  constructor(
    private readonly store: AutoSettingsStore,
    private readonly notifications: Notifications,
  ) {}

  async onModuleInit(): Promise<void> {
    const doubt = (): void => {
      for (const each of this.kept.values()) each.until = 0;
    };
    await this.notifications.on(autoSettingsChannel, doubt);
    this.notifications.onGap(doubt);
    this.store.follow(doubt);
  }

  /** The policy of a caller takes every level together. */
  of(audience: AutoAudience): Promise<EffectiveAutoPolicy> {
    const key = `${audience.organisationId} ${audience.userId} ${audience.keyId}`;
    const known = this.kept.get(key);
    const now = monotonicMs();
    if (known !== undefined && known.until > now) return known.policy;
    const policy = this.read(audience, known?.policy);
    this.kept.delete(key);
    this.kept.set(key, { policy, until: now + KEPT_MS });
    policy.catch(() => this.kept.delete(key));
    if (this.kept.size > MOST_CALLERS) {
      const oldest = this.kept.keys().next();
      if (!oldest.done) this.kept.delete(oldest.value);
    }
    return policy;
  }

  private async read(
    audience: AutoAudience,
    before: Promise<EffectiveAutoPolicy> | undefined,
  ): Promise<EffectiveAutoPolicy> {
    try {
      return effectivePolicy(await withDeadline(READ_DEADLINE_MS, this.store.levels(audience)));
    } catch (error) {
      if (before === undefined) throw error;
      return before;
    }
  }
}
