import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { RateWindows } from './rate-windows';

type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * The same windows under the throttler's name for them, so that its guards count over all nodes too. A block lasts
 * until there is room again and no longer: `blockDuration` has nothing to add to a window that slides.
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
