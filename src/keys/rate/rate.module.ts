import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { createRedisClient, Logger, Settings } from '../../platform';
import { RateLimiter } from './rate-limiter.service';
import { RateStorage } from './rate-storage';
import { RateWindows } from './rate-windows';
import { RedisWindows } from './redis-windows';

@Module({
  providers: [
    {
      provide: RateWindows,
      inject: [Settings, Logger],
      useFactory: async ({ redisUrl }: Settings, logger: Logger) => {
        const redis = redisUrl ? new RedisWindows(createRedisClient(redisUrl, logger)) : null;
        const windows = new RateWindows(redis, logger);
        await windows.start();
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
