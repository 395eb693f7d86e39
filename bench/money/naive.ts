import { insertRequestRecords, serialiseRecord } from '#product/audit';
import { monotonicMs, uuidv7 } from '#product/kernel';
import type { Database, Tx } from '../../src/platform';
import type { Measurement, StatementCount } from './measurement';
import { recordOf } from './record';

const REQUESTS = 2_000;
const CONCURRENCY = 8;

/**
 * The naive implementation locks the rows, checks and adds in one transaction before the call and another after it.
 * Uses a separate table with the same columns.
 */
export async function naive(database: Database, statements: StatementCount): Promise<Measurement[]> {
  const before = { cpu: process.cpuUsage(), statements: statements.count, at: monotonicMs() };
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let completed = 0; completed < REQUESTS / CONCURRENCY; completed += 1) await oneRequest(database);
    }),
  );
  const { user, system } = process.cpuUsage(before.cpu);
  const seconds = (monotonicMs() - before.at) / 1_000;
  return [
    { what: 'SELECT … FOR UPDATE instead', value: (user + system) / REQUESTS, unit: 'µs CPU' },
    {
      what: 'SELECT … FOR UPDATE instead',
      value: (statements.count - before.statements) / REQUESTS,
      unit: 'statements',
    },
    { what: 'SELECT … FOR UPDATE instead', value: REQUESTS / seconds, unit: 'requests/s' },
  ];
}

async function oneRequest(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    const [row] = await lock(tx);
    if (BigInt(row!.spent) + BigInt(row!.held) + 5_000_000n > BigInt(row!.limit_nano))
      throw new Error('no money');
    await tx.query('UPDATE naive_wallet SET held = held + 5000000 WHERE id = 1');
  });
  await database.transaction(async (tx) => {
    await lock(tx);
    await tx.query('UPDATE naive_wallet SET held = held - 5000000, spent = spent + 2000000 WHERE id = 1');
    // Costs nothing, so that the books of the other measurements do not change.
    const record = serialiseRecord(uuidv7(), Date.now(), recordOf(0n));
    await insertRequestRecords(tx, [record]);
  });
}

const lock = (tx: Tx) =>
  tx.query<{ limit_nano: string; spent: string; held: string }[]>(
    'SELECT * FROM naive_wallet WHERE id = 1 FOR UPDATE',
  );
