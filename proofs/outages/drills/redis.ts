import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { spawnRedis } from '../../../test/system/redis-server';
import { mixed, plain } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayNode } from '../testbed';
import { isServed, Load, type Seen, times } from '../load';
import type { Program } from '../../../test/system/program';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { Drill, DrillContext } from '../drill';

const CALLS_A_SECOND = 40;
const LIMIT_RPM = 120;
/** Three times as many as the limit lets in. */
const LIMITED_A_SECOND = 6;
const MINUTE_MS = 60_000;
/** Three calls find out one after another that it does not answer, each within 50 ms. */
const NOTICE_MS = 1_000;
const LATENCY_MS = 250;
const name = 'Redis silent (SIGSTOP)';

/** Redis is away under load of two nodes: callers do not notice, and together the nodes keep the rates. */
export const redis: Drill = {
  name: 'redis',
  alerts: ['RedisDown'],
  async run(context) {
    const server = await startRedis(context, name);
    if (server === null) return;
    try {
      await withoutRedis(context, server);
    } finally {
      server.program.signal('SIGCONT');
      await server.program.stop();
    }
  },
};

interface RedisProcess {
  readonly program: Program;
  readonly url: string;
}

/** Null where none is installed: then what needs it is left out, except where everything has to be tried. */
export async function startRedis(
  { testbed, report }: DrillContext,
  what: string,
  folderName = 'redis',
): Promise<RedisProcess | null> {
  const folder = join(testbed.postgres.folder, folderName);
  mkdirSync(folder, { recursive: true });
  try {
    return await spawnRedis(folder);
  } catch (error) {
    const isInstalled = !String(error).includes('spawn redis-server ENOENT');
    if (isInstalled || process.env.CI !== undefined) throw error;
    report.skip(what, 'redis-server is not installed');
    return null;
  }
}

async function withoutRedis(context: DrillContext, server: RedisProcess): Promise<void> {
  const { testbed, report, quick } = context;
  const environment = { REDIS_URL: server.url };
  const nodes = await Promise.all(['left', 'right'].map((side) => testbed.node(side, { environment })));
  const limited = await testbed.makeKey(nodes[0]!, { name: 'limited', rate_limit_rpm: LIMIT_RPM });
  const load = new Load(
    nodes.map((node) => node.endpoint(testbed.key)),
    mixed,
  ).start(CALLS_A_SECOND);
  const greedy = new Load(
    nodes.map((node) => node.endpoint(limited.text)),
    (place) => plain('chatty', place),
  ).start(LIMITED_A_SECOND);
  await delay(quick ? 3_000 : 5_000);

  const awaySeconds = quick ? 15 : 90;
  const goneAt = performance.now();
  server.program.signal('SIGSTOP');
  await delay(awaySeconds * 1_000);
  server.program.signal('SIGCONT');
  const backAt = performance.now();
  await delay(quick ? 3_000 : 6_000);
  await Promise.all([load.stop(), greedy.stop()]);

  const meanwhile = load.between(goneAt, backAt);
  checkAnswers(context, name, meanwhile, []);
  checkAnswers(context, `${name}: after it came back`, load.between(backAt, Infinity), []);
  const noticing = load.between(goneAt, goneAt + NOTICE_MS);
  report.check(
    `${name}: time to answer in its first second`,
    '<= 500 ms',
    spread(times(noticing)),
    percentile(times(noticing), 1) <= 500,
  );
  const settled = times(load.between(goneAt + NOTICE_MS, backAt));
  report.check(
    `${name}: time to answer from then on, p99`,
    `<= ${milliseconds(LATENCY_MS)}`,
    spread(settled),
    percentile(settled, 0.99) <= LATENCY_MS,
  );
  checkLimit(context, name, greedy);
  const lost = await checkBooks(context, name, [...load.served, ...greedy.served]);
  await checkFlush(context, nodes, server);
  await Promise.all(nodes.map((node) => node.stop()));
  report.row({
    outage: `${name} for ${awaySeconds} s, two nodes at ${CALLS_A_SECOND}/s`,
    answers: `all ${meanwhile.filter(isServed).length.toLocaleString('en')} served; rates by shares`,
    time: spread(times(meanwhile)),
    lost,
    recovery: `${seconds(0)}: nothing to recover`,
  });
}

/**
 * A call is counted after it was sent and before it was answered, so the caller's own clock tells, over every minute
 * there was. The record does not: it says when the money was held, and a cold node's first call waits for that.
 */
function checkLimit({ report }: DrillContext, of: string, { served }: Load): void {
  const most = fullestMinute(served);
  report.check(
    `${of}: calls of a key of ${LIMIT_RPM} a minute, both nodes, the fullest minute`,
    `1 to ${LIMIT_RPM}`,
    `${most}`,
    most <= LIMIT_RPM && served.length > 0,
  );
}

/** At most so many calls were sent and answered within one minute. */
function fullestMinute(calls: readonly Seen[]): number {
  const within = (start: number): number =>
    calls.filter(({ at, ms }) => at >= start && at + ms < start + MINUTE_MS).length;
  return Math.max(0, ...calls.map(({ at }) => within(at)));
}

/** Redis is there and has forgotten everything, as after a restart without a disk. */
async function checkFlush(
  context: DrillContext,
  nodes: readonly GatewayNode[],
  server: RedisProcess,
): Promise<void> {
  const { testbed } = context;
  const key = await testbed.makeKey(nodes[0]!, { name: 'forgotten', rate_limit_rpm: LIMIT_RPM });
  const greedy = new Load(
    nodes.map((node) => node.endpoint(key.text)),
    (place) => plain('chatty', place),
  ).start(CALLS_A_SECOND);
  await delay((LIMIT_RPM / CALLS_A_SECOND) * 1_000 + 500);
  const client = new Redis(server.url);
  await client.flushall();
  client.disconnect();
  await delay(1_000);
  await greedy.stop();
  checkLimit(context, 'Redis emptied', greedy);
}
