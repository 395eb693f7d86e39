import { AuditChain } from '#product/audit';
import type { TestApp } from './app';

/** Repeats sealing until no entry waits, because a seal is skipped while the service's own round holds the lock. */
export async function sealAll({
  application,
  database,
}: Pick<TestApp, 'application' | 'database'>): Promise<void> {
  const chain = application.get(AuditChain, { strict: false });
  const isWaiting = async (): Promise<boolean> =>
    (await database.query('SELECT FROM activity_unsealed LIMIT 1')).length > 0;
  for (let round = 0; round < 500 && (round === 0 || (await isWaiting())); round += 1) await chain.seal();
}
