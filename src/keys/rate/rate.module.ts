import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { createRedisClient, Logger, Metrics, Settings } from '../../platform';
import { RateLimiter } from './rate-limiter.service';
import { RateStorage } from './rate-storage';
import { RateWindows } from './rate-windows';
import { RedisWindows } from './redis-windows';

@Module({
  providers: [
    {
      provide: RateWindows,
      inject: [Settings, Logger, Metrics],
      useFactory: async ({ redisUrl, redisAnswerMs }: Settings, logger: Logger, metrics: Metrics) => {
        const redis = redisUrl ? new RedisWindows(createRedisClient(redisUrl, logger)) : null;
        const windows = new RateWindows(redis, logger, redisAnswerMs);
        await windows.start();
        metrics.beforeRead(() => updateMetrics(metrics, windows));
        return windows;
      },
    },
    RateLimiter,
    RateStorage,
  ],
  exports: [RateLimiter, RateStorage],
})
export class RateModule implements OnApplicationShutdown {
  constructor(private readonly windows: RateWindows) {}

  async onApplicationShutdown(): Promise<void> {
    await this.windows.stop();
  }
}

function updateMetrics(metrics: Metrics, { shared }: RateWindows): void {
  if (shared === null) return;
  metrics.redisUp.set({}, shared.isUp ? 1 : 0);
  if (shared.roundTripMs !== null) metrics.redisRoundTrip.set({}, shared.roundTripMs / 1_000);
}
