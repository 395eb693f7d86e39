import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type LimitRef, MoneyEngine, PostgresMoneyStore, type SettleOutcome } from '#product/billing';
import type { MoneyStore } from '../../src/billing/engine/store/money-store';
import { uuidv7 } from '#product/kernel';
import { type Database, Notifications } from '#product/platform';
import type { Measurement, StatementCount } from './measurement';
import { recordOf } from './record';

const refs: readonly LimitRef[] = [
  { kind: 'key', id: 1 },
  { kind: 'project', id: 1 },
  { kind: 'user', id: 1 },
  { kind: 'organisation', id: 1 },
  { kind: 'wallet', id: 1 },
];
const bound = 5_000_000n;
const cost = 2_000_000n;
const CYCLES = 200_000;
/** Short rounds, because on a busy machine few full seconds are undisturbed. */
const CYCLES_PER_ROUND = 50_000;
const ROUNDS = 30;
/** Requests that end in the same event-loop turn; one per turn is the most expensive case. */
const REQUESTS_PER_TURN = 16;

/** Measures only hold, settle and journal: batches go to a store that accepts everything. */
export async function hotPath(folder: string): Promise<Measurement[]> {
  const silent = { on: () => Promise.resolve(() => undefined), onGap: () => () => undefined };
  const engine = new MoneyEngine(new UnlimitedStore(), silent, {
    dataFolder: join(folder, 'hot'),
    acknowledge: 'journal',
    maxPending: 1_000_000,
  });
  await engine.start();
  await cycle(engine, 20_000, REQUESTS_PER_TURN);
  const batched = await leastCpuOf(() => cycle(engine, CYCLES_PER_ROUND, REQUESTS_PER_TURN));
  const single = await leastCpuOf(() => cycle(engine, CYCLES_PER_ROUND, 1));
  await engine.stop();
  return [
    row(
      `hold + settle + journal, ${REQUESTS_PER_TURN} a turn of the loop`,
      batched / CYCLES_PER_ROUND,
      'µs CPU',
      5,
    ),
    row('hold + settle + journal, one a turn', single / CYCLES_PER_ROUND, 'µs CPU', undefined),
  ];
}

/** Measures the same against the real database, with all its work. */
export async function warmPath(
  database: Database,
  url: string,
  folder: string,
  statements: StatementCount,
): Promise<Measurement[]> {
  const node = await start(database, url, join(folder, 'warm'));
  await cycle(node.engine, 20_000, REQUESTS_PER_TURN);
  await waitUntilSettled(node.engine);
  const before = statements.count;
  const cpu = await cpuOf(async () => {
    for (let completed = 0; completed < CYCLES; completed += 2_000) {
      await cycle(node.engine, 2_000, REQUESTS_PER_TURN);
      // Limits the pace to what the database can sustain.
      while (node.engine.pending > 4_000) await delay(2);
    }
    await waitUntilSettled(node.engine);
  });
  const perRequest = (statements.count - before) / CYCLES;
  await node.stop();
  return [
    row('the same with PostgreSQL: statements a request', perRequest, '', 0.05),
    row('the same with PostgreSQL: everything, batches included', cpu / CYCLES, 'µs CPU', undefined),
  ];
}

/** Measures how fast a backlog of journalled records is written to the database. */
export async function drain(database: Database, url: string, folder: string): Promise<Measurement[]> {
  const node = await start(database, url, join(folder, 'drain'));
  await cycle(node.engine, 1_000, REQUESTS_PER_TURN);
  await waitUntilSettled(node.engine);
  let rate = 0;
  // Best of three rounds, to exclude other load.
  for (let round = 0; round < 3; round += 1) rate = Math.max(rate, await drainOnce(node.engine));
  await node.stop();
  return [{ what: 'drain', value: rate, unit: 'records/s', wanted: '≥ 25,000', held: rate >= 25_000 }];
}

async function drainOnce(engine: MoneyEngine): Promise<number> {
  const records = 30_000;
  const holds = await Promise.all(Array.from({ length: records }, () => holdOne(engine)));
  const startedAt = performance.now();
  for (const hold of holds) void hold.settle(outcome);
  await waitUntilSettled(engine);
  return records / ((performance.now() - startedAt) / 1_000);
}

const outcome: SettleOutcome = recordOf(cost);

async function cycle(engine: MoneyEngine, count: number, at: number): Promise<void> {
  for (let completed = 0; completed < count; completed += at) {
    const acknowledged: Promise<void>[] = [];
    for (let index = 0; index < at; index += 1) {
      const request = { requestId: uuidv7(), amount: bound, refs };
      const hold = engine.escrow.tryHold(request) ?? (await engine.escrow.hold(request));
      acknowledged.push(hold.settle(outcome));
    }
    await Promise.all(acknowledged);
  }
}

const holdOne = (engine: MoneyEngine) => engine.escrow.hold({ requestId: uuidv7(), amount: bound, refs });

async function waitUntilSettled(engine: MoneyEngine): Promise<void> {
  while (engine.pending > 0) await delay(2);
}

async function start(database: Database, url: string, dataFolder: string) {
  const notifications = new Notifications({ url });
  await notifications.start();
  const engine = new MoneyEngine(new PostgresMoneyStore(database), notifications, {
    dataFolder,
    acknowledge: 'journal',
    maxPending: 1_000_000,
    escrow: { sliceCap: 1_000_000_000_000n, maxWaiters: 1_000_000, waitMs: 60_000 },
  });
  await engine.start();
  return {
    engine,
    stop: async () => {
      await engine.stop();
      await notifications.onApplicationShutdown();
    },
  };
}

/** Best of several rounds, because other load on the machine only ever adds time. */
async function leastCpuOf(work: () => Promise<void>): Promise<number> {
  let minCpu = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) minCpu = Math.min(minCpu, await cpuOf(work));
  return minCpu;
}

async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function row(what: string, value: number, unit: string, max: number | undefined): Measurement {
  return max === undefined
    ? { what, value, unit }
    : { what, value, unit, wanted: `≤ ${max}`, held: value <= max };
}

class UnlimitedStore implements MoneyStore {
  beat = () => Promise.resolve({ alive: true, now: Date.now(), changed: [] });
  draw: MoneyStore['draw'] = (_lease, _operation, asks) =>
    Promise.resolve(
      asks.map(({ ref, want }) => ({
        window: { id: ref.kind, startsAt: -Infinity, endsAt: Infinity },
        granted: want,
        limitLeft: 2n ** 60n,
        resetsAt: Infinity,
        poolLeft: 2n ** 60n,
        elsewhere: 0n,
        now: Date.now(),
      })),
    );
  giveBack = () => Promise.resolve();
  audit = () => Promise.resolve([]);
  sweep = () => Promise.resolve(0);
  unreadJournals = () => Promise.resolve([]);
  forgottenNodes = () => Promise.resolve([]);
  liveNodes = () => Promise.resolve([]);
  settle = () => Promise.resolve({ known: [], windows: [] });
}
