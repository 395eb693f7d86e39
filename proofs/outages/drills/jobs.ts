import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { loadSettings, Logger } from '#product/platform';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { Queue } from '#inside/platform/queue/index';
import { QueueConnection } from '#inside/platform/queue/queue-connection';
import { Books } from '../books';
import type { Drill, DrillContext } from '../drill';
import { seconds } from '../report';
import type { GatewayNode } from '../testbed';
import { startRedis } from './redis';

const STORM_MS = 15_000;
const STRIKE_EVERY_MS = 25;
const AHEAD_MS = 40 * 86_400_000;
const AHEAD_FOR_MS = 8_000;
const DAY_MS = 86_400_000;
/** It runs every twenty seconds. */
const FREQUENT_JOB = 'automatic-top-ups';
const AGAIN_WITHIN_MS = 60_000;
const name = 'Jobs';

/** The schedule loses what it stands on: connections, the queue's memory, a node's clock. Every job runs on. */
export const jobs: Drill = {
  name: 'jobs',
  alerts: ['JobOverdue', 'ClockWrong'],
  async run(context) {
    await storm(context);
    await clockAhead(context);
    await emptiedRedis(context);
  },
};

/** Every connection is ended again and again, in its first packet too. */
async function storm(context: DrillContext): Promise<void> {
  const { testbed, report } = context;
  const { database } = testbed.books;
  let ended = 0;
  for (const until = performance.now() + STORM_MS; performance.now() < until; await delay(STRIKE_EVERY_MS)) {
    const rows = await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
          AND application_name <> '' AND datname = current_database()`,
    );
    ended += rows.length;
  }
  const what = `${name}: ${ended} connections ended within ${seconds(STORM_MS)}`;
  await checkRuns(context, testbed.books, what);
  const taken = await accountMailTaken(testbed.postgres.url, testbed.shared);
  report.check(
    `${what}: a job of a queue is taken`,
    `within ${seconds(AGAIN_WITHIN_MS)}`,
    taken ? 'taken' : 'waits',
    taken,
  );
  const ready = await fetch(`${testbed.shared.url}/health/ready`);
  report.check(`${what}: ready`, '200', `${ready.status}`, ready.ok);
}

async function clockAhead(context: DrillContext): Promise<void> {
  const { testbed, report } = context;
  const file = join(testbed.postgres.folder, 'job-clock-shift');
  writeFileSync(file, '0');
  const preload = 'proofs/outages/shifted-clock.js';
  const environment = { CLOCK_SHIFT_FILE: file, WORKERS: 'inline' };
  const node = await testbed.node('job-clock', { preload, environment });
  const shift = (milliseconds: number): void => {
    writeFileSync(file, String(milliseconds));
    node.program.signal('SIGUSR2');
  };
  shift(AHEAD_MS);
  await node.program.find(/this node takes no jobs/);
  await delay(AHEAD_FOR_MS);
  shift(0);
  const what = `${name}: the clock of a node 40 days ahead for ${seconds(AHEAD_FOR_MS)}`;
  const [latest] = await testbed.books.database.query<{ ms: number }>(
    'SELECT (extract(epoch FROM max(due_at) - now()) * 1000)::float8 AS ms FROM repeating_job',
  );
  const far = latest?.ms ?? Infinity;
  report.check(`${what}: the last job is due`, 'within a day', seconds(far), far <= DAY_MS);
  await checkRuns(context, testbed.books, what);
  await node.stop();
}

async function emptiedRedis(context: DrillContext): Promise<void> {
  const server = await startRedis(context, `${name}: Redis emptied`, 'jobs');
  if (server === null) return;
  const environment = { REDIS_URL: server.url, WORKERS: 'inline' };
  const node = await context.testbed.node('job-redis', { environment, isEmbedded: true });
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

async function checkRuns({ report }: DrillContext, { database }: Books, what: string): Promise<void> {
  const since = performance.now();
  const [before] = await database.query<{ now: Date }>('SELECT now()');
  const again = async (): Promise<boolean> => {
    const rows = await database.query('SELECT FROM repeating_job WHERE name = $1 AND succeeded_at > $2', [
      FREQUENT_JOB,
      before?.now,
    ]);
    return rows.length > 0;
  };
  let runs = await again();
  for (; !runs && performance.now() - since < AGAIN_WITHIN_MS; runs = await again()) await delay(250);
  const late = await database.query<{ name: string }>(
    "SELECT name FROM repeating_job WHERE due_at < now() - interval '1 minute' AND claim IS NULL ORDER BY name",
  );
  const found = late.map((row) => row.name).join(', ');
  report.check(
    `${what}: repeating jobs`,
    `go on within ${seconds(AGAIN_WITHIN_MS)}, none is late`,
    runs ? `after ${seconds(performance.now() - since)}; late: ${found || 'none'}` : 'stand still',
    runs && late.length === 0,
  );
}

/** Of an address that nobody has: the worker looks, and nothing is sent. */
async function accountMailTaken(url: string, node: GatewayNode): Promise<boolean> {
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
    for (const until = performance.now() + AGAIN_WITHIN_MS; performance.now() < until; await delay(250)) {
      const counts = await queue.getJobCounts('waiting', 'delayed', 'active', 'failed');
      if (Object.values(counts).every((count) => count === 0)) return true;
    }
    return false;
  } finally {
    await queue.close();
    await close();
  }
}
