import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { Books } from '../books';
import { longStream, mixed } from '../catalogue';
import { checkAnswers, checkBooks, checkSurprises } from '../checks';
import type { GatewayNode } from '../testbed';
import { call, type Endpoint, idsOf, isServed, Load, recoveredAfter, tally, times } from '../load';
import { seconds, spread } from '../report';
import { type Room, smallDisk } from '../room';
import type { Drill, DrillContext } from '../drill';

const CALLS_A_SECOND = 40;
const STREAMS = 10;
/** PostgreSQL replays its write-ahead log, and two cores start it while they serve. */
const RESTART_MS = 10_000;
/** The longest pause between two tries to start it. */
const LONGEST_PAUSE_MS = 10_000;
/** A server that is back at once is looked at for so long all the same. */
const LEAST_WHILE_MS = 2_000;
const DISK = '512m';
const codes = ['billing_unavailable', 'auth_unavailable', 'service_unavailable'];
/** A call whose bill can be written nowhere may end in one of these; it is not charged. */
const unrecorded = ['stream_error', 'supplier_settlement_failed'];

interface Outage {
  readonly name: string;
  readonly recoveryMs: number;
  readonly lastsMs: number;
  readonly isBillLost: boolean;
  take(): void;
  giveBack(): void;
  /** The lines that the service must log. */
  readonly says: readonly RegExp[];
}

/**
 * The database that comes with the service goes away under load. The service starts it again on the same port, says
 * so in its log, and loses nothing that it acknowledged.
 */
export const embeddedDatabase: Drill = {
  name: 'embedded-database',
  alerts: ['EmbeddedDatabaseEnds', 'DiskNearlyFull', 'JournalNotWritable', 'AnswersNotCharged'],
  async run(context) {
    const dataFolder = join(context.testbed.postgres.folder, 'embedded');
    mkdirSync(dataFolder, { recursive: true, mode: 0o711 });
    const disk = smallDisk(dataFolder, DISK, '711');
    let node: GatewayNode | undefined;
    try {
      node = await context.testbed.node('embedded', { isEmbedded: true });
      const { ownerUrl } = serverOf(node);
      const endpoint = await withBooks(ownerUrl, async (books) =>
        node!.endpoint((await context.testbed.prepareNode(node!, books)).customer),
      );
      for (const outage of outagesOf(node, disk)) await without(context, node, endpoint, outage);
      if (disk === null)
        context.report.skip('Disk of the embedded PostgreSQL full', 'nothing may be mounted');
    } finally {
      await node?.stop();
      disk?.close();
    }
  },
};

function outagesOf(node: GatewayNode, disk: Room | null): readonly Outage[] {
  const restarted = [/the embedded PostgreSQL ended unasked/, /the embedded PostgreSQL runs again/];
  const killed: Outage = {
    name: 'Embedded PostgreSQL killed (SIGKILL)',
    recoveryMs: RESTART_MS,
    lastsMs: 0,
    isBillLost: false,
    take: () => process.kill(postmasterOf(node), 'SIGKILL'),
    giveBack: () => undefined,
    says: restarted,
  };
  if (disk === null) return [killed];
  const full: Outage = {
    name: 'Disk of the embedded PostgreSQL and the journal full',
    recoveryMs: LONGEST_PAUSE_MS + RESTART_MS,
    lastsMs: 8_000,
    isBillLost: true,
    take: () => disk.take(node),
    giveBack: () => disk.giveBack(node),
    says: [],
  };
  return [killed, full];
}

async function without(
  context: DrillContext,
  node: GatewayNode,
  endpoint: Endpoint,
  outage: Outage,
): Promise<void> {
  const { report } = context;
  const { name, recoveryMs } = outage;
  const { ownerUrl } = serverOf(node);
  const load = new Load([endpoint], mixed).start(CALLS_A_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAMS }, (_, place) => call(endpoint, longStream(place, 3)));
  await delay(1_000);

  const goneAt = performance.now();
  outage.take();
  await delay(outage.lastsMs);
  const ready = await readiness(node);
  outage.giveBack();
  const backAt = performance.now();
  await untilServed(load, backAt, recoveryMs);
  await load.stop();
  const open = await Promise.all(streams);

  const recovery = recoveredAfter(load, backAt);
  const meanwhile = load.between(goneAt, Math.max(backAt + recovery + 1, goneAt + LEAST_WHILE_MS));
  const allowed = outage.isBillLost ? unrecorded : [];
  checkAnswers(context, name, meanwhile, [...codes, ...allowed]);
  checkAnswers(context, `${name}: streams open when it went`, open, allowed);
  report.check(
    `${name}: all served again`,
    `within ${seconds(recoveryMs)}`,
    seconds(recovery),
    recovery <= recoveryMs && load.between(backAt + recovery + 1, Infinity).some(isServed),
  );
  for (const words of outage.says)
    report.check(`${name}: the log says`, words.source, 'read', words.test(node.program.text));
  if (outage.isBillLost)
    report.check(
      `${name}: GET /health/ready`,
      '503, and why',
      ready.slice(0, 80),
      ready.startsWith('503') && ready.includes('ENOSPC'),
    );
  checkSurprises(context, name, node);
  const acknowledged = [...load.served, ...open.filter(isServed)];
  const unbilled = [...meanwhile, ...open].filter(({ code }) => unrecorded.includes(code));
  const lost = await withBooks(ownerUrl, async (books) => {
    const answer = await checkBooks(context, name, acknowledged, books);
    const charged = (await books.records(idsOf(unbilled))).filter(({ costNano }) => costNano > 0n).length;
    report.check(
      `${name}: charged without an answer`,
      '0',
      `${charged} of ${unbilled.length}`,
      charged === 0,
    );
    return answer;
  });
  report.row({
    outage: `${name}, ${CALLS_A_SECOND}/s`,
    answers: tally(meanwhile),
    time: `served ${spread(times(meanwhile.filter(isServed)))}`,
    lost,
    recovery: seconds(recovery),
  });
}

async function readiness({ url }: GatewayNode): Promise<string> {
  const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(10_000) });
  return `${answer.status} ${await answer.text()}`;
}

const CALM_MS = 1_500;

/** Calls until every request is served for a while, or until the deadline. */
async function untilServed(load: Load, since: number, mostMs: number): Promise<void> {
  for (let passed = 0; passed < mostMs + CALM_MS; passed = performance.now() - since) {
    if (passed > recoveredAfter(load, since) + CALM_MS) return;
    await delay(100);
  }
}

function serverOf(node: GatewayNode): { readonly ownerUrl: string } {
  const server = runningEmbeddedPostgres(node.dataFolder);
  if (server === undefined) throw new Error('the service has no embedded PostgreSQL');
  return server;
}

/** The first line of its lock file. */
const postmasterOf = (node: GatewayNode): number =>
  parseInt(readFileSync(join(node.dataFolder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8'), 10);

/** Connections that a killed server would break are opened for the moment only. */
async function withBooks<T>(ownerUrl: string, read: (books: Books) => Promise<T>): Promise<T> {
  const books = await Books.open(ownerUrl);
  try {
    return await read(books);
  } finally {
    await books.close();
  }
}
