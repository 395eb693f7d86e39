import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/system/free-port';
import { longStreamShot, mixedShot } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayProcess, OutageTestbed } from '../testbed';
import { call, type Endpoint, idsOf, isServed, Load, type ObservedCall, tally, times } from '../load';
import { seconds, spread } from '../report';
import { RoundRobin } from '../round-robin';
import type { OutageDrill, OutageDrillContext } from '../drill';

const CALLS_PER_SECOND = 200;
const STREAM_COUNT = 100;
/** Number of the hundred streams that last longer than a node waits for them. */
const OVERLONG_COUNT = 20;
/** Maximum shutdown time of a node in addition to the time it waits for streams. */
const MAX_SHUTDOWN_MS = 10_000;
/** Longer than the load balancer needs to detect a node that shuts down. */
const DRAIN_NOTICE = '1s';
const name = 'Rolling restart of two nodes';

interface RestartTimes {
  readonly drainSeconds: number;
  /** Longest duration of streams that a node has to wait for; below it, the duration of the overlong ones. */
  readonly longest: number;
  readonly overlong: number;
  /** Drain timeout of the second node, which does not need to wait as long. */
  readonly secondDrainSeconds: number;
}

const defaultTimes: RestartTimes = { drainSeconds: 60, longest: 50, overlong: 75, secondDrainSeconds: 20 };
const quickTimes: RestartTimes = { drainSeconds: 5, longest: 3, overlong: 9, secondDrainSeconds: 3 };

/** Restarts one node after the other under load, behind a load balancer that polls readiness. */
export const rollingRestart: OutageDrill = {
  name: 'rolling-restart',
  alerts: ['NodeNotReady', 'NodeDown'],
  async run(context) {
    const { testbed, report, isQuick: quick } = context;
    const timing = quick ? quickTimes : defaultTimes;
    const nodePair = await NodePair.start(testbed, timing.drainSeconds);
    const endpoint = { url: nodePair.url, key: testbed.key };
    try {
      const load = new Load([endpoint], mixedShot).start(CALLS_PER_SECOND);
      await delay(1_500);
      const ordinary = openStreams(
        endpoint,
        STREAM_COUNT - OVERLONG_COUNT,
        timing.longest / 4,
        timing.longest,
      );
      const overlong = openStreams(endpoint, OVERLONG_COUNT, timing.overlong, timing.overlong);
      await delay(1_500);
      const shutdownTimes = [await nodePair.restart(0)];
      ordinary.push(
        ...openStreams(endpoint, STREAM_COUNT, timing.secondDrainSeconds / 4, timing.secondDrainSeconds),
      );
      await delay(1_500);
      shutdownTimes.push(await nodePair.restart(1));
      // Repeated with only short calls open.
      shutdownTimes.push(await nodePair.restart(0), await nodePair.restart(1));
      await load.stop();

      const limit = timing.drainSeconds * 1_000 + MAX_SHUTDOWN_MS;
      report.check(
        `${name}: from SIGTERM to the end of the process`,
        `<= ${seconds(limit)}`,
        shutdownTimes.map(seconds).join(', '),
        shutdownTimes.every((took) => took <= limit),
      );
      checkAnswers(context, `${name}: short calls`, load.seen, []);
      const ordinaryCalls = await Promise.all(ordinary);
      checkAnswers(context, `${name}: streams of up to ${timing.longest} s`, ordinaryCalls, []);
      const cutCount = await checkOverlong(context, timing, await Promise.all(overlong));
      const lost = await checkBooks(context, name, [
        ...load.served,
        ...ordinaryCalls.filter(isServed),
        ...cutCount,
      ]);
      report.row({
        outage: `${name} at ${CALLS_PER_SECOND}/s with ${STREAM_COUNT} open streams`,
        answers: `${tally(load.seen)}; streams ${tally(ordinaryCalls)}; streams of ${timing.overlong} s: ${cutCount.length} ended with an error event`,
        time: spread(times(load.seen)),
        lost,
        recovery: `gone after ${shutdownTimes.map(seconds).join(', ')}`,
      });
    } finally {
      await nodePair.stop();
    }
  },
};

/** Opens streams whose durations range from `from` to `to` seconds. */
const openStreams = (endpoint: Endpoint, count: number, from: number, to: number): Promise<ObservedCall>[] =>
  Array.from({ length: count }, (_, index) =>
    call(endpoint, longStreamShot(index, from + ((to - from) * index) / Math.max(1, count - 1))),
  );

/** Two nodes behind a load balancer. */
class NodePair {
  private readonly nodes: GatewayProcess[] = [];
  private proxy!: RoundRobin;

  private constructor(
    private readonly testbed: OutageTestbed,
    private readonly ports: readonly number[],
    private readonly drainSeconds: number,
  ) {}

  static async start(testbed: OutageTestbed, drainSeconds: number): Promise<NodePair> {
    const pair = new NodePair(testbed, [await freePort(), await freePort()], drainSeconds);
    for (const index of [0, 1]) await pair.startNode(index);
    pair.proxy = await RoundRobin.start(pair.nodes.map(({ url }) => url));
    return pair;
  }

  get url(): string {
    return this.proxy.url;
  }

  /** Returns how long the process took to exit. */
  async restart(index: number): Promise<number> {
    const { program } = this.nodes[index]!;
    const stoppedAt = performance.now();
    program.signal('SIGTERM');
    await program.ended;
    const shutdownMs = performance.now() - stoppedAt;
    const { url } = await this.startNode(index);
    for (let waitedMs = 0; !this.proxy.isReady(url); waitedMs += 50) {
      if (waitedMs > 10_000) throw new Error('the balancer does not see the node that came back');
      await delay(50);
    }
    return shutdownMs;
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  private async startNode(index: number): Promise<GatewayProcess> {
    const environment = { DRAIN_TIMEOUT: `${this.drainSeconds}s`, DRAIN_NOTICE: DRAIN_NOTICE };
    const port = this.ports[index] ?? 0;
    return (this.nodes[index] = await this.testbed.startNode(`rolling-${index}`, { environment, port }));
  }
}

/**
 * Overlong streams are complete unless their node restarted first; those end with an error event and a charge for the
 * delivered text.
 */
async function checkOverlong(
  { testbed, report }: OutageDrillContext,
  set: RestartTimes,
  seen: readonly ObservedCall[],
): Promise<ObservedCall[]> {
  const cutStreams = seen.filter(({ ending }) => ending === 'error');
  const others = seen.filter((each) => !isServed(each) && each.code !== 'stream_interrupted');
  report.check(
    `${name}: streams of ${set.overlong} s`,
    'whole, or an error event',
    tally(seen),
    others.length === 0 && cutStreams.length > 0,
  );
  await testbed.books.countLost(idsOf(cutStreams));
  const bills = await testbed.books.records(idsOf(cutStreams));
  const settledCount = bills.filter(({ costNano, code }) => costNano > 0n && code === 'stream_interrupted');
  report.check(
    `${name}: bills of those that were cut`,
    `${cutStreams.length} settled`,
    `${settledCount.length} of ${bills.length}`,
    settledCount.length === cutStreams.length && bills.length === cutStreams.length,
  );
  return cutStreams;
}
