import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { loadSettings, Logger } from '#product/platform';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { Queue } from '#inside/platform/queue/index';
import { QueueConnection } from '#inside/platform/queue/queue-connection';
import { Books } from '../books';
import type { OutageDrill, OutageDrillContext } from '../drill';
import { seconds } from '../report';
import type { GatewayProcess } from '../testbed';
import { startRedis } from './redis';

const STORM_MS = 15_000;
const KILL_INTERVAL_MS = 25;
const CLOCK_OFFSET_MS = 40 * 86_400_000;
const CLOCK_OFFSET_DURATION_MS = 8_000;
const DAY_MS = 86_400_000;
/** Runs every twenty seconds. */
const FREQUENT_JOB = 'automatic-top-ups';
const NEXT_RUN_DEADLINE_MS = 60_000;
const name = 'Jobs';

/** The scheduler loses what it depends on: connections, the queue's memory, a node's clock. Every job keeps running. */
export const jobs: OutageDrill = {
  name: 'jobs',
  alerts: ['JobOverdue', 'ClockWrong'],
  async run(context) {
    await closeConnections(context);
    await setClockAhead(context);
    await flushRedis(context);
  },
};

/** Closes every connection repeatedly, even in its first packet. */
async function closeConnections(context: OutageDrillContext): Promise<void> {
  const { testbed, report } = context;
  const { database } = testbed.books;
  let closedCount = 0;
  for (const until = performance.now() + STORM_MS; performance.now() < until; await delay(KILL_INTERVAL_MS)) {
    const rows = await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
          AND application_name <> '' AND datname = current_database()`,
    );
    closedCount += rows.length;
  }
  const what = `${name}: ${closedCount} connections ended within ${seconds(STORM_MS)}`;
  await checkRuns(context, testbed.books, what);
  const isMailProcessed = await isAccountMailProcessed(testbed.postgres.url, testbed.shared);
  report.check(
    `${what}: a job of a queue is taken`,
    `within ${seconds(NEXT_RUN_DEADLINE_MS)}`,
    isMailProcessed ? 'taken' : 'waits',
    isMailProcessed,
  );
  const ready = await fetch(`${testbed.shared.url}/health/ready`);
  report.check(`${what}: ready`, '200', `${ready.status}`, ready.ok);
}

async function setClockAhead(context: OutageDrillContext): Promise<void> {
  const { testbed, report } = context;
  const file = join(testbed.postgres.folder, 'job-clock-shift');
  writeFileSync(file, '0');
  const preload = 'proofs/outages/shifted-clock.js';
  const environment = { CLOCK_SHIFT_FILE: file, WORKERS: 'inline' };
  const node = await testbed.startNode('job-clock', { preload, environment });
  const shift = (milliseconds: number): void => {
    writeFileSync(file, String(milliseconds));
    node.program.signal('SIGUSR2');
  };
  shift(CLOCK_OFFSET_MS);
  await node.program.find(/this node takes no jobs/);
  await delay(CLOCK_OFFSET_DURATION_MS);
  shift(0);
  const what = `${name}: the clock of a node 40 days ahead for ${seconds(CLOCK_OFFSET_DURATION_MS)}`;
  const [latest] = await testbed.books.database.query<{ ms: number }>(
    'SELECT (extract(epoch FROM max(due_at) - now()) * 1000)::float8 AS ms FROM repeating_job',
  );
  const furthestMs = latest?.ms ?? Infinity;
  report.check(`${what}: the last job is due`, 'within a day', seconds(furthestMs), furthestMs <= DAY_MS);
  await checkRuns(context, testbed.books, what);
  await node.stop();
}

async function flushRedis(context: OutageDrillContext): Promise<void> {
  const server = await startRedis(context, `${name}: Redis emptied`, 'jobs');
  if (server === null) return;
  const environment = { REDIS_URL: server.url, WORKERS: 'inline' };
  const node = await context.testbed.startNode('job-redis', { environment, isEmbedded: true });
  const address = runningEmbeddedPostgres(node.dataFolder)?.ownerUrl ?? '';
  const books = await Books.open(address);
  try {
    const client = new Redis(server.url);
    await client.flushall();
    client.disconnect();
    await checkRuns(context, books, `${name}: Redis emptied`);
  } finally {
    await books.close();
    await node.stop();
    await server.program.stop();
  }
}

async function checkRuns({ report }: OutageDrillContext, { database }: Books, what: string): Promise<void> {
  const since = performance.now();
  const [before] = await database.query<{ now: Date }>('SELECT now()');
  const hasRunAgain = async (): Promise<boolean> => {
    const rows = await database.query('SELECT FROM repeating_job WHERE name = $1 AND succeeded_at > $2', [
      FREQUENT_JOB,
      before?.now,
    ]);
    return rows.length > 0;
  };
  let isRunning = await hasRunAgain();
  for (; !isRunning && performance.now() - since < NEXT_RUN_DEADLINE_MS; isRunning = await hasRunAgain())
    await delay(250);
  const lateJobs = await database.query<{ name: string }>(
    "SELECT name FROM repeating_job WHERE due_at < now() - interval '1 minute' AND claim IS NULL ORDER BY name",
  );
  const lateNames = lateJobs.map((row) => row.name).join(', ');
  report.check(
    `${what}: repeating jobs`,
    `go on within ${seconds(NEXT_RUN_DEADLINE_MS)}, none is late`,
    isRunning ? `after ${seconds(performance.now() - since)}; late: ${lateNames || 'none'}` : 'stand still',
    isRunning && lateJobs.length === 0,
  );
}

/** For an address that no user has: the worker processes the job and sends nothing. */
async function isAccountMailProcessed(url: string, node: GatewayProcess): Promise<boolean> {
  const settings = loadSettings({ NODE_ENV: 'test', DATA_FOLDER: node.dataFolder });
  const logger = Logger.create(settings, { write: () => undefined });
  const { connection, close } = QueueConnection.toPostgres(url, 2, logger);
  const queue = new Queue('account-mail', { connection });
  try {
    const data = {
      wish: 'reset',
      email: 'nobody@example.com',
      requestId: crypto.randomUUID(),
      address: '127.0.0.1',
    };
    await queue.add('account-mail', data, { jobId: crypto.randomUUID(), removeOnComplete: true });
    for (
      const until = performance.now() + NEXT_RUN_DEADLINE_MS;
      performance.now() < until;
      await delay(250)
    ) {
      const counts = await queue.getJobCounts('waiting', 'delayed', 'active', 'failed');
      if (Object.values(counts).every((count) => count === 0)) return true;
    }
    return false;
  } finally {
    await queue.close();
    await close();
  }
}
