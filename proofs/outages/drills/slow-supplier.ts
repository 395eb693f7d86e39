import { setTimeout as delay } from 'node:timers/promises';
import { NEIGHBOUR, plain, SLOW } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { Load, type Seen, tally, times } from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { Drill, DrillContext } from '../drill';

const USUAL_MS = 200;
const SLOW_MS = 10 * USUAL_MS;
const CALLS_A_SECOND = 60;
const OTHERS_A_SECOND = 30;
/** Other work on the machine may add so much. */
const NOISE_MS = 50;
const name = 'A supplier ten times as slow';

/** One supplier becomes slow and has no stand-in: only those who asked for it wait. */
export const slowSupplier: Drill = {
  name: 'slow-supplier',
  alerts: ['SupplierSlow'],
  run: slowDownTenfold,
};

async function slowDownTenfold(context: DrillContext): Promise<void> {
  const { testbed, report, quick } = context;
  const node = testbed.shared;
  const usual = await testbed.slow.fault({
    match: { model: `sim-${SLOW}` },
    fault: { kind: 'delay', ms: USUAL_MS },
  });
  const slow = new Load([node.endpoint(testbed.key)], (place) => plain(SLOW, place)).start(CALLS_A_SECOND);
  const ask = (model: string): Load =>
    new Load([node.endpoint(testbed.key)], (place) => plain(model, place)).start(OTHERS_A_SECOND);
  const [elsewhere, neighbour] = [ask('chatty'), ask(NEIGHBOUR)];
  await delay(1_500);
  const from = performance.now();
  await delay(quick ? 2_000 : 4_000);
  const slowAt = performance.now();
  await usual();
  const slower = await testbed.slow.fault({
    match: { model: `sim-${SLOW}` },
    fault: { kind: 'delay', ms: SLOW_MS },
  });
  await delay(quick ? 4_000 : 8_000);
  const until = performance.now();
  await slower();
  await delay(1_000);
  await Promise.all([slow, elsewhere, neighbour].map((load) => load.stop()));

  const late = slow.between(slowAt + 100, until - 100);
  checkAnswers(context, name, late, []);
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
    checkFlat(context, `${name}: ${what}`, load.between(from, slowAt), load.between(slowAt, until));
  }
  const lost = await checkBooks(
    context,
    name,
    [slow, elsewhere, neighbour].flatMap(({ served }) => served),
  );
  report.row({
    outage: `${name}, without another lane, at ${CALLS_A_SECOND}/s`,
    answers: tally(late),
    time: `its own ${spread(times(late))}; other models ${spread(times(elsewhere.between(slowAt, until)))}`,
    lost,
    recovery: seconds(0),
  });
}

function checkFlat(
  context: DrillContext,
  what: string,
  before: readonly Seen[],
  meanwhile: readonly Seen[],
): void {
  checkAnswers(context, what, meanwhile, []);
  for (const share of [0.5, 0.99]) {
    const usual = percentile(times(before), share);
    const now = percentile(times(meanwhile), share);
    context.report.check(
      `${what}: time to answer, p${share * 100}`,
      `${milliseconds(usual)} as before, + ${milliseconds(NOISE_MS)}`,
      milliseconds(now),
      now <= usual + NOISE_MS,
    );
  }
}
