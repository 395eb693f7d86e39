import { Injectable } from '@nestjs/common';
import { InjectThrottlerStorage, type ThrottlerStorage } from '@nestjs/throttler';
import { fault, MINUTE_MS } from '../kernel';

const MAX_TESTS_PER_MINUTE = 5;

/** Limits test messages per owner, because each one reaches an external system. */
@Injectable()
export class TestMessageRate {
  constructor(@InjectThrottlerStorage() private readonly storage: ThrottlerStorage) {}

  /** Counts a test of an organisation, or of the platform if null; throws if the limit of the minute is reached. */
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
