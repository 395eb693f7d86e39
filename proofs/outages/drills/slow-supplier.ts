import { setTimeout as delay } from 'node:timers/promises';
import { NEIGHBOUR, plainShot, SLOW } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { Load, type ObservedCall, tally, times } from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import type { OutageDrill, OutageDrillContext } from '../drill';

const BASELINE_MS = 200;
const SLOW_MS = 10 * BASELINE_MS;
const CALLS_PER_SECOND = 60;
const OTHER_CALLS_PER_SECOND = 30;
/** Tolerance for other load on the machine. */
const NOISE_MS = 50;
const name = 'A supplier ten times as slow';

/** A supplier without failover becomes slow: only callers of its models wait. */
export const slowSupplier: OutageDrill = {
  name: 'slow-supplier',
  alerts: ['SupplierSlow'],
  run: slowDownTenfold,
};

async function slowDownTenfold(context: OutageDrillContext): Promise<void> {
  const { testbed, report, isQuick: quick } = context;
  const node = testbed.shared;
  const removeBaseline = await testbed.slow.fault({
    match: { model: `sim-${SLOW}` },
    fault: { kind: 'delay', ms: BASELINE_MS },
  });
  const slow = new Load([node.endpoint(testbed.key)], (index) => plainShot(SLOW, index)).start(
    CALLS_PER_SECOND,
  );
  const loadFor = (model: string): Load =>
    new Load([node.endpoint(testbed.key)], (index) => plainShot(model, index)).start(OTHER_CALLS_PER_SECOND);
  const [elsewhere, neighbour] = [loadFor('chatty'), loadFor(NEIGHBOUR)];
  await delay(1_500);
  const from = performance.now();
  await delay(quick ? 2_000 : 4_000);
  const slowAt = performance.now();
  await removeBaseline();
  const removeSlowness = await testbed.slow.fault({
    match: { model: `sim-${SLOW}` },
    fault: { kind: 'delay', ms: SLOW_MS },
  });
  await delay(quick ? 4_000 : 8_000);
  const until = performance.now();
  await removeSlowness();
  await delay(1_000);
  await Promise.all([slow, elsewhere, neighbour].map((load) => load.stop()));

  const slowCalls = slow.between(slowAt + 100, until - 100);
  checkAnswers(context, name, slowCalls, []);
  const addedMs = percentile(times(slowCalls), 0.5) - SLOW_MS;
  report.check(
    `${name}: what the gateway adds to it, p50`,
    `<= ${milliseconds(NOISE_MS)}`,
    milliseconds(addedMs),
    addedMs <= NOISE_MS,
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
    outage: `${name}, without another lane, at ${CALLS_PER_SECOND}/s`,
    answers: tally(slowCalls),
    time: `its own ${spread(times(slowCalls))}; other models ${spread(times(elsewhere.between(slowAt, until)))}`,
    lost,
    recovery: seconds(0),
  });
}

function checkFlat(
  context: OutageDrillContext,
  what: string,
  before: readonly ObservedCall[],
  meanwhile: readonly ObservedCall[],
): void {
  checkAnswers(context, what, meanwhile, []);
  for (const share of [0.5, 0.99]) {
    const baselineMs = percentile(times(before), share);
    const now = percentile(times(meanwhile), share);
    context.report.check(
      `${what}: time to answer, p${share * 100}`,
      `${milliseconds(baselineMs)} as before, + ${milliseconds(NOISE_MS)}`,
      milliseconds(now),
      now <= baselineMs + NOISE_MS,
    );
  }
}
