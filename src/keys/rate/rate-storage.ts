import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { RateWindows } from './rate-windows';

type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * Rate windows behind the throttler's interface, so that its guards count across nodes. A block lasts until the window
 * has room; `blockDuration` is ignored.
 */
@Injectable()
export class RateStorage implements ThrottlerStorage {
  constructor(private readonly windows: RateWindows) {}

  async increment(
    key: string,
    ttl: number,
    limit: number,
    _blockDuration: number,
    throttlerName: string,
  ): Promise<StorageRecord> {
    const reading = await this.windows.take({ key: `${throttlerName}:${key}`, limit, windowMs: ttl });
    return {
      totalHits: reading.allowed ? reading.used : limit + 1,
      timeToExpire: Math.ceil(reading.resetMs / 1_000),
      isBlocked: !reading.allowed,
      timeToBlockExpire: Math.ceil(reading.retryMs / 1_000),
    };
  }
}
