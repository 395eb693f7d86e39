import { setTimeout as delay } from 'node:timers/promises';
import { databaseCpuUs } from './database';
import type { Figure } from './figures';
import { smallPrompt } from './prompts';
import { withLoad } from './rounds';
import { wholeAnswer } from './scripts';
import type { Testbed } from './testbed';
import { median, spreadOf } from './statistics';
import { answering } from './supplier';

const CONNECTIONS = 64;
/** The first seconds fill the heap to the size it then keeps. */
const WARM_UP_S = 10;
const MINUTE = 60;

/** The memory of a gateway of its own is measured at rest, at work, and after having been at work for long. */
export async function measureMemory(testbed: Testbed, seconds: number): Promise<Figure[]> {
  const target = await testbed.gateway();
  const { process } = target;
  testbed.supplier.behaviour = answering(wholeAnswer);
  await delay(5_000);
  const idle = process.residentMib();
  const samples: number[] = [];
  const work = { answers: 0, statements: 0, database: 0 };
  await withLoad(target, CONNECTIONS, smallPrompt, async (load, request) => {
    await load.closed(request, WARM_UP_S * 1_000);
    const before = { statements: testbed.statements.statements, database: databaseCpuUs(testbed.database) };
    for (let second = 0; second < seconds; second += 1) {
      work.answers += await load.closed(request, 1_000);
      samples.push(process.residentMib());
    }
    await process.quiet();
    work.statements = testbed.statements.statements - before.statements;
    work.database = databaseCpuUs(testbed.database) - before.database;
  });
  await process.stop();
  const part = Math.max(1, Math.floor(samples.length / 5));
  const first = median(samples.slice(0, part));
  const growth = (median(samples.slice(-part)) / first - 1) * 100;
  const length = seconds < MINUTE ? `${seconds} s` : `${seconds / MINUTE} min`;
  return [
    single('memory: idle', 'MB', { must: 200 }, idle),
    { ...single('memory: 64 connections', 'MB', { must: 300 }, 0), measured: spreadOf(samples) },
    {
      ...single(`memory: growth in ${length} of load`, '%', { must: 5, aim: 0 }, growth),
      note: seconds < 10 * MINUTE ? 'too short to tell: --long takes ten minutes' : '',
    },
    single('SQL statements a request, busy', '', { must: 0.05, aim: 0.02 }, work.statements / work.answers),
    single('CPU/request of PostgreSQL, not counted above', 'µs', {}, work.database / work.answers),
  ];
}

const single = (
  what: string,
  unit: string,
  wanted: { readonly must?: number; readonly aim?: number },
  value: number,
): Figure => ({ what, unit, ...wanted, measured: spreadOf([value]) });
