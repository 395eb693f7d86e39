import 'reflect-metadata';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { runProof } from '../../test/system/findings';
import { DataSource } from 'typeorm';
import { migrations } from '#migrations';
import { RequestRecordQuery } from '#product/audit';
import { Limits, MoneyWatch, verifyMoney } from '#product/billing';
import { Database, Logger as ServiceLogger, Metrics } from '#product/platform';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { migrate } from '#inside/platform/database/migrate';
import { fill } from './fill';

const MAX_MS = 100;
const DEFAULT_ROWS = 10_000_000;

/** Measures reads among many records. Takes the number of records as an argument. */
async function main(): Promise<void> {
  Logger.overrideLogger(['error']);
  const rows = Number(process.argv[2] ?? DEFAULT_ROWS);
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-bench-'));
  chmodSync(folder, 0o711);
  const server = await startEmbeddedPostgres({ dataFolder: folder });
  let source: DataSource | undefined;
  let readDatabase: DataSource | undefined;
  try {
    await migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue: false });
    source = await new DataSource({ type: 'postgres', url: server.ownerUrl, poolSize: 2 }).initialize();
    const database = new Database(source);
    await database.query("ALTER SYSTEM SET max_wal_size = '16GB'");
    await database.query('SELECT pg_reload_conf()');
    const startedAt = performance.now();
    await fill(source, database, rows);
    process.stdout.write(
      `        ${rows.toLocaleString('en')} records filled in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s\n`,
    );
    readDatabase = await new DataSource(
      serviceDataSourceOptions({ url: server.url, entities: [], poolSize: 4 }),
    ).initialize();
    const isWithinLimit = await measure(new Database(readDatabase));
    process.exitCode = isWithinLimit ? 0 : 1;
  } finally {
    await readDatabase?.destroy();
    await source?.destroy();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(database: Database): Promise<boolean> {
  const records = new RequestRecordQuery(database);
  const limits = new Limits(database);
  const key = { kind: 'key', id: 1 } as const;
  const setBudget = (period: 'monthly' | 'rolling') =>
    database.transaction((tx) => limits.set(tx, key, { period, limit: 10n ** 15n }));

  const times = [
    await timed('records of a model with 20 hits', () => records.ofKey(1, { model: 'seldom', limit: 100 })),
    await timed('records of a model without hits', () => records.ofKey(1, { model: 'never', limit: 100 })),
    await timed('records of a model with many hits', () => records.ofKey(1, { model: 'usual', limit: 100 })),
  ];
  await setBudget('monthly');
  times.push(await timed('a monthly budget before its first call', () => limits.state(key)));
  await setBudget('rolling');
  times.push(await timed('a rolling budget before its first call', () => limits.state(key)));

  await once('money:verify --full', () => verifyMoney(database));
  const logger = ServiceLogger.create({ logLevel: 'error', logFormat: 'json' });
  await new MoneyWatch(database, logger, new Metrics()).verify();
  times.push(await timed('money:verify since the seal', () => verifyMoney(database, { full: false })));
  return times.every((milliseconds) => milliseconds <= MAX_MS);
}

/** Slowest of five runs; only the first one starts with a cold cache. */
async function timed(what: string, work: () => Promise<unknown>): Promise<number> {
  let slowest = 0;
  for (let turn = 0; turn < 5; turn += 1) slowest = Math.max(slowest, await millisecondsOf(work));
  const verdict = slowest <= MAX_MS ? 'held  ' : 'FAILED';
  process.stdout.write(`${verdict}  ${what.padEnd(42)} ${slowest.toFixed(1)} ms, at most ${MAX_MS}\n`);
  return slowest;
}

async function once(what: string, work: () => Promise<unknown>): Promise<void> {
  process.stdout.write(`        ${what.padEnd(42)} ${(await millisecondsOf(work)).toFixed(0)} ms\n`);
}

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

runProof(main);
