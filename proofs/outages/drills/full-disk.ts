import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { longStream, mixed } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import type { GatewayNode } from '../testbed';
import { call, isServed, Load, recoveredAfter, tally, times } from '../load';
import { milliseconds, percentile, seconds, spread } from '../report';
import { roomFor, type Room } from '../room';
import type { Drill, DrillContext } from '../drill';

const CALLS_A_SECOND = 60;
const STREAMS = 20;
const REFUSED_MS = 250;
/** The disk is tried once a second. */
const RECOVERY_MS = 2_000;
const name = 'Disk of the journal full';

/** Running calls are written into the database instead; nothing new is begun until there is room. */
export const fullDisk: Drill = {
  name: 'full-disk',
  alerts: ['JournalNotWritable', 'DiskNearlyFull', 'NodeNotReady'],
  async run(context) {
    const room = roomFor(join(context.testbed.postgres.folder, 'disk'));
    if (room.standsIn !== undefined) context.report.skip('A full file system of the journal', room.standsIn);
    let node: GatewayNode | undefined;
    try {
      node = await context.testbed.node('disk');
      await withoutRoom(context, node, room);
    } finally {
      await node?.stop();
      room.close();
    }
  },
};

async function withoutRoom(context: DrillContext, node: GatewayNode, room: Room): Promise<void> {
  const { testbed, report, quick } = context;
  const endpoint = node.endpoint(testbed.key);
  const load = new Load([endpoint], mixed).start(CALLS_A_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAMS }, (_, place) => call(endpoint, longStream(place, 3)));
  await delay(1_000);

  const fullAt = performance.now();
  room.take(node);
  await delay(quick ? 3_000 : 6_000);
  room.giveBack(node);
  const roomAt = performance.now();
  await delay(RECOVERY_MS + 1_500);
  await load.stop();
  const open = await Promise.all(streams);

  const meanwhile = load.between(fullAt, roomAt);
  const refused = meanwhile.filter((seen) => !isServed(seen));
  checkAnswers(context, name, meanwhile, ['billing_unavailable']);
  // A call that was still on its way when there was room again may rightly be served.
  const during = load.between(fullAt + 500, roomAt).filter(({ at, ms }) => at + ms < roomAt);
  const served = during.filter(isServed).map(({ at }) => seconds(at - fullAt));
  report.check(
    `${name}: refused`,
    'all after the first moments',
    [tally(during), ...served.map((at) => `one served that was sent ${at} after it filled up`)].join('; '),
    served.length === 0,
  );
  report.check(
    `${name}: time to refuse, p99`,
    `<= ${milliseconds(REFUSED_MS)}`,
    spread(times(refused)),
    refused.length > 0 && percentile(times(refused), 0.99) <= REFUSED_MS,
  );
  checkAnswers(context, `${name}: streams open when it filled up`, open, []);
  const recovery = recoveredAfter(load, roomAt);
  report.check(
    `${name}: all served again`,
    `within ${seconds(RECOVERY_MS)}`,
    seconds(recovery),
    recovery <= RECOVERY_MS,
  );
  const lost = await checkBooks(context, name, [...load.served, ...open.filter(isServed)]);
  report.row({
    outage: `${name} (${room.how}) at ${CALLS_A_SECOND}/s`,
    answers: tally(meanwhile),
    time: `refused ${spread(times(refused))}`,
    lost,
    recovery: seconds(recovery),
  });
}
