import { Redis } from 'ioredis';
import type { Logger } from '../logging';

/**
 * The client connects on its first command and never blocks callers. A command without a server fails within
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
  let reachable = true;
  client.on('error', (error: Error) => {
    // It warns once an outage, not once an attempt.
    if (reachable) logger.warn('redis cannot be reached', { error });
    reachable = false;
  });
  client.on('ready', () => {
    if (!reachable) logger.info('redis is back');
    reachable = true;
  });
  return client;
}
