import type { Pool } from 'pg';
import type { Metrics } from '../metrics';

export function updatePoolGauges(metrics: Metrics, name: string, pool: Pool): void {
  const { totalCount, idleCount, waitingCount } = pool;
  metrics.databaseConnections.set({ pool: name, state: 'used' }, totalCount - idleCount);
  metrics.databaseConnections.set({ pool: name, state: 'idle' }, idleCount);
  metrics.databaseWaiting.set({ pool: name }, waitingCount);
  metrics.databasePoolLimit.set({ pool: name }, pool.options.max);
}
