import { setTimeout as delay } from 'node:timers/promises';
import { longStreamShot, mixedShot } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayProcess } from '../testbed';
import {
  call,
  type Endpoint,
  isServed,
  Load,
  recoveredAfter,
  type ObservedCall,
  tally,
  times,
} from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { OutageDrill, OutageDrillContext } from '../drill';

const CALLS_PER_SECOND = 60;
const STREAM_COUNT = 20;
const RECOVERY_MS = 3_000;
/** Slightly more than the timeout of a lookup. */
const LOOKUP_DEADLINE_MS = 2_500;
const codes = ['billing_unavailable', 'auth_unavailable', 'service_unavailable'];

interface DatabaseOutage {
  readonly name: string;
  readonly seconds: number;
  /** Expected code for a key that the node has not seen before. */
  readonly unknownKeyCode: string;
  stop(context: OutageDrillContext): Promise<void> | void;
  restore(context: OutageDrillContext): Promise<void> | void;
}

const outages: readonly DatabaseOutage[] = [
  {
    name: 'PostgreSQL silent (SIGSTOP)',
    seconds: 10,
    unknownKeyCode: 'auth_unavailable',
    stop: ({ testbed }) => testbed.postgres.pause(),
    restore: ({ testbed }) => testbed.postgres.resume(),
  },
  {
    name: 'PostgreSQL shut down',
    seconds: 10,
    unknownKeyCode: 'auth_unavailable',
    stop: ({ testbed }) => testbed.postgres.shutDown(),
    restore: ({ testbed }) => testbed.postgres.launch(),
  },
  {
    name: 'PostgreSQL may only be read',
    seconds: 70,
    unknownKeyCode: 'billing_unavailable',
    stop: ({ testbed }) => testbed.postgres.permitWrites(false),
    restore: ({ testbed }) => testbed.postgres.permitWrites(true),
  },
];

/** The database is down under load: held money is spent, unverifiable requests are refused, and nothing is lost. */
export const database: OutageDrill = {
  name: 'database',
  alerts: ['DatabaseDown', 'NodeNotReady', 'MoneyLeaseNotRenewed', 'RequestsFailing'],
  async run(context) {
    for (const outage of outages) await runOutage(context, outage);
  },
};

async function runOutage(context: OutageDrillContext, outage: DatabaseOutage): Promise<void> {
  const { testbed, report, isQuick: quick } = context;
  const { name } = outage;
  const durationS = quick ? 4 : outage.seconds;
  const node = testbed.shared;
  const endpoint = node.endpoint(testbed.key);
  const unknownKey = await testbed.createKey(node, { name: 'not seen before' });
  const load = new Load([endpoint], mixedShot).start(CALLS_PER_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAM_COUNT }, (_, index) =>
    call(endpoint, longStreamShot(index, 4)),
  );
  await delay(1_000);

  const downAt = performance.now();
  await outage.stop(context);
  const [probeAnswers] = await Promise.all([
    probeNode(node, node.endpoint(unknownKey.text)),
    delay(durationS * 1_000),
  ]);
  await outage.restore(context);
  const upAt = performance.now();
  await delay(RECOVERY_MS + 500);
  await load.stop();
  const open = await Promise.all(streams);

  const duringOutage = load.between(downAt, upAt);
  const refused = duringOutage.filter((seen) => !isServed(seen));
  checkAnswers(context, name, duringOutage, codes);
  const slowest = percentile(times(refused), 0.99);
  report.check(
    `${name}: time to refuse, p99`,
    `<= ${milliseconds(LOOKUP_DEADLINE_MS)}`,
    spread(times(refused)),
    slowest <= LOOKUP_DEADLINE_MS,
  );
  checkAnswers(context, `${name}: streams open when it went`, open, []);
  reportProbes(context, outage, probeAnswers);
  const recovery = recoveredAfter(load, upAt);
  report.check(
    `${name}: all served again`,
    `within ${seconds(RECOVERY_MS)}`,
    seconds(recovery),
    recovery <= RECOVERY_MS,
  );
  const lost = await checkBooks(context, name, [...load.served, ...open.filter(isServed)]);
  report.row({
    outage: `${name} for ${durationS} s at ${CALLS_PER_SECOND}/s`,
    answers: tally(duringOutage),
    time: `served ${spread(times(duringOutage.filter(isServed)))}; refused ${spread(times(refused))}`,
    lost,
    recovery: seconds(recovery),
  });
}

interface ProbeResponse {
  readonly path: string;
  readonly status: number;
  readonly ms: number;
}

interface ProbeResponses {
  readonly probes: readonly ProbeResponse[];
  readonly unknownKeyCall: ObservedCall;
}

/** Returns the responses to probes and to an unknown key during the outage. */
async function probeNode(node: GatewayProcess, stranger: Endpoint): Promise<ProbeResponses> {
  await delay(1_000);
  const paths = ['/health', '/health/live', '/health/ready'];
  const [seen, ...probes] = await Promise.all([
    call(stranger, mixedShot(1)),
    ...paths.map((path) => probe(node, path)),
  ]);
  return { probes, unknownKeyCall: seen };
}

async function probe(node: GatewayProcess, path: string): Promise<ProbeResponse> {
  const startedAt = performance.now();
  const { status } = await fetch(node.url + path, { signal: AbortSignal.timeout(20_000) });
  return { path, status, ms: performance.now() - startedAt };
}

function reportProbes(
  { report }: OutageDrillContext,
  { name, unknownKeyCode: strangerCode }: DatabaseOutage,
  { probes, unknownKeyCall: stranger }: ProbeResponses,
): void {
  for (const { path, status, ms } of probes) {
    const isReadiness = path === '/health/ready';
    const [expectedStatus, maxMs] = isReadiness ? [503, LOOKUP_DEADLINE_MS] : [200, 250];
    report.check(
      `${name}: GET ${path}`,
      `${expectedStatus} within ${milliseconds(maxMs)}`,
      `${status} in ${milliseconds(ms)}`,
      status === expectedStatus && ms <= maxMs,
    );
  }
  report.check(
    `${name}: a key the node has not seen yet`,
    `503 ${strangerCode} within ${milliseconds(LOOKUP_DEADLINE_MS)}`,
    `${tally([stranger])} in ${milliseconds(stranger.ms)}`,
    stranger.code === strangerCode && stranger.ms <= LOOKUP_DEADLINE_MS,
  );
}
