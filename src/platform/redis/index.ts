export { createRedisClient } from './redis-client';
