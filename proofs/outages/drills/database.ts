import { setTimeout as delay } from 'node:timers/promises';
import { longStream, mixed } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayNode } from '../testbed';
import { call, type Endpoint, isServed, Load, recoveredAfter, type Seen, tally, times } from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { Drill, DrillContext } from '../drill';

const CALLS_A_SECOND = 60;
const STREAMS = 20;
const RECOVERY_MS = 3_000;
/** A look-up gives up after two seconds. */
const PATIENCE_MS = 2_500;
const codes = ['billing_unavailable', 'auth_unavailable', 'service_unavailable'];

interface DatabaseOutage {
  readonly name: string;
  readonly seconds: number;
  /** A key that the node has not seen before gets this code. */
  readonly strangerCode: string;
  takeAway(context: DrillContext): Promise<void> | void;
  restore(context: DrillContext): Promise<void> | void;
}

const outages: readonly DatabaseOutage[] = [
  {
    name: 'PostgreSQL silent (SIGSTOP)',
    seconds: 10,
    strangerCode: 'auth_unavailable',
    takeAway: ({ testbed }) => testbed.postgres.pause(),
    restore: ({ testbed }) => testbed.postgres.resume(),
  },
  {
    name: 'PostgreSQL shut down',
    seconds: 10,
    strangerCode: 'auth_unavailable',
    takeAway: ({ testbed }) => testbed.postgres.shutDown(),
    restore: ({ testbed }) => testbed.postgres.launch(),
  },
  {
    name: 'PostgreSQL may only be read',
    seconds: 70,
    strangerCode: 'billing_unavailable',
    takeAway: ({ testbed }) => testbed.postgres.permitWrites(false),
    restore: ({ testbed }) => testbed.postgres.permitWrites(true),
  },
];

/** The database is away under load: what the node holds is spent, what it cannot check is refused, nothing is lost. */
export const database: Drill = {
  name: 'database',
  alerts: ['DatabaseDown', 'NodeNotReady', 'MoneyLeaseNotRenewed', 'RequestsFailing'],
  async run(context) {
    for (const outage of outages) await withoutDatabase(context, outage);
  },
};

async function withoutDatabase(context: DrillContext, outage: DatabaseOutage): Promise<void> {
  const { testbed, report, quick } = context;
  const { name } = outage;
  const lasting = quick ? 4 : outage.seconds;
  const node = testbed.shared;
  const endpoint = node.endpoint(testbed.key);
  const stranger = await testbed.makeKey(node, { name: 'not seen before' });
  const load = new Load([endpoint], mixed).start(CALLS_A_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAMS }, (_, place) => call(endpoint, longStream(place, 4)));
  await delay(1_000);

  const goneAt = performance.now();
  await outage.takeAway(context);
  const [probeAnswers] = await Promise.all([
    probeNode(node, node.endpoint(stranger.text)),
    delay(lasting * 1_000),
  ]);
  await outage.restore(context);
  const backAt = performance.now();
  await delay(RECOVERY_MS + 500);
  await load.stop();
  const open = await Promise.all(streams);

  const meanwhile = load.between(goneAt, backAt);
  const refused = meanwhile.filter((seen) => !isServed(seen));
  checkAnswers(context, name, meanwhile, codes);
  const slowest = percentile(times(refused), 0.99);
  report.check(
    `${name}: time to refuse, p99`,
    `<= ${milliseconds(PATIENCE_MS)}`,
    spread(times(refused)),
    slowest <= PATIENCE_MS,
  );
  checkAnswers(context, `${name}: streams open when it went`, open, []);
  reportProbes(context, outage, probeAnswers);
  const recovery = recoveredAfter(load, backAt);
  report.check(
    `${name}: all served again`,
    `within ${seconds(RECOVERY_MS)}`,
    seconds(recovery),
    recovery <= RECOVERY_MS,
  );
  const lost = await checkBooks(context, name, [...load.served, ...open.filter(isServed)]);
  report.row({
    outage: `${name} for ${lasting} s at ${CALLS_A_SECOND}/s`,
    answers: tally(meanwhile),
    time: `served ${spread(times(meanwhile.filter(isServed)))}; refused ${spread(times(refused))}`,
    lost,
    recovery: seconds(recovery),
  });
}

interface ProbeAnswer {
  readonly path: string;
  readonly status: number;
  readonly ms: number;
}

interface ProbeAnswers {
  readonly probes: readonly ProbeAnswer[];
  readonly stranger: Seen;
}

/** The answers to probes and to an unknown key during the outage. */
async function probeNode(node: GatewayNode, stranger: Endpoint): Promise<ProbeAnswers> {
  await delay(1_000);
  const paths = ['/health', '/health/live', '/health/ready'];
  const [seen, ...probes] = await Promise.all([
    call(stranger, mixed(1)),
    ...paths.map((path) => probe(node, path)),
  ]);
  return { probes, stranger: seen };
}

async function probe(node: GatewayNode, path: string): Promise<ProbeAnswer> {
  const startedAt = performance.now();
  const { status } = await fetch(node.url + path, { signal: AbortSignal.timeout(20_000) });
  return { path, status, ms: performance.now() - startedAt };
}

function reportProbes(
  { report }: DrillContext,
  { name, strangerCode }: DatabaseOutage,
  { probes, stranger }: ProbeAnswers,
): void {
  for (const { path, status, ms } of probes) {
    const isReadiness = path === '/health/ready';
    const [wanted, patience] = isReadiness ? [503, PATIENCE_MS] : [200, 250];
    report.check(
      `${name}: GET ${path}`,
      `${wanted} within ${milliseconds(patience)}`,
      `${status} in ${milliseconds(ms)}`,
      status === wanted && ms <= patience,
    );
  }
  report.check(
    `${name}: a key the node has not seen yet`,
    `503 ${strangerCode} within ${milliseconds(PATIENCE_MS)}`,
    `${tally([stranger])} in ${milliseconds(stranger.ms)}`,
    stranger.code === strangerCode && stranger.ms <= PATIENCE_MS,
  );
}
