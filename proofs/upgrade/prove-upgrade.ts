import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { closeConnections } from '../failover/caller';
import { freePort } from '../../test/system/free-port';
import { mixed } from '../outages/catalogue';
import { checkAnswers, checkBooks, checkSurprises } from '../outages/checks';
import { Load, tally, times } from '../outages/load';
import { Report, seconds, spread } from '../outages/report';
import { RoundRobin } from '../outages/round-robin';
import { type GatewayNode, Testbed } from '../outages/testbed';
import { numberGiven, runProof } from '../../test/system/findings';
import { fillRecords } from './fill-records';
import { released, ReleasedVersion } from './released-version';

/** Fewer where the machine has other work to do: `--calls 5`. */
const callsASecond = numberGiven('calls', 40);
/** Tables are as large as those of a year's work with `--records 1000000`. */
const records = numberGiven('records', 0);
/** A line a second tells that a migration goes on; the clock of a busy machine may be late. */
const MOST_SILENCE_MS = 2_500;
/** Longer than the balancer takes to see that a node is leaving. */
const environment = { DRAIN_NOTICE: '5s', DRAIN_TIMEOUT: '20s', LOG_LEVEL: 'info', WORKERS: 'inline' };
const BACK_WITHIN_MS = 60_000;

/** Two nodes behind a balancer go from each released version to this one and back under load: no call is refused. */
async function main(): Promise<void> {
  Logger.overrideLogger(['error']);
  const report = new Report('prove:upgrade');
  for (const { name, commit } of released) {
    const version = ReleasedVersion.build(commit);
    const testbed = await Testbed.open(version.bundle);
    const leave = (): void => void testbed.close().finally(() => process.exit(1));
    process.once('SIGINT', leave).once('SIGTERM', leave);
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

async function upgrade(from: string, old: ReleasedVersion, testbed: Testbed, report: Report): Promise<void> {
  const pair = await Pair.start(testbed, old.bundle);
  const context = { testbed, report, quick: false };
  const migrated = (): Promise<unknown[]> => testbed.books.database.query('SELECT name FROM migrations');
  const before = (await migrated()).length;
  const load = new Load([{ url: pair.url, key: testbed.key }], mixed).start(callsASecond);
  try {
    await delay(3_000);
    if (records > 0) await fillRecords(testbed.books.database, records);
    const updated: number[] = [];
    for (const place of [0, 1]) updated.push(await pair.replace(place));
    await delay(2_000);
    const backAt = performance.now();
    const name = `${from} to this version`;
    const steps = pair.nodes[0]!.program.text.match(/a migration is done/g)?.length ?? 0;
    const pending = (await migrated()).length - before;
    report.check(
      `${name}: migrations, and lines that tell of them`,
      '1 or more, as many',
      `${pending}, ${steps}`,
      pending > 0 && steps === pending,
    );
    checkProgress(report, name, pair.nodes[0]!);
    for (const node of pair.nodes) checkSurprises(context, name, node);
    // The way back: one node of the version before works on what the new one has migrated.
    await pair.replace(1, old.bundle);
    await delay(3_000);
    await load.stop();
    checkAnswers(context, name, load.between(0, backAt), []);
    checkAnswers(context, `${name}: one node back`, load.between(backAt, Infinity), []);
    const lost = await checkBooks(context, name, load.served);
    report.row({
      outage: `${name}, two nodes at ${callsASecond}/s`,
      answers: tally(load.seen),
      time: spread(times(load.seen)),
      lost,
      recovery: `nodes replaced in ${updated.map(seconds).join(', ')}`,
    });
  } finally {
    await load.stop();
    await pair.stop();
  }
}

/** From the first line about migrations to the last, none comes much later than the one before. */
function checkProgress(report: Report, name: string, { program }: GatewayNode): void {
  const lines = program.text
    .split('\n')
    .filter((line) => /"migration":"/.test(line))
    .map((line) => Date.parse((JSON.parse(line) as { time: string }).time));
  const silences = lines.slice(1).map((at, place) => at - lines[place]!);
  const longest = Math.max(...silences);
  const took = lines.at(-1)! - lines[0]!;
  report.check(
    `${name}: migrations tell how far they are each second`,
    `at most ${seconds(MOST_SILENCE_MS)} of silence`,
    `${seconds(longest)} within ${seconds(took)}, ${lines.length} lines`,
    longest <= MOST_SILENCE_MS,
  );
}

/** Two nodes behind a balancer that looks at readiness. */
class Pair {
  readonly nodes: GatewayNode[] = [];
  private balancer!: RoundRobin;

  private constructor(
    private readonly testbed: Testbed,
    private readonly ports: readonly number[],
  ) {}

  static async start(testbed: Testbed, bundle: string): Promise<Pair> {
    const pair = new Pair(testbed, [await freePort(), await freePort()]);
    for (const place of [0, 1]) await pair.startNode(place, bundle);
    pair.balancer = await RoundRobin.start(pair.nodes.map(({ url }) => url));
    return pair;
  }

  get url(): string {
    return this.balancer.url;
  }

  /** Stops a node and starts another version in its place; returns how long that took. */
  async replace(place: number, bundle?: string): Promise<number> {
    const startedAt = performance.now();
    const { program } = this.nodes[place]!;
    program.signal('SIGTERM');
    await program.ended;
    const { url } = await this.startNode(place, bundle);
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

  private async startNode(place: number, bundle?: string): Promise<GatewayNode> {
    const port = this.ports[place] ?? 0;
    return (this.nodes[place] = await this.testbed.node(`upgraded-${place}`, { environment, port, bundle }));
  }
}

runProof(main);
