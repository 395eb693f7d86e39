import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { longStreamShot, mixedShot } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayProcess } from '../testbed';
import { call, isServed, Load, recoveredAfter, tally, times } from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import { createDiskLimit, type DiskLimit } from '../disk-limit';
import type { OutageDrill, OutageDrillContext } from '../drill';

const CALLS_PER_SECOND = 60;
const STREAM_COUNT = 20;
const REFUSED_WITHIN_MS = 250;
/** The disk is checked once per second. */
const RECOVERY_MS = 2_000;
const name = 'Disk of the journal full';

/** Running calls are written to the database instead; new ones are refused until there is space. */
export const fullDisk: OutageDrill = {
  name: 'full-disk',
  alerts: ['JournalNotWritable', 'DiskNearlyFull', 'NodeNotReady'],
  async run(context) {
    const diskLimit = createDiskLimit(join(context.testbed.postgres.folder, 'disk'));
    if (diskLimit.fallbackReason !== undefined)
      context.report.skip('Full journal file system', diskLimit.fallbackReason);
    let node: GatewayProcess | undefined;
    try {
      node = await context.testbed.startNode('disk');
      await fillDisk(context, node, diskLimit);
    } finally {
      await node?.stop();
      diskLimit.close();
    }
  },
};

async function fillDisk(
  context: OutageDrillContext,
  node: GatewayProcess,
  diskLimit: DiskLimit,
): Promise<void> {
  const { testbed, report, isQuick: quick } = context;
  const endpoint = node.endpoint(testbed.key);
  const load = new Load([endpoint], mixedShot).start(CALLS_PER_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAM_COUNT }, (_, index) =>
    call(endpoint, longStreamShot(index, 3)),
  );
  await delay(1_000);

  const fullAt = performance.now();
  diskLimit.fill(node);
  await delay(quick ? 3_000 : 6_000);
  diskLimit.free(node);
  const freedAt = performance.now();
  await delay(RECOVERY_MS + 1_500);
  await load.stop();
  const open = await Promise.all(streams);

  const duringOutage = load.between(fullAt, freedAt);
  const refused = duringOutage.filter((seen) => !isServed(seen));
  checkAnswers(context, name, duringOutage, ['billing_unavailable']);
  // A call still in flight when space was freed may be served.
  const definitelyDuring = load
    .between(fullAt + 500, freedAt)
    .filter(({ sentAt: at, ms }) => at + ms < freedAt);
  const served = definitelyDuring.filter(isServed).map(({ sentAt: at }) => seconds(at - fullAt));
  report.check(
    `${name}: refused`,
    'all after the first moments',
    [
      tally(definitelyDuring),
      ...served.map((at) => `one served that was sent ${at} after it filled up`),
    ].join('; '),
    served.length === 0,
  );
  report.check(
    `${name}: time to refuse, p99`,
    `<= ${milliseconds(REFUSED_WITHIN_MS)}`,
    spread(times(refused)),
    refused.length > 0 && percentile(times(refused), 0.99) <= REFUSED_WITHIN_MS,
  );
  checkAnswers(context, `${name}: streams open when it filled up`, open, []);
  const recovery = recoveredAfter(load, freedAt);
  report.check(
    `${name}: all served again`,
    `within ${seconds(RECOVERY_MS)}`,
    seconds(recovery),
    recovery <= RECOVERY_MS,
  );
  const lost = await checkBooks(context, name, [...load.served, ...open.filter(isServed)]);
  report.row({
    outage: `${name} (${diskLimit.how}) at ${CALLS_PER_SECOND}/s`,
    answers: tally(duringOutage),
    time: `refused ${spread(times(refused))}`,
    lost,
    recovery: seconds(recovery),
  });
}
