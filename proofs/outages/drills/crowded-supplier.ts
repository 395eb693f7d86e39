import { setTimeout as delay } from 'node:timers/promises';
import { plainShot, SLOW } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { isServed, Load, tally, times } from '../load';
import { spread } from '../report';
import type { OutageDrill } from '../drill';

/** A tenth of the default limits, so that a tenth of the callers has the same effect. */
const environment = { OPEN_REQUESTS_LIMIT: '200', SUPPLIER_CONNECTIONS: '26' };
const CALLS_PER_SECOND = 60;
const OTHER_CALLS_PER_SECOND = 30;
const RESPONSE_MS = 4_000;
const name = 'A supplier that is asked more than a node carries';

/** A slow supplier with a growing number of callers: callers of other models are still served. */
export const crowdedSupplier: OutageDrill = {
  name: 'crowded-supplier',
  alerts: ['CapacityExceeded'],
  async run(context) {
    const { testbed, report } = context;
    const node = await testbed.startNode('crowded', { environment });
    const removeDelay = await testbed.slow.fault({
      match: { model: `sim-${SLOW}` },
      fault: { kind: 'delay', ms: RESPONSE_MS },
    });
    const endpoint = node.endpoint(testbed.key);
    const slow = new Load([endpoint], (index) => plainShot(SLOW, index)).start(CALLS_PER_SECOND);
    const others = new Load([endpoint], (index) => plainShot('chatty', index)).start(OTHER_CALLS_PER_SECOND);
    await delay(1.5 * RESPONSE_MS);
    await others.stop();
    await removeDelay();
    await slow.stop();
    checkAnswers(context, `${name}: models of others`, others.seen, []);
    const refused = slow.seen.filter((seen) => !isServed(seen));
    const lost = await checkBooks(context, name, [...slow.served, ...others.served]);
    await node.stop();
    report.row({
      outage: `${name}, ${RESPONSE_MS / 1_000} s for each answer`,
      answers: `${tally(slow.seen)}; models of other suppliers ${tally(others.seen)}`,
      time: `refused ${spread(times(refused))}; other models ${spread(times(others.seen))}`,
      lost,
      recovery: 'as it answers',
    });
  },
};
