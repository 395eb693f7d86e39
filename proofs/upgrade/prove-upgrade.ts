import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { closeConnections } from '../failover/caller';
import { freePort } from '../../test/system/free-port';
import { mixedShot } from '../outages/catalogue';
import { checkAnswers, checkBooks, checkUncaughtErrors } from '../outages/checks';
import { Load, tally, times } from '../outages/load';
import { OutageReport, seconds, spread } from '../outages/report';
import { RoundRobin } from '../outages/round-robin';
import { type GatewayProcess, OutageTestbed } from '../outages/testbed';
import { numberOption, runProof } from '../../test/system/findings';
import { fillRecords } from './fill-records';
import { releasedVersions, ReleasedVersion } from './released-version';

/** Lower this on a busy machine: `--calls 5`. */
const callsPerSecond = numberOption('calls', 40);
/** `--records 1000000` fills tables to the size of a year's work. */
const records = numberOption('records', 0);
/** Migrations log progress once a second; a busy machine might be late. */
const MAX_SILENCE_MS = 2_500;
/** Longer than the balancer takes to notice that a node is draining. */
const environment = { DRAIN_NOTICE: '5s', DRAIN_TIMEOUT: '20s', LOG_LEVEL: 'info', WORKERS: 'inline' };
const BACK_WITHIN_MS = 60_000;

/**
 * Upgrades two nodes behind a balancer from each released version to this one and back under load: no call is rejected.
 */
async function main(): Promise<void> {
  Logger.overrideLogger(['error']);
  const report = new OutageReport('prove:upgrade');
  for (const { name, commit } of releasedVersions) {
    const version = ReleasedVersion.build(commit);
    const testbed = await OutageTestbed.open(version.bundle);
    const exitOnFailure = (): void => void testbed.close().finally(() => process.exit(1));
    process.once('SIGINT', exitOnFailure).once('SIGTERM', exitOnFailure);
    try {
      await upgrade(name, version, testbed, report);
    } finally {
      closeConnections();
      await testbed.close();
      version.remove();
    }
  }
  report.end();
}

async function upgrade(
  from: string,
  old: ReleasedVersion,
  testbed: OutageTestbed,
  report: OutageReport,
): Promise<void> {
  const pair = await BalancedNodes.start(testbed, old.bundle);
  const context = { testbed, report, isQuick: false };
  const queryMigrations = (): Promise<unknown[]> =>
    testbed.books.database.query('SELECT name FROM migrations');
  const before = (await queryMigrations()).length;
  const load = new Load([{ url: pair.url, key: testbed.key }], mixedShot).start(callsPerSecond);
  try {
    await delay(3_000);
    if (records > 0) await fillRecords(testbed.books.database, records);
    const replaceTimes: number[] = [];
    for (const index of [0, 1]) replaceTimes.push(await pair.replace(index));
    await delay(2_000);
    const backAt = performance.now();
    const name = `${from} to this version`;
    const steps = pair.nodes[0]!.program.text.match(/a migration is done/g)?.length ?? 0;
    const pending = (await queryMigrations()).length - before;
    report.check(
      `${name}: migrations, and lines that tell of them`,
      '1 or more, as many',
      `${pending}, ${steps}`,
      pending > 0 && steps === pending,
    );
    checkProgress(report, name, pair.nodes[0]!);
    for (const node of pair.nodes) checkUncaughtErrors(context, name, node);
    // Rollback: one node of the previous version runs on the migrated database.
    await pair.replace(1, old.bundle);
    await delay(3_000);
    await load.stop();
    checkAnswers(context, name, load.between(0, backAt), []);
    checkAnswers(context, `${name}: one node back`, load.between(backAt, Infinity), []);
    const lostRecords = await checkBooks(context, name, load.served);
    report.row({
      outage: `${name}, two nodes at ${callsPerSecond}/s`,
      answers: tally(load.seen),
      time: spread(times(load.seen)),
      lost: lostRecords,
      recovery: `nodes replaced in ${replaceTimes.map(seconds).join(', ')}`,
    });
  } finally {
    await load.stop();
    await pair.stop();
  }
}

/** The time between two progress lines of the migrations never exceeds the maximum. */
function checkProgress(report: OutageReport, name: string, { program }: GatewayProcess): void {
  const lines = program.text
    .split('\n')
    .filter((line) => /"migration":"/.test(line))
    .map((line) => Date.parse((JSON.parse(line) as { time: string }).time));
  const silences = lines.slice(1).map((at, index) => at - lines[index]!);
  const longest = Math.max(...silences);
  const took = lines.at(-1)! - lines[0]!;
  report.check(
    `${name}: migrations tell how far they are each second`,
    `at most ${seconds(MAX_SILENCE_MS)} of silence`,
    `${seconds(longest)} within ${seconds(took)}, ${lines.length} lines`,
    longest <= MAX_SILENCE_MS,
  );
}

/** Two nodes behind a balancer that checks readiness. */
class BalancedNodes {
  readonly nodes: GatewayProcess[] = [];
  private balancer!: RoundRobin;

  private constructor(
    private readonly testbed: OutageTestbed,
    private readonly ports: readonly number[],
  ) {}

  static async start(testbed: OutageTestbed, bundle: string): Promise<BalancedNodes> {
    const pair = new BalancedNodes(testbed, [await freePort(), await freePort()]);
    for (const index of [0, 1]) await pair.startNode(index, bundle);
    pair.balancer = await RoundRobin.start(pair.nodes.map(({ url }) => url));
    return pair;
  }

  get url(): string {
    return this.balancer.url;
  }

  /** Stops a node and starts another version in its place; returns the duration in ms. */
  async replace(index: number, bundle?: string): Promise<number> {
    const startedAt = performance.now();
    const { program } = this.nodes[index]!;
    program.signal('SIGTERM');
    await program.ended;
    const { url } = await this.startNode(index, bundle);
    while (!this.balancer.isReady(url)) {
      if (performance.now() - startedAt > BACK_WITHIN_MS)
        throw new Error('the balancer does not see the new node');
      await delay(50);
    }
    return performance.now() - startedAt;
  }

  async stop(): Promise<void> {
    await this.balancer.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  private async startNode(index: number, bundle?: string): Promise<GatewayProcess> {
    const port = this.ports[index] ?? 0;
    return (this.nodes[index] = await this.testbed.startNode(`upgraded-${index}`, {
      environment,
      port,
      bundle,
    }));
  }
}

runProof(main);
