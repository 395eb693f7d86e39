import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { Books } from '../books';
import { longStreamShot, mixedShot } from '../catalogue';
import { checkAnswers, checkBooks, checkUncaughtErrors } from '../checks';
import type { GatewayProcess } from '../testbed';
import { call, type Endpoint, idsOf, isServed, Load, recoveredAfter, tally, times } from '../load';
import { seconds, spread } from '../report';
import { type DiskLimit, mountSmallDisk } from '../disk-limit';
import type { OutageDrill, OutageDrillContext } from '../drill';

const CALLS_PER_SECOND = 40;
const STREAM_COUNT = 10;
/** PostgreSQL replays its write-ahead log on two cores that also serve requests. */
const RESTART_DEADLINE_MS = 10_000;
/** Longest back-off between two start attempts. */
const MAX_BACKOFF_MS = 10_000;
/** Minimum observation time, even if the server recovers immediately. */
const MIN_OBSERVATION_MS = 2_000;
const DISK_SIZE = '512m';
const codes = ['billing_unavailable', 'auth_unavailable', 'service_unavailable'];
/** Codes of a call whose charge cannot be recorded; it is not charged. */
const unrecordedCodes = ['stream_error', 'supplier_settlement_failed'];

interface EmbeddedOutage {
  readonly name: string;
  readonly recoveryMs: number;
  readonly lastsMs: number;
  readonly isBillLost: boolean;
  start(): void;
  end(): void;
  /** Lines that the service must log. */
  readonly expectedLogs: readonly RegExp[];
}

/**
 * The embedded database fails under load. The service restarts it on the same port, logs that, and loses nothing it
 * acknowledged.
 */
export const embeddedDatabase: OutageDrill = {
  name: 'embedded-database',
  alerts: ['EmbeddedDatabaseEnds', 'DiskNearlyFull', 'JournalNotWritable', 'AnswersNotCharged'],
  async run(context) {
    const dataFolder = join(context.testbed.postgres.folder, 'embedded');
    mkdirSync(dataFolder, { recursive: true, mode: 0o711 });
    const disk = mountSmallDisk(dataFolder, DISK_SIZE, '711');
    let node: GatewayProcess | undefined;
    try {
      node = await context.testbed.startNode('embedded', { isEmbedded: true });
      const { ownerUrl } = serverOf(node);
      const endpoint = await withBooks(ownerUrl, async (books) =>
        node!.endpoint((await context.testbed.prepareNode(node!, books)).customer),
      );
      for (const outage of outagesOf(node, disk)) await runOutage(context, node, endpoint, outage);
      if (disk === null)
        context.report.skip('Disk of the embedded PostgreSQL full', 'nothing may be mounted');
    } finally {
      await node?.stop();
      disk?.close();
    }
  },
};

function outagesOf(node: GatewayProcess, disk: DiskLimit | null): readonly EmbeddedOutage[] {
  const restartLogs = [/the embedded PostgreSQL ended unasked/, /the embedded PostgreSQL runs again/];
  const killedOutage: EmbeddedOutage = {
    name: 'Embedded PostgreSQL killed (SIGKILL)',
    recoveryMs: RESTART_DEADLINE_MS,
    lastsMs: 0,
    isBillLost: false,
    start: () => process.kill(postmasterPid(node), 'SIGKILL'),
    end: () => undefined,
    expectedLogs: restartLogs,
  };
  if (disk === null) return [killedOutage];
  const fullDiskOutage: EmbeddedOutage = {
    name: 'Disk of the embedded PostgreSQL and the journal full',
    recoveryMs: MAX_BACKOFF_MS + RESTART_DEADLINE_MS,
    lastsMs: 8_000,
    isBillLost: true,
    start: () => disk.fill(node),
    end: () => disk.free(node),
    expectedLogs: [],
  };
  return [killedOutage, fullDiskOutage];
}

async function runOutage(
  context: OutageDrillContext,
  node: GatewayProcess,
  endpoint: Endpoint,
  outage: EmbeddedOutage,
): Promise<void> {
  const { report } = context;
  const { name, recoveryMs } = outage;
  const { ownerUrl } = serverOf(node);
  const load = new Load([endpoint], mixedShot).start(CALLS_PER_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAM_COUNT }, (_, index) =>
    call(endpoint, longStreamShot(index, 3)),
  );
  await delay(1_000);

  const downAt = performance.now();
  outage.start();
  await delay(outage.lastsMs);
  const ready = await readiness(node);
  outage.end();
  const upAt = performance.now();
  await untilServed(load, upAt, recoveryMs);
  await load.stop();
  const open = await Promise.all(streams);

  const recovery = recoveredAfter(load, upAt);
  const duringOutage = load.between(downAt, Math.max(upAt + recovery + 1, downAt + MIN_OBSERVATION_MS));
  const allowedCodes = outage.isBillLost ? unrecordedCodes : [];
  checkAnswers(context, name, duringOutage, [...codes, ...allowedCodes]);
  checkAnswers(context, `${name}: streams open when it went`, open, allowedCodes);
  report.check(
    `${name}: all served again`,
    `within ${seconds(recoveryMs)}`,
    seconds(recovery),
    recovery <= recoveryMs && load.between(upAt + recovery + 1, Infinity).some(isServed),
  );
  for (const expectedLog of outage.expectedLogs)
    report.check(`${name}: the log says`, expectedLog.source, 'read', expectedLog.test(node.program.text));
  if (outage.isBillLost)
    report.check(
      `${name}: GET /health/ready`,
      '503, and why',
      ready.slice(0, 80),
      ready.startsWith('503') && ready.includes('ENOSPC'),
    );
  checkUncaughtErrors(context, name, node);
  const acknowledged = [...load.served, ...open.filter(isServed)];
  const unrecordedCalls = [...duringOutage, ...open].filter(({ code }) => unrecordedCodes.includes(code));
  const lost = await withBooks(ownerUrl, async (books) => {
    const answer = await checkBooks(context, name, acknowledged, books);
    const chargedCount = (await books.records(idsOf(unrecordedCalls))).filter(
      ({ costNano }) => costNano > 0n,
    ).length;
    report.check(
      `${name}: charged without an answer`,
      '0',
      `${chargedCount} of ${unrecordedCalls.length}`,
      chargedCount === 0,
    );
    return answer;
  });
  report.row({
    outage: `${name}, ${CALLS_PER_SECOND}/s`,
    answers: tally(duringOutage),
    time: `served ${spread(times(duringOutage.filter(isServed)))}`,
    lost,
    recovery: seconds(recovery),
  });
}

async function readiness({ url }: GatewayProcess): Promise<string> {
  const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(10_000) });
  return `${answer.status} ${await answer.text()}`;
}

const STABLE_MS = 1_500;

/** Waits until every request is served for a while, or until the deadline. */
async function untilServed(load: Load, since: number, maxMs: number): Promise<void> {
  for (let elapsed = 0; elapsed < maxMs + STABLE_MS; elapsed = performance.now() - since) {
    if (elapsed > recoveredAfter(load, since) + STABLE_MS) return;
    await delay(100);
  }
}

function serverOf(node: GatewayProcess): { readonly ownerUrl: string } {
  const server = runningEmbeddedPostgres(node.dataFolder);
  if (server === undefined) throw new Error('the service has no embedded PostgreSQL');
  return server;
}

/** The pid is the first line of PostgreSQL's lock file. */
const postmasterPid = (node: GatewayProcess): number =>
  parseInt(readFileSync(join(node.dataFolder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8'), 10);

/** Connections are opened only for a moment, because killing the server would break them. */
async function withBooks<T>(ownerUrl: string, read: (books: Books) => Promise<T>): Promise<T> {
  const books = await Books.open(ownerUrl);
  try {
    return await read(books);
  } finally {
    await books.close();
  }
}
