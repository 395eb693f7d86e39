import { Redis } from 'ioredis';
import type { Logger } from '../logging';

/**
 * Creates a client that connects on its first command and never blocks callers. Without a server a command fails within
 * seconds, while the client reconnects in the background.
 */
export function createRedisClient(url: string, logger: Logger): Redis {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 3_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 1,
    retryStrategy: (attempt) => Math.min(100 * 2 ** attempt, 5_000),
  });
  let isReachable = true;
  client.on('error', (error: Error) => {
    // Warns once per outage, not once per attempt.
    if (isReachable) logger.warn('redis cannot be reached', { error });
    isReachable = false;
  });
  client.on('ready', () => {
    if (!isReachable) logger.info('redis is back');
    isReachable = true;
  });
  return client;
}
