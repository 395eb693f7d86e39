import 'reflect-metadata';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { runProof } from '../../test/system/findings';
import { DataSource } from 'typeorm';
import { migrations } from '#migrations';
import { Ledger, Limits, verifyMoney } from '#product/billing';
import { applicationUrl, Database } from '#product/platform';
import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { migrate } from '#inside/platform/database/migrate';
import { drain, hotPath, warmPath } from './engine';
import { type Measurement, StatementCount } from './measurement';
import { naive } from './naive';

const walletId = 1;

async function main(): Promise<void> {
  Logger.overrideLogger(['error']);
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-bench-'));
  chmodSync(folder, 0o711);
  const server = await startEmbeddedPostgres({ dataFolder: folder });
  await migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue: false });
  await createNaiveTable(server.ownerUrl);
  const statements = new StatementCount();
  const url = applicationUrl(server.url);
  const source = new DataSource({ type: 'postgres', url, poolSize: 16, logging: true, logger: statements });
  const database = new Database(await source.initialize());
  try {
    await fund(database);
    const rows = [
      ...(await hotPath(folder)),
      ...(await warmPath(database, server.url, folder, statements)),
      ...(await drain(database, server.url, folder)),
      ...(await naive(database, statements)),
    ];
    const { addsUp } = await verifyMoney(database);
    rows.push({
      what: 'the books add up afterwards',
      value: addsUp ? 1 : 0,
      unit: '',
      wanted: 'yes',
      held: addsUp,
    });
    print(rows);
    process.exitCode = rows.every(({ held }) => held !== false) ? 0 : 1;
  } finally {
    await source.destroy();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Table that the naive implementation uses. */
async function createNaiveTable(url: string): Promise<void> {
  const source = await new DataSource({ type: 'postgres', url }).initialize();
  await source.query(`
    CREATE TABLE naive_wallet (id integer PRIMARY KEY, limit_nano bigint, spent bigint, held bigint);
    INSERT INTO naive_wallet VALUES (1, 1000000000000000, 0, 0);
    GRANT SELECT, UPDATE ON naive_wallet TO switchboard_app`);
  await source.destroy();
}

/** Creates a wallet that never runs empty, and limits in every scope that most requests have. */
async function fund(database: Database): Promise<void> {
  const amount = 1_000_000_000_000_000n;
  const limits = new Limits(database);
  await database.transaction(async (tx) => {
    await new Ledger(database).post(tx, {
      walletId,
      amount: amount,
      against: 'adjustment',
      kind: 'topup',
      ref: 'bench',
    });
    for (const kind of ['key', 'user', 'organisation'] as const) {
      await limits.set(tx, { kind, id: 1 }, { period: 'monthly', limit: amount });
    }
  });
}

function print(rows: readonly Measurement[]): void {
  for (const { what, value, unit, wanted, held } of rows) {
    const formatted = value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 3 : 0 });
    const verdict = held === undefined ? '' : held ? 'held' : 'FAILED';
    process.stdout.write(
      `${what.padEnd(62)} ${formatted.padStart(10)} ${unit.padEnd(14)} ${(wanted ?? '').padEnd(10)} ${verdict}\n`,
    );
  }
  const judgedRows = rows.filter(({ held }) => held !== undefined);
  process.stdout.write(
    `\nbench:money: ${judgedRows.filter(({ held }) => held).length} of ${judgedRows.length} held\n`,
  );
}

runProof(main);
