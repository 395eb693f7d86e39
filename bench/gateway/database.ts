import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { migrations } from '#migrations';
import { Ledger, Limits } from '#product/billing';
import { applicationUrl, Database } from '#product/platform';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { migrate } from '#inside/platform/database/migrate';
import { processTreeCpuUs } from './cpu-time';

export const callerEmail = 'caller@bench.example';

/** Starts a database server configured as in any installation: durable and migrated. */
export async function startDatabase(dataFolder: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataFolder });
  await migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue: true });
  return server;
}

/** Creates an organisation and a user who pays from a wallet, both with a limit. */
export async function createCaller(url: string): Promise<void> {
  const source = await new DataSource({ type: 'postgres', url: applicationUrl(url) }).initialize();
  const database = new Database(source);
  const limits = new Limits(database);
  const amount = 1_000_000_000_000_000n;
  try {
    await database.transaction(async (tx) => {
      const [organisation] = await tx.query<{ id: number }[]>(
        "INSERT INTO organisation (name, slug) VALUES ('Bench', 'bench') RETURNING id",
      );
      const [user] = await tx.query<{ id: number }[]>(
        `INSERT INTO user_account (email, display_name, status, organisation_id)
         VALUES ($1, 'Caller', 'active', $2) RETURNING id`,
        [callerEmail, organisation?.id],
      );
      if (organisation === undefined || user === undefined) throw new Error('nobody was inserted');
      await new Ledger(database).post(tx, {
        walletId: user.id,
        amount: amount,
        against: 'adjustment',
        kind: 'topup',
        ref: 'bench',
      });
      const monthly = { period: 'monthly', limit: amount } as const;
      await limits.set(tx, { kind: 'user', id: user.id }, monthly);
      await limits.set(tx, { kind: 'organisation', id: organisation.id }, monthly);
    });
  } finally {
    await source.destroy();
  }
}

/** Number of recorded requests, to be compared with the requests sent. */
export async function countRecords(url: string): Promise<number> {
  const source = await new DataSource({ type: 'postgres', url: applicationUrl(url) }).initialize();
  try {
    const [row] = await source.query<{ count: string }[]>('SELECT count(*) FROM request_record');
    return Number(row?.count);
  } finally {
    await source.destroy();
  }
}

/** CPU time of the database server and its helpers; reported separately from the gateway's. */
export function databaseCpuUs({ folder }: EmbeddedPostgres): number {
  const [pid] = readFileSync(join(folder, 'cluster', 'postmaster.pid'), 'utf8').split('\n');
  return processTreeCpuUs(Number(pid));
}
