import type { Pool } from 'pg';
import type { Metrics } from '../metrics';

/** How busy a pool of connections is, at the moment of looking. */
export function readPool(metrics: Metrics, name: string, pool: Pool): void {
  const { totalCount, idleCount, waitingCount } = pool;
  metrics.databaseConnections.set({ pool: name, state: 'used' }, totalCount - idleCount);
  metrics.databaseConnections.set({ pool: name, state: 'idle' }, idleCount);
  metrics.databaseWaiting.set({ pool: name }, waitingCount);
  metrics.databasePoolLimit.set({ pool: name }, pool.options.max);
}
