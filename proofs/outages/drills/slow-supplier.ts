import { setTimeout as delay } from 'node:timers/promises';
import { NEIGHBOUR, plain, SLOW } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayNode } from '../house';
import { isServed, Load, type Seen, tally, times } from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { Drill, Stage } from '../stage';

const USUAL_MS = 200;
const SLOW_MS = 10 * USUAL_MS;
const CALLS_A_SECOND = 60;
const OTHERS_A_SECOND = 30;
/** What other work on the machine may add. */
const NOISE_MS = 50;
const name = 'A supplier ten times as slow';

/** One supplier becomes slow and has nobody to stand in: only those who asked for it wait. */
export const slowSupplier: Drill = {
  name: 'slow-supplier',
  async run(stage) {
    await tenTimesSlower(stage);
    await takesAllItCan(stage);
  },
};

interface Others {
  readonly elsewhere: Load;
  readonly neighbour: Load;
}

const startOthers = (node: GatewayNode, key: string): Others => ({
  elsewhere: new Load([node.door(key)], (place) => plain('chatty', place)).start(OTHERS_A_SECOND),
  neighbour: new Load([node.door(key)], (place) => plain(NEIGHBOUR, place)).start(OTHERS_A_SECOND),
});

async function tenTimesSlower(stage: Stage): Promise<void> {
  const { house, report, quick } = stage;
  const node = await house.node('slow');
  const usual = await house.slow.fault({
    match: { model: `sim-${SLOW}` },
    fault: { kind: 'delay', ms: USUAL_MS },
  });
  const slow = new Load([node.door(house.key)], (place) => plain(SLOW, place)).start(CALLS_A_SECOND);
  const { elsewhere, neighbour } = startOthers(node, house.key);
  await delay(1_500);
  const from = performance.now();
  await delay(quick ? 3_000 : 4_000);
  const slowAt = performance.now();
  await usual();
  const slower = await house.slow.fault({
    match: { model: `sim-${SLOW}` },
    fault: { kind: 'delay', ms: SLOW_MS },
  });
  await delay(quick ? 4_000 : 8_000);
  const until = performance.now();
  await slower();
  await delay(1_000);
  await Promise.all([slow, elsewhere, neighbour].map((load) => load.stop()));

  const late = slow.between(slowAt + 100, until - 100);
  checkAnswers(stage, name, late, []);
  const added = percentile(times(late), 0.5) - SLOW_MS;
  report.check(
    `${name}: what the gateway adds to it, p50`,
    `<= ${milliseconds(NOISE_MS)}`,
    milliseconds(added),
    added <= NOISE_MS,
  );
  for (const [what, load] of [
    ['a model of another supplier', elsewhere],
    ['another model of the same one', neighbour],
  ] as const) {
    checkFlat(stage, `${name}: ${what}`, load.between(from, slowAt), load.between(slowAt, until));
  }
  const lost = await checkBooks(
    stage,
    name,
    [slow, elsewhere, neighbour].flatMap(({ served }) => served),
  );
  await house.stopNodes();
  report.row({
    outage: `${name}, without another lane, at ${CALLS_A_SECOND}/s`,
    answers: tally(late),
    time: `its own ${spread(times(late))}; other models ${spread(times(elsewhere.between(slowAt, until)))}`,
    lost,
    recovery: seconds(0),
  });
}

function checkFlat(stage: Stage, what: string, before: readonly Seen[], meanwhile: readonly Seen[]): void {
  checkAnswers(stage, what, meanwhile, []);
  for (const share of [0.5, 0.99]) {
    const usual = percentile(times(before), share);
    const now = percentile(times(meanwhile), share);
    stage.report.check(
      `${what}: time to answer, p${share * 100}`,
      `${milliseconds(usual)} as before, + ${milliseconds(NOISE_MS)}`,
      milliseconds(now),
      now <= usual + NOISE_MS,
    );
  }
}

/** It does not answer at all, and more are asking than the node carries: with limits a tenth of the usual ones. */
async function takesAllItCan(stage: Stage): Promise<void> {
  const { house, report, quick } = stage;
  const environment = { OPEN_REQUESTS_LIMIT: '200', SUPPLIER_CONNECTIONS: '26' };
  const node = await house.node('crowded', { environment });
  const hang = await house.slow.fault({
    match: { model: `sim-${SLOW}` },
    fault: { kind: 'delay', ms: 8_000 },
  });
  const slow = new Load([node.door(house.key)], (place) => plain(SLOW, place)).start(CALLS_A_SECOND);
  const { elsewhere, neighbour } = startOthers(node, house.key);
  const from = performance.now();
  await delay(quick ? 6_000 : 8_000);
  const until = performance.now();
  await hang();
  await Promise.all([slow, elsewhere, neighbour].map((load) => load.stop()));
  const others = elsewhere.between(from, until);
  checkAnswers(stage, 'A supplier that is asked more than a node carries: models of another', others, []);
  const refused = slow.seen.filter((seen) => !isServed(seen));
  report.row({
    outage: 'A supplier that takes 8 s, asked by more than the node carries',
    answers: `${tally(slow.seen)}; models of other suppliers: ${tally(others)}`,
    time: `refused ${spread(times(refused))}; other models ${spread(times(others))}`,
    lost: await checkBooks(
      stage,
      'A supplier that is asked too much',
      [slow, elsewhere, neighbour].flatMap(({ served }) => served),
    ),
    recovery: seconds(0),
  });
  await house.stopNodes();
}
