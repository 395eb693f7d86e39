import { setTimeout as delay } from 'node:timers/promises';
import { longStream, mixed } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayNode } from '../house';
import { call, type Door, isServed, Load, recoveredAfter, type Seen, tally, times } from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { Drill, Stage } from '../stage';

const CALLS_A_SECOND = 60;
const STREAMS = 20;
const RECOVERY_MS = 3_000;
/** A look-up gives up after two seconds. */
const PATIENCE_MS = 2_500;
const codes = ['billing_unavailable', 'auth_unavailable', 'service_unavailable'];

interface Manner {
  readonly name: string;
  takeAway(stage: Stage): Promise<void> | void;
  bringBack(stage: Stage): Promise<void> | void;
}

const manners: readonly Manner[] = [
  {
    name: 'PostgreSQL silent (SIGSTOP)',
    takeAway: ({ house }) => house.postgres.pause(),
    bringBack: ({ house }) => house.postgres.resume(),
  },
  {
    name: 'PostgreSQL shut down',
    takeAway: ({ house }) => house.postgres.shutDown(),
    bringBack: ({ house }) => house.postgres.launch(),
  },
];

/** The database is away under load: what the node holds is spent, what it cannot check is refused, nothing is lost. */
export const database: Drill = {
  name: 'database',
  async run(stage) {
    for (const manner of manners) await withoutDatabase(stage, manner);
  },
};

async function withoutDatabase(stage: Stage, manner: Manner): Promise<void> {
  const { house, report, quick } = stage;
  const { name } = manner;
  const node = house.shared;
  const door = node.door(house.key);
  const stranger = await house.makeKey(node, { name: 'not seen before' });
  const load = new Load([door], mixed).start(CALLS_A_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAMS }, (_, place) => call(door, longStream(place, 4)));
  await delay(1_000);

  const goneAt = performance.now();
  await manner.takeAway(stage);
  const [looks] = await Promise.all([
    lookAround(node, node.door(stranger.text)),
    delay(quick ? 4_000 : 10_000),
  ]);
  await manner.bringBack(stage);
  const backAt = performance.now();
  await delay(RECOVERY_MS + 500);
  await load.stop();
  const open = await Promise.all(streams);

  const meanwhile = load.between(goneAt, backAt);
  const refused = meanwhile.filter((seen) => !isServed(seen));
  checkAnswers(stage, name, meanwhile, codes);
  const slowest = percentile(times(refused), 0.99);
  report.check(
    `${name}: time to refuse, p99`,
    `<= ${milliseconds(PATIENCE_MS)}`,
    spread(times(refused)),
    slowest <= PATIENCE_MS,
  );
  checkAnswers(stage, `${name}: streams open when it went`, open, []);
  reportLooks(stage, name, looks);
  const recovery = recoveredAfter(load, backAt);
  report.check(
    `${name}: all served again`,
    `within ${seconds(RECOVERY_MS)}`,
    seconds(recovery),
    recovery <= RECOVERY_MS,
  );
  const lost = await checkBooks(stage, name, [...load.served, ...open.filter(isServed)]);
  report.row({
    outage: `${name} for ${quick ? 4 : 10} s at ${CALLS_A_SECOND}/s`,
    answers: tally(meanwhile),
    time: `served ${spread(times(meanwhile.filter(isServed)))}; refused ${spread(times(refused))}`,
    lost,
    recovery: seconds(recovery),
  });
}

interface Look {
  readonly path: string;
  readonly status: number;
  readonly ms: number;
}

interface Looks {
  readonly probes: readonly Look[];
  readonly stranger: Seen;
}

/** What probes and a key that the node has not seen yet get meanwhile. */
async function lookAround(node: GatewayNode, stranger: Door): Promise<Looks> {
  await delay(1_000);
  const paths = ['/health', '/health/live', '/health/ready'];
  const [seen, ...probes] = await Promise.all([
    call(stranger, mixed(1)),
    ...paths.map((path) => look(node, path)),
  ]);
  return { probes, stranger: seen };
}

async function look(node: GatewayNode, path: string): Promise<Look> {
  const startedAt = performance.now();
  const { status } = await fetch(node.url + path, { signal: AbortSignal.timeout(20_000) });
  return { path, status, ms: performance.now() - startedAt };
}

function reportLooks({ report }: Stage, name: string, { probes, stranger }: Looks): void {
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
    `503 auth_unavailable within ${milliseconds(PATIENCE_MS)}`,
    `${tally([stranger])} in ${milliseconds(stranger.ms)}`,
    stranger.code === 'auth_unavailable' && stranger.ms <= PATIENCE_MS,
  );
}
