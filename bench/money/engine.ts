import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type LimitRef, MoneyEngine, PostgresMoneyStore, type SettleOutcome } from '#product/billing';
import type { MoneyStore } from '../../src/billing/engine/store/money-store';
import { uuidv7 } from '#product/kernel';
import { type Database, Notifications } from '#product/platform';
import type { Measured, StatementCount } from './measured';
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
const cycles = 200_000;
/** Short ones: on a machine with other work, few stretches of a second are undisturbed. */
const roundCycles = 50_000;
const rounds = 30;
/** Requests that end in the same turn of the event loop; one a turn is the dearest there is. */
const together = 16;

/** Hold, settle and journal alone: the batches go to a store that takes everything. */
export async function hotPath(folder: string): Promise<Measured[]> {
  const silent = { on: () => Promise.resolve(() => undefined), onGap: () => () => undefined };
  const engine = new MoneyEngine(new UnlimitedStore(), silent, {
    dataFolder: join(folder, 'hot'),
    acknowledge: 'journal',
    maxPending: 1_000_000,
  });
  await engine.start();
  await cycle(engine, 20_000, together);
  const batched = await leastCpuOf(() => cycle(engine, roundCycles, together));
  const single = await leastCpuOf(() => cycle(engine, roundCycles, 1));
  await engine.stop();
  return [
    row(`hold + settle + journal, ${together} a turn of the loop`, batched / roundCycles, 'µs CPU', 5),
    row('hold + settle + journal, one a turn', single / roundCycles, 'µs CPU', undefined),
  ];
}

/** The same against the real database, with everything it entails. */
export async function warmPath(
  database: Database,
  url: string,
  folder: string,
  statements: StatementCount,
): Promise<Measured[]> {
  const node = await start(database, url, join(folder, 'warm'));
  await cycle(node.engine, 20_000, together);
  await settled(node.engine);
  const before = statements.count;
  const cpu = await cpuOf(async () => {
    for (let done = 0; done < cycles; done += 2_000) {
      await cycle(node.engine, 2_000, together);
      // A pace at which the database keeps up.
      while (node.engine.pending > 4_000) await delay(2);
    }
    await settled(node.engine);
  });
  const perRequest = (statements.count - before) / cycles;
  await node.stop();
  return [
    row('the same with PostgreSQL: statements a request', perRequest, '', 0.05),
    row('the same with PostgreSQL: everything, batches included', cpu / cycles, 'µs CPU', undefined),
  ];
}

/** The bench measures how fast a heap of journalled records gets into the database. */
export async function drain(database: Database, url: string, folder: string): Promise<Measured[]> {
  const node = await start(database, url, join(folder, 'drain'));
  await cycle(node.engine, 1_000, together);
  await settled(node.engine);
  let rate = 0;
  // Of three rounds the best, for the same reason.
  for (let round = 0; round < 3; round += 1) rate = Math.max(rate, await drainOnce(node.engine));
  await node.stop();
  return [{ what: 'drain', value: rate, unit: 'records/s', wanted: '≥ 25,000', held: rate >= 25_000 }];
}

async function drainOnce(engine: MoneyEngine): Promise<number> {
  const records = 30_000;
  const holds = await Promise.all(Array.from({ length: records }, () => held(engine)));
  const began = performance.now();
  for (const hold of holds) void hold.settle(outcome);
  await settled(engine);
  return records / ((performance.now() - began) / 1_000);
}

const outcome: SettleOutcome = recordOf(cost);

async function cycle(engine: MoneyEngine, count: number, at: number): Promise<void> {
  for (let done = 0; done < count; done += at) {
    const acknowledged: Promise<void>[] = [];
    for (let one = 0; one < at; one += 1) {
      const request = { requestId: uuidv7(), amount: bound, refs };
      const hold = engine.escrow.tryHold(request) ?? (await engine.escrow.hold(request));
      acknowledged.push(hold.settle(outcome));
    }
    await Promise.all(acknowledged);
  }
}

const held = (engine: MoneyEngine) => engine.escrow.hold({ requestId: uuidv7(), amount: bound, refs });

async function settled(engine: MoneyEngine): Promise<void> {
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

/** Of some rounds the best: other work on the machine only ever adds. */
async function leastCpuOf(work: () => Promise<void>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < rounds; round += 1) least = Math.min(least, await cpuOf(work));
  return least;
}

async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function row(what: string, value: number, unit: string, most: number | undefined): Measured {
  return most === undefined
    ? { what, value, unit }
    : { what, value, unit, wanted: `≤ ${most}`, held: value <= most };
}

/** A store that grants every request and accepts every settlement. */
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
