import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/system/free-port';
import { longStream, mixed } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayNode, Testbed } from '../testbed';
import { call, type Endpoint, idsOf, isServed, Load, type Seen, tally, times } from '../load';
import { seconds, spread } from '../report';
import { RoundRobin } from '../round-robin';
import type { Drill, DrillContext } from '../drill';

const CALLS_A_SECOND = 200;
const STREAMS = 100;
/** Of a hundred streams this many last longer than a node waits for them. */
const OVERLONG = 20;
/** A node may take so long from being asked to its end, beyond the time it waits for streams. */
const LEAVING_MS = 10_000;
/** Longer than the balancer takes to see that a node is leaving. */
const NOTICE = '1s';
const name = 'Rolling restart of two nodes';

interface Times {
  readonly drainSeconds: number;
  /** The longest of the streams that a node has to wait for, and how long the others last. */
  readonly longest: number;
  readonly overlong: number;
  /** For the second node, which need not be waited for so long again. */
  readonly second: number;
}

const usualTimes: Times = { drainSeconds: 60, longest: 50, overlong: 75, second: 20 };
const quickTimes: Times = { drainSeconds: 5, longest: 3, overlong: 9, second: 3 };

/** One node after the other is stopped and started again under load, behind a balancer that looks at readiness. */
export const rollingRestart: Drill = {
  name: 'rolling-restart',
  alerts: ['NodeNotReady', 'NodeDown'],
  async run(context) {
    const { testbed, report, quick } = context;
    const set = quick ? quickTimes : usualTimes;
    const pair = await Pair.start(testbed, set.drainSeconds);
    const endpoint = { url: pair.url, key: testbed.key };
    try {
      const load = new Load([endpoint], mixed).start(CALLS_A_SECOND);
      await delay(1_500);
      const ordinary = openStreams(endpoint, STREAMS - OVERLONG, set.longest / 4, set.longest);
      const overlong = openStreams(endpoint, OVERLONG, set.overlong, set.overlong);
      await delay(1_500);
      const leaving = [await pair.restart(0)];
      ordinary.push(...openStreams(endpoint, STREAMS, set.second / 4, set.second));
      await delay(1_500);
      leaving.push(await pair.restart(1));
      // And once more with nothing open but short calls.
      leaving.push(await pair.restart(0), await pair.restart(1));
      await load.stop();

      const limit = set.drainSeconds * 1_000 + LEAVING_MS;
      report.check(
        `${name}: from SIGTERM to the end of the process`,
        `<= ${seconds(limit)}`,
        leaving.map(seconds).join(', '),
        leaving.every((took) => took <= limit),
      );
      checkAnswers(context, `${name}: short calls`, load.seen, []);
      const whole = await Promise.all(ordinary);
      checkAnswers(context, `${name}: streams of up to ${set.longest} s`, whole, []);
      const cut = await checkOverlong(context, set, await Promise.all(overlong));
      const lost = await checkBooks(context, name, [...load.served, ...whole.filter(isServed), ...cut]);
      report.row({
        outage: `${name} at ${CALLS_A_SECOND}/s with ${STREAMS} open streams`,
        answers: `${tally(load.seen)}; streams ${tally(whole)}; streams of ${set.overlong} s: ${cut.length} ended with an error event`,
        time: spread(times(load.seen)),
        lost,
        recovery: `gone after ${leaving.map(seconds).join(', ')}`,
      });
    } finally {
      await pair.stop();
    }
  },
};

/** Streams that last from so many to so many seconds. */
const openStreams = (endpoint: Endpoint, count: number, from: number, to: number): Promise<Seen>[] =>
  Array.from({ length: count }, (_, place) =>
    call(endpoint, longStream(place, from + ((to - from) * place) / Math.max(1, count - 1))),
  );

/** Two nodes behind a balancer. */
class Pair {
  private readonly nodes: GatewayNode[] = [];
  private proxy!: RoundRobin;

  private constructor(
    private readonly testbed: Testbed,
    private readonly ports: readonly number[],
    private readonly drainSeconds: number,
  ) {}

  static async start(testbed: Testbed, drainSeconds: number): Promise<Pair> {
    const pair = new Pair(testbed, [await freePort(), await freePort()], drainSeconds);
    for (const place of [0, 1]) await pair.startNode(place);
    pair.proxy = await RoundRobin.start(pair.nodes.map(({ url }) => url));
    return pair;
  }

  get url(): string {
    return this.proxy.url;
  }

  /** Returns how long the process took to end. */
  async restart(place: number): Promise<number> {
    const { program } = this.nodes[place]!;
    const askedAt = performance.now();
    program.signal('SIGTERM');
    await program.ended;
    const took = performance.now() - askedAt;
    const { url } = await this.startNode(place);
    for (let waited = 0; !this.proxy.isReady(url); waited += 50) {
      if (waited > 10_000) throw new Error('the balancer does not see the node that came back');
      await delay(50);
    }
    return took;
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  private async startNode(place: number): Promise<GatewayNode> {
    const environment = { DRAIN_TIMEOUT: `${this.drainSeconds}s`, DRAIN_NOTICE: NOTICE };
    const port = this.ports[place] ?? 0;
    return (this.nodes[place] = await this.testbed.node(`rolling-${place}`, { environment, port }));
  }
}

/** Whole where the node was not the first to go; else ended with an error event, and a bill for what was said. */
async function checkOverlong(
  { testbed, report }: DrillContext,
  set: Times,
  seen: readonly Seen[],
): Promise<Seen[]> {
  const cut = seen.filter(({ ending }) => ending === 'error');
  const others = seen.filter((each) => !isServed(each) && each.code !== 'stream_interrupted');
  report.check(
    `${name}: streams of ${set.overlong} s`,
    'whole, or an error event',
    tally(seen),
    others.length === 0 && cut.length > 0,
  );
  await testbed.books.lost(idsOf(cut));
  const bills = await testbed.books.records(idsOf(cut));
  const settled = bills.filter(({ costNano, code }) => costNano > 0n && code === 'stream_interrupted');
  report.check(
    `${name}: bills of those that were cut`,
    `${cut.length} settled`,
    `${settled.length} of ${bills.length}`,
    settled.length === cut.length && bills.length === cut.length,
  );
  return cut;
}
