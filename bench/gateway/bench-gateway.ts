import 'reflect-metadata';
import { loadavg } from 'node:os';
import { Logger } from '@nestjs/common';
import { runProof } from '../../test/system/findings';
import { placement, leaveMeasuredCore } from './cores';
import { countRecords } from './database';
import { type GatewayFigure, isMet } from './figures';
import { measureColdStart } from './measure-cold-start';
import { measureLatency } from './measure-latency';
import { measureMemory } from './measure-memory';
import { measureMoney } from './measure-money';
import { measureRequests, type Peers } from './measure-requests';
import { measureSlowReaders } from './measure-slow-readers';
import { measureStreams } from './measure-streams';
import { measureTelemetry } from './measure-telemetry';
import { type MeasurementGroup, type BenchOptions, readOptions } from './options';
import { installPeers, startPortkey } from './peers';
import { profile } from './profile';
import { largePrompt, smallPrompt, stream, streamWithoutUsage, translatedStream } from './prompts';
import { cellsOf, collectRunFacts, headings, saveReport, line } from './report';
import { warm } from './rounds';
import { chatStream, messagesStream, completeResponse } from './scripts';
import { Testbed, type Target } from './testbed';
import { spreadOf } from './statistics';
import { respondWith } from './supplier';

async function main(args: string[]): Promise<void> {
  const options = readOptions(args);
  const loadBefore = loadavg()[0] ?? NaN;
  Logger.overrideLogger(['error']);
  leaveMeasuredCore();
  if (options.peers && !options.profile && !options.traced) await installPeers();
  const testbed = await Testbed.set(options.limited);
  // No process keeps running after an early stop.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => void testbed.tearDown().finally(() => process.exit(1)));
  }
  try {
    if (options.profile) return void process.stdout.write(await profile(testbed));
    process.stdout.write(`${placement}\n\n${line(headings)}\n`);
    const figures = await measure(testbed, options);
    const missedCount = figures.filter((figure) => isMet(figure) === false).length;
    const judgedCount = figures.filter((figure) => isMet(figure) !== null).length;
    const facts = collectRunFacts(args, loadBefore);
    if (options.isComplete) process.stdout.write(`\nkept as ${saveReport(figures, facts)}.{json,md}\n`);
    process.stdout.write(`\nbench:gateway: ${judgedCount - missedCount} of ${judgedCount} held\n`);
    process.exitCode = missedCount === 0 ? 0 : 1;
  } catch (error) {
    process.stderr.write(testbed.logTails());
    throw error;
  } finally {
    await testbed.tearDown();
  }
}

/** Prints every figure as soon as it is measured. */
async function measure(testbed: Testbed, options: BenchOptions): Promise<GatewayFigure[]> {
  const figures: GatewayFigure[] = [];
  const show = (newFigures: readonly GatewayFigure[]): void => {
    figures.push(...newFigures);
    for (const figure of newFigures) process.stdout.write(`${line(cellsOf(figure))}\n`);
  };
  const { rounds: count, roundMs: milliseconds, before } = options;
  if (options.traced) {
    show(await measureTelemetry(testbed, { count, milliseconds }, before));
    show([await countUnrecorded(testbed)]);
    return figures;
  }
  const isSelected = (group: MeasurementGroup): boolean => options.groups.has(group);
  // Runs before any load, as in a fresh installation; afterwards the database is busy with vacuuming for minutes.
  if (isSelected('cold-start')) show(await measureColdStart(testbed, options.rounds, options.peers));
  if (isSelected('slow-readers')) show(await measureSlowReaders(testbed, options.slowSeconds));
  if (isSelected('memory')) show(await measureMemory(testbed, options.loadSeconds));
  if (
    ['small-prompt', 'large-prompt', 'streams', 'latency'].some((group) =>
      isSelected(group as MeasurementGroup),
    )
  ) {
    await measureHotPath(testbed, options, show);
  }
  if (isSelected('money')) show(await measureMoney(testbed));
  show([await countUnrecorded(testbed)]);
  return figures;
}

/**
 * A process that shares its core with the JIT compiler threads needs some seconds longer until everything is compiled.
 */
const WARM_UP_MS = 8_000;

async function measureHotPath(
  testbed: Testbed,
  { groups, rounds: count, roundMs: milliseconds, peers: beside }: BenchOptions,
  show: (figures: readonly GatewayFigure[]) => void,
): Promise<void> {
  const rounds = { count, milliseconds };
  const peers: Peers = {
    gateway: await testbed.gateway(),
    bare: await testbed.bareProxy(),
    ...(beside ? { portkey: await startPortkey(testbed) } : {}),
  };
  testbed.supplier.behaviour = respondWith(completeResponse);
  for (const target of Object.values<Target>({ ...peers })) await warm(target, smallPrompt, WARM_UP_MS);
  if (groups.has('small-prompt')) {
    const bars = { must: 1.5, aim: 1.4, portkey: true } as const;
    show(
      await measureRequests(testbed, peers, { title: 'small prompt', body: smallPrompt, ...bars }, rounds),
    );
  }
  if (groups.has('large-prompt')) {
    const bars = { must: 1.65, aim: 1.4 };
    show(
      await measureRequests(testbed, peers, { title: '32 KB prompt', body: largePrompt, ...bars }, rounds),
    );
  }
  if (groups.has('streams')) {
    const passThrough = { must: 1.3, aim: 1.2, script: chatStream(300) };
    const translated = { must: 2, aim: 1.6, script: messagesStream(300) };
    for (const cost of [
      { title: 'stream', body: stream, ...passThrough },
      { title: 'stream, usage hidden', body: streamWithoutUsage, ...passThrough },
      { title: 'translated stream', body: translatedStream, ...translated },
      { title: 'stream, 64 events a chunk', body: stream, script: chatStream(50, 64) },
    ])
      show(await measureStreams(testbed, peers, cost, rounds));
  }
  if (groups.has('latency')) show(await measureLatency(testbed, peers, { count, milliseconds: 2_000 }));
}

/** Every response must be on record. */
async function countUnrecorded(testbed: Testbed): Promise<GatewayFigure> {
  const requestCount = testbed.gatewayResponseCount;
  await testbed.stopProcesses();
  const missingCount = requestCount - (await countRecords(testbed.database.url));
  return {
    what: 'requests without a record in PostgreSQL',
    unit: '',
    must: 0,
    measured: spreadOf([missingCount]),
    note: `of ${requestCount}`,
  };
}

runProof(() => main(process.argv.slice(2)));
