import 'reflect-metadata';
import { loadavg } from 'node:os';
import { Logger } from '@nestjs/common';
import { runProof } from '../../test/system/findings';
import { placement, leaveMeasuredCore } from './cores';
import { recordsIn } from './database';
import { type Figure, held } from './figures';
import { measureColdStart } from './measure-cold-start';
import { measureLatency } from './measure-latency';
import { measureMemory } from './measure-memory';
import { measureMoney } from './measure-money';
import { measureRequests, type Peers } from './measure-requests';
import { measureSlowReaders } from './measure-slow-readers';
import { measureStreams } from './measure-streams';
import { measureTelemetry } from './measure-telemetry';
import { type Group, type Options, readOptions } from './options';
import { installPeers, startPortkey } from './peers';
import { profile } from './profile';
import { largePrompt, smallPrompt, stream, streamWithoutUsage, translatedStream } from './prompts';
import { cellsOf, circumstances, headings, keep, line } from './report';
import { warm } from './rounds';
import { chatStream, messagesStream, wholeAnswer } from './scripts';
import { Testbed, type Target } from './testbed';
import { spreadOf } from './statistics';
import { answering } from './supplier';

async function main(words: string[]): Promise<void> {
  const options = readOptions(words);
  const loadBefore = loadavg()[0] ?? NaN;
  Logger.overrideLogger(['error']);
  leaveMeasuredCore();
  if (options.peers && !options.profile && !options.traced) await installPeers();
  const testbed = await Testbed.set(options.limited);
  // Stopped early, nothing is left running.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => void testbed.tearDown().finally(() => process.exit(1)));
  }
  try {
    if (options.profile) return void process.stdout.write(await profile(testbed));
    process.stdout.write(`${placement}\n\n${line(headings)}\n`);
    const figures = await measure(testbed, options);
    const missed = figures.filter((figure) => held(figure) === false).length;
    const judged = figures.filter((figure) => held(figure) !== null).length;
    const facts = circumstances(words, loadBefore);
    if (options.whole) process.stdout.write(`\nkept as ${keep(figures, facts)}.{json,md}\n`);
    process.stdout.write(`\nbench:gateway: ${judged - missed} of ${judged} held\n`);
    process.exitCode = missed === 0 ? 0 : 1;
  } catch (error) {
    process.stderr.write(testbed.lastWords());
    throw error;
  } finally {
    await testbed.tearDown();
  }
}

/** Every figure is printed as soon as there is one. */
async function measure(testbed: Testbed, options: Options): Promise<Figure[]> {
  const figures: Figure[] = [];
  const show = (found: readonly Figure[]): void => {
    figures.push(...found);
    for (const figure of found) process.stdout.write(`${line(cellsOf(figure))}\n`);
  };
  const { rounds: count, roundMs: milliseconds, before } = options;
  if (options.traced) {
    show(await measureTelemetry(testbed, { count, milliseconds }, before));
    show([await unrecorded(testbed)]);
    return figures;
  }
  const wants = (group: Group): boolean => options.groups.has(group);
  // Before any load, while the database is as a fresh installation has it: afterwards it is busy tidying up for minutes.
  if (wants('cold-start')) show(await measureColdStart(testbed, options.rounds, options.peers));
  if (wants('slow-readers')) show(await measureSlowReaders(testbed, options.slowSeconds));
  if (wants('memory')) show(await measureMemory(testbed, options.loadSeconds));
  if (['small-prompt', 'large-prompt', 'streams', 'latency'].some((group) => wants(group as Group))) {
    await measureHotPath(testbed, options, show);
  }
  if (wants('money')) show(await measureMoney(testbed));
  show([await unrecorded(testbed)]);
  return figures;
}

/** One that shares its core with the engine's compilers takes some seconds longer until all of it is compiled. */
const WARM_UP_MS = 8_000;

async function measureHotPath(
  testbed: Testbed,
  { groups, rounds: count, roundMs: milliseconds, peers: beside }: Options,
  show: (figures: readonly Figure[]) => void,
): Promise<void> {
  const rounds = { count, milliseconds };
  const peers: Peers = {
    gateway: await testbed.gateway(),
    bare: await testbed.bareProxy(),
    ...(beside ? { portkey: await startPortkey(testbed) } : {}),
  };
  testbed.supplier.behaviour = answering(wholeAnswer);
  for (const target of Object.values<Target>({ ...peers })) await warm(target, smallPrompt, WARM_UP_MS);
  if (groups.has('small-prompt')) {
    const wanted = { must: 1.5, aim: 1.4, portkey: true } as const;
    show(
      await measureRequests(testbed, peers, { title: 'small prompt', body: smallPrompt, ...wanted }, rounds),
    );
  }
  if (groups.has('large-prompt')) {
    const wanted = { must: 1.65, aim: 1.4 };
    show(
      await measureRequests(testbed, peers, { title: '32 KB prompt', body: largePrompt, ...wanted }, rounds),
    );
  }
  if (groups.has('streams')) {
    const passed = { must: 1.3, aim: 1.2, script: chatStream(300) };
    const translated = { must: 2, aim: 1.6, script: messagesStream(300) };
    for (const cost of [
      { title: 'stream', body: stream, ...passed },
      { title: 'stream, usage hidden', body: streamWithoutUsage, ...passed },
      { title: 'translated stream', body: translatedStream, ...translated },
      { title: 'stream, 64 events a chunk', body: stream, script: chatStream(50, 64) },
    ])
      show(await measureStreams(testbed, peers, cost, rounds));
  }
  if (groups.has('latency')) show(await measureLatency(testbed, peers, { count, milliseconds: 2_000 }));
}

/** Everything was on: each answer is on record. */
async function unrecorded(testbed: Testbed): Promise<Figure> {
  const asked = testbed.throughGateways;
  await testbed.stopProcesses();
  const missing = asked - (await recordsIn(testbed.database.url));
  return {
    what: 'requests without a record in PostgreSQL',
    unit: '',
    must: 0,
    measured: spreadOf([missing]),
    note: `of ${asked}`,
  };
}

runProof(() => main(process.argv.slice(2)));
