import { Injectable } from '@nestjs/common';
import { InjectThrottlerStorage, type ThrottlerStorage } from '@nestjs/throttler';
import { fault, MINUTE_MS } from '../kernel';

const MAX_TESTS_PER_MINUTE = 5;

/** Limits test messages per owner, since each goes to a system of others. */
@Injectable()
export class TestMessageRate {
  constructor(@InjectThrottlerStorage() private readonly storage: ThrottlerStorage) {}

  /** Counts a test of an organisation (null: of the platform). Throws when the minute has had its five. */
  async take(kind: 'alert-tests' | 'tap-tests', organisationId: number | null): Promise<void> {
    const owner = String(organisationId ?? 'platform');
    const rate = await this.storage.increment(owner, MINUTE_MS, MAX_TESTS_PER_MINUTE, MINUTE_MS, kind);
    if (!rate.isBlocked) return;
    throw fault('rate_limit_exceeded', {
      message: `Send up to ${MAX_TESTS_PER_MINUTE} test messages per minute.`,
      retryAfterSeconds: rate.timeToBlockExpire,
      details: { reason: 'test-messages', most: MAX_TESTS_PER_MINUTE },
    });
  }
}
