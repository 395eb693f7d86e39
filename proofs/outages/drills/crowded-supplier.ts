import { setTimeout as delay } from 'node:timers/promises';
import { plain, SLOW } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { isServed, Load, tally, times } from '../load';
import { spread } from '../report';
import type { Drill } from '../drill';

/** A tenth of the usual limits, so that a tenth of the callers shows the same. */
const environment = { OPEN_REQUESTS_LIMIT: '200', SUPPLIER_CONNECTIONS: '26' };
const CALLS_A_SECOND = 60;
const OTHERS_A_SECOND = 30;
const ANSWER_MS = 4_000;
const name = 'A supplier that is asked more than a node carries';

/** It takes its time for every answer, and callers keep coming: those who ask for something else are served. */
export const crowdedSupplier: Drill = {
  name: 'crowded-supplier',
  alerts: ['CapacityExceeded'],
  async run(context) {
    const { testbed, report } = context;
    const node = await testbed.node('crowded', { environment });
    const quicken = await testbed.slow.fault({
      match: { model: `sim-${SLOW}` },
      fault: { kind: 'delay', ms: ANSWER_MS },
    });
    const endpoint = node.endpoint(testbed.key);
    const slow = new Load([endpoint], (place) => plain(SLOW, place)).start(CALLS_A_SECOND);
    const others = new Load([endpoint], (place) => plain('chatty', place)).start(OTHERS_A_SECOND);
    await delay(1.5 * ANSWER_MS);
    await others.stop();
    await quicken();
    await slow.stop();
    checkAnswers(context, `${name}: models of others`, others.seen, []);
    const refused = slow.seen.filter((seen) => !isServed(seen));
    const lost = await checkBooks(context, name, [...slow.served, ...others.served]);
    await node.stop();
    report.row({
      outage: `${name}, ${ANSWER_MS / 1_000} s for each answer`,
      answers: `${tally(slow.seen)}; models of other suppliers ${tally(others.seen)}`,
      time: `refused ${spread(times(refused))}; other models ${spread(times(others.seen))}`,
      lost,
      recovery: 'as it answers',
    });
  },
};
