import { setTimeout as delay } from 'node:timers/promises';
import { databaseCpuUs } from './database';
import type { GatewayFigure } from './figures';
import { smallPrompt } from './prompts';
import { withLoad } from './rounds';
import { completeResponse } from './scripts';
import type { Testbed } from './testbed';
import { median, spreadOf } from './statistics';
import { respondWith } from './supplier';

const CONNECTIONS = 64;
/** The heap grows to its stable size in the first seconds. */
const WARM_UP_S = 10;
const MINUTE_S = 60;

/** Measures the memory of a dedicated gateway: idle, under load, and after sustained load. */
export async function measureMemory(testbed: Testbed, seconds: number): Promise<GatewayFigure[]> {
  const target = await testbed.gateway();
  const { process } = target;
  testbed.supplier.behaviour = respondWith(completeResponse);
  await delay(5_000);
  const idle = process.residentMib();
  const samples: number[] = [];
  const work = { answers: 0, statements: 0, database: 0 };
  await withLoad(target, CONNECTIONS, smallPrompt, async (load, request) => {
    await load.runClosedLoop(request, WARM_UP_S * 1_000);
    const before = { statements: testbed.statements.statements, database: databaseCpuUs(testbed.database) };
    for (let second = 0; second < seconds; second += 1) {
      work.answers += await load.runClosedLoop(request, 1_000);
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
  const length = seconds < MINUTE_S ? `${seconds} s` : `${seconds / MINUTE_S} min`;
  return [
    singleFigure('memory: idle', 'MB', { must: 200 }, idle),
    { ...singleFigure('memory: 64 connections', 'MB', { must: 300 }, 0), measured: spreadOf(samples) },
    {
      ...singleFigure(`memory: growth in ${length} of load`, '%', { must: 5, aim: 0 }, growth),
      note: seconds < 10 * MINUTE_S ? 'too short to tell: --long takes ten minutes' : '',
    },
    singleFigure(
      'SQL statements a request, busy',
      '',
      { must: 0.05, aim: 0.02 },
      work.statements / work.answers,
    ),
    singleFigure('CPU/request of PostgreSQL, not counted above', 'µs', {}, work.database / work.answers),
  ];
}

const singleFigure = (
  what: string,
  unit: string,
  bars: { readonly must?: number; readonly aim?: number },
  value: number,
): GatewayFigure => ({ what, unit, ...bars, measured: spreadOf([value]) });
