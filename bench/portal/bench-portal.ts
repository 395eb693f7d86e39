import 'reflect-metadata';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { migrations } from '../../migrations';
import {
  type RecordScope,
  type RequestLogFilter,
  RequestLogQuery,
  usageGroupings,
  UsageQuery,
  type UsageQuestion,
} from '../../src/audit';
import { Database, everyRow, type PageRequest } from '../../src/platform';
import { serviceDataSourceOptions } from '../../src/platform/database/data-source';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded-postgres';
import { migrate } from '../../src/platform/database/migrate';
import { fill } from '../records/fill';

const usualRows = 10_000_000;
const DAY_MS = 86_400_000;
const bars = { usage: 300, home: 150, log: 100 } as const;
const ROWS_IN_FILE = 1_000_000;
const ROWS_IN_PART = 100_000;
const MOST_GROWTH_MB = 16;

/** The platform, an organisation, the person with a third of all records, and an ordinary person. */
const scopes: Readonly<Record<string, RecordScope>> = {
  platform: { kind: 'platform' },
  organisation: { kind: 'organisation', organisationId: 2 },
  'large account': { kind: 'user', userId: 1 },
  'small account': { kind: 'user', userId: 50 },
};

/** What the pages of usage and of the request log take among many records. With an argument: among so many. */
async function main(): Promise<void> {
  Logger.overrideLogger(['error']);
  const rows = Number(process.argv[2] ?? usualRows);
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-bench-'));
  chmodSync(folder, 0o711);
  const server = await startEmbeddedPostgres({ dataFolder: folder });
  let source: DataSource | undefined;
  let reading: DataSource | undefined;
  try {
    await migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue: false });
    source = await new DataSource({ type: 'postgres', url: server.ownerUrl, poolSize: 2 }).initialize();
    const database = new Database(source);
    await database.query("ALTER SYSTEM SET max_wal_size = '16GB'");
    await database.query('SELECT pg_reload_conf()');
    const began = performance.now();
    await fill(source, database, rows);
    process.stdout.write(
      `        ${rows.toLocaleString('en')} records filled in ${((performance.now() - began) / 1_000).toFixed(0)} s\n`,
    );
    reading = await new DataSource(
      serviceDataSourceOptions({ url: server.url, entities: [], poolSize: 4 }),
    ).initialize();
    const service = new Database(reading);
    const held = [await measureUsage(service), await measureLog(service), await measureFile(service)];
    process.exitCode = held.every(Boolean) ? 0 : 1;
  } finally {
    await reading?.destroy();
    await source?.destroy();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureUsage(database: Database): Promise<boolean> {
  const usage = new UsageQuery(database);
  const held: boolean[] = [];
  const now = Date.now();
  const period = {
    from: new Date(now - 30 * DAY_MS),
    to: new Date(now),
    bucket: 'day',
    zone: 'Europe/Berlin',
  } as const;
  for (const [name, scope] of Object.entries(scopes)) {
    for (const groupBy of usageGroupings) {
      const question: UsageQuestion = { ...period, groupBy };
      held.push(await timed(`usage of ${name} by ${groupBy}`, bars.usage, () => usage.ask(scope, question)));
    }
    const halfHours = { ...period, zone: 'Asia/Kolkata', groupBy: 'model' } as const;
    held.push(
      await timed(`usage of ${name}, days of Kolkata`, bars.usage, () => usage.ask(scope, halfHours)),
    );
    const narrowed = { ...period, groupBy: 'key', filter: { model: 'other', region: 'us-east' } } as const;
    held.push(await timed(`usage of ${name}, filtered`, bars.usage, () => usage.ask(scope, narrowed)));
    const home = { ...period, groupBy: 'model' } as const;
    held.push(await timed(`home of ${name}`, bars.home, () => usage.ask(scope, home)));
  }
  return held.every(Boolean);
}

const filters: Readonly<Record<string, RequestLogFilter>> = {
  none: {},
  'a usual model': { model: 'usual' },
  'a seldom model': { model: 'seldom' },
  'a model without hits': { model: 'never' },
  'a key': { keyId: 51 },
  'a supplier': { supplier: 'second' },
  'a supplier without hits': { supplier: 'never' },
  'a region': { region: 'us-east' },
  failures: { statusClass: '5xx' },
  'a usual code': { code: 'upstream_error' },
  'a seldom code': { code: 'seldom_error' },
  'a code without hits': { code: 'never' },
  successes: { statusClass: '2xx' },
  failover: { failoverOnly: true },
  'a cost without hits': { minCostNano: 1_000_000n },
  'slow ones': { minLatencyMs: 50_000 },
  'a latency without hits': { minLatencyMs: 100_000 },
  'a session': { session: 'session-33' },
  'a request id without hits': { requestId: '0193a4c2-7be1-7c30-9f15-2d4b8c61e07a' },
  'an end user': { endUser: 'end-user-33' },
  'an end user without hits': { endUser: 'never' },
  'a usual tag': { tag: 'all' },
  'a seldom tag': { tag: 'seldom' },
  'a model, slow': { model: 'other', minLatencyMs: 1_200 },
  'a supplier, failed over, in a region': { supplier: 'second', region: 'us-east', failoverOnly: true },
};

async function measureLog(database: Database): Promise<boolean> {
  const log = new RequestLogQuery(database);
  const held: boolean[] = [];
  const from = new Date(Date.now() - 30 * DAY_MS);
  for (const [name, scope] of Object.entries(scopes)) {
    for (const [what, filter] of Object.entries(filters)) {
      const read = () => log.page(scope, { from, ...filter }, { limit: 50 });
      held.push(await timed(`log of ${name}: ${what}`, bars.log, read));
    }
  }
  return held.every(Boolean);
}

/**
 * A file of the log is read page by page: what it holds at once must not grow with its rows. Of each part of the file
 * the least that was in memory counts, as garbage comes and goes.
 */
async function measureFile(database: Database): Promise<boolean> {
  const log = new RequestLogQuery(database);
  const began = performance.now();
  const floors: number[] = [];
  let rows = 0;
  const read = (page: PageRequest) => log.page({ kind: 'platform' }, {}, page);
  for await (const _ of everyRow(ROWS_IN_FILE, 1_000, read)) {
    rows += 1;
    if (rows % 500 !== 0) continue;
    const part = Math.floor((rows - 1) / ROWS_IN_PART);
    floors[part] = Math.min(floors[part] ?? Infinity, process.memoryUsage().heapUsed / 1_048_576);
  }
  const growth = (floors.at(-1) ?? 0) - (floors[0] ?? 0);
  const isHeld = growth <= MOST_GROWTH_MB;
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  process.stdout.write(
    `${isHeld ? 'held  ' : 'FAILED'}  a file of ${rows.toLocaleString('en')} requests, ${seconds} s: memory grew by ${growth.toFixed(1)} MB, at most ${MOST_GROWTH_MB}\n`,
  );
  return isHeld;
}

/** The slowest of three, of which the first finds nothing in memory but what the one before it left there. */
async function timed(what: string, mostMs: number, work: () => Promise<unknown>): Promise<boolean> {
  let slowest = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    const began = performance.now();
    await work();
    slowest = Math.max(slowest, performance.now() - began);
  }
  const isHeld = slowest <= mostMs;
  process.stdout.write(
    `${isHeld ? 'held  ' : 'FAILED'}  ${what.padEnd(64)} ${slowest.toFixed(1)} ms, at most ${mostMs}\n`,
  );
  return isHeld;
}

void main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
