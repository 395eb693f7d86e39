import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { spawnRedis } from '../../../test/system/redis-server';
import { mixedShot, plainShot } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayProcess } from '../testbed';
import { isServed, Load, type ObservedCall, times } from '../load';
import type { Program } from '../../../test/system/program';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { OutageDrill, OutageDrillContext } from '../drill';

const CALLS_PER_SECOND = 40;
const LIMIT_RPM = 120;
/** Three times the rate limit. */
const LIMITED_CALLS_PER_SECOND = 6;
const MINUTE_MS = 60_000;
/** Three calls in sequence detect the outage, each within 50 ms. */
const DETECTION_MS = 1_000;
const MAX_LATENCY_MS = 250;
const name = 'Redis silent (SIGSTOP)';

/** Redis is down under load of two nodes: callers notice nothing, and together the nodes enforce the rate limits. */
export const redis: OutageDrill = {
  name: 'redis',
  alerts: ['RedisDown'],
  async run(context) {
    const server = await startRedis(context, name);
    if (server === null) return;
    try {
      await runOutage(context, server);
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

/** Returns null if Redis is not installed; its checks are skipped, unless every check is required. */
export async function startRedis(
  { testbed, report }: OutageDrillContext,
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

async function runOutage(context: OutageDrillContext, server: RedisProcess): Promise<void> {
  const { testbed, report, isQuick: quick } = context;
  const environment = { REDIS_URL: server.url };
  const nodes = await Promise.all(['left', 'right'].map((side) => testbed.startNode(side, { environment })));
  const limitedKey = await testbed.createKey(nodes[0]!, { name: 'limited', rate_limit_rpm: LIMIT_RPM });
  const load = new Load(
    nodes.map((node) => node.endpoint(testbed.key)),
    mixedShot,
  ).start(CALLS_PER_SECOND);
  const excessiveLoad = new Load(
    nodes.map((node) => node.endpoint(limitedKey.text)),
    (index) => plainShot('chatty', index),
  ).start(LIMITED_CALLS_PER_SECOND);
  await delay(quick ? 3_000 : 5_000);

  const outageSeconds = quick ? 15 : 90;
  const downAt = performance.now();
  server.program.signal('SIGSTOP');
  await delay(outageSeconds * 1_000);
  server.program.signal('SIGCONT');
  const upAt = performance.now();
  await delay(quick ? 3_000 : 6_000);
  await Promise.all([load.stop(), excessiveLoad.stop()]);

  const duringOutage = load.between(downAt, upAt);
  checkAnswers(context, name, duringOutage, []);
  checkAnswers(context, `${name}: after it came back`, load.between(upAt, Infinity), []);
  const duringDetection = load.between(downAt, downAt + DETECTION_MS);
  report.check(
    `${name}: time to answer in its first second`,
    '<= 500 ms',
    spread(times(duringDetection)),
    percentile(times(duringDetection), 1) <= 500,
  );
  const timesAfterDetection = times(load.between(downAt + DETECTION_MS, upAt));
  report.check(
    `${name}: time to answer from then on, p99`,
    `<= ${milliseconds(MAX_LATENCY_MS)}`,
    spread(timesAfterDetection),
    percentile(timesAfterDetection, 0.99) <= MAX_LATENCY_MS,
  );
  checkLimit(context, name, excessiveLoad);
  const lost = await checkBooks(context, name, [...load.served, ...excessiveLoad.served]);
  await checkFlush(context, nodes, server);
  await Promise.all(nodes.map((node) => node.stop()));
  report.row({
    outage: `${name} for ${outageSeconds} s, two nodes at ${CALLS_PER_SECOND}/s`,
    answers: `all ${duringOutage.filter(isServed).length.toLocaleString('en')} served; rates by shares`,
    time: spread(times(duringOutage)),
    lost,
    recovery: `${seconds(0)}: nothing to recover`,
  });
}

/**
 * Checks every minute by the caller's clock, as a call is counted between its request and its response. Records are
 * unsuitable: they have the time of the hold, for which a cold node's first call waits.
 */
function checkLimit({ report }: OutageDrillContext, label: string, { served }: Load): void {
  const maxPerMinute = fullestMinute(served);
  report.check(
    `${label}: calls of a key of ${LIMIT_RPM} a minute, both nodes, the fullest minute`,
    `1 to ${LIMIT_RPM}`,
    `${maxPerMinute}`,
    maxPerMinute <= LIMIT_RPM && served.length > 0,
  );
}

/** Maximum number of calls sent and answered within one minute. */
function fullestMinute(calls: readonly ObservedCall[]): number {
  const countFrom = (start: number): number =>
    calls.filter(({ sentAt: at, ms }) => at >= start && at + ms < start + MINUTE_MS).length;
  return Math.max(0, ...calls.map(({ sentAt: at }) => countFrom(at)));
}

/** Redis has lost all data, as after a restart without persistence. */
async function checkFlush(
  context: OutageDrillContext,
  nodes: readonly GatewayProcess[],
  server: RedisProcess,
): Promise<void> {
  const { testbed } = context;
  const key = await testbed.createKey(nodes[0]!, { name: 'forgotten', rate_limit_rpm: LIMIT_RPM });
  const excessiveLoad = new Load(
    nodes.map((node) => node.endpoint(key.text)),
    (index) => plainShot('chatty', index),
  ).start(CALLS_PER_SECOND);
  await delay((LIMIT_RPM / CALLS_PER_SECOND) * 1_000 + 500);
  const client = new Redis(server.url);
  await client.flushall();
  client.disconnect();
  await delay(1_000);
  await excessiveLoad.stop();
  checkLimit(context, 'Redis emptied', excessiveLoad);
}
