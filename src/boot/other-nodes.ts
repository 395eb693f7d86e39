import { HOUR_MS, MINUTE_MS } from '../kernel';
import { Database, Logger, type Settings } from '../platform';

/** A node that was killed still counts for the rest of its lease. */
const FIRST_CHECK_MS = 45_000;
/** Nodes are started one after the other: those that run jobs may come last. */
const FIRST_LOOK_AT_JOBS_MS = 5 * MINUTE_MS;
const CHECK_EVERY_MS = HOUR_MS;

export const LIVE_NODES = 'SELECT count(*)::int AS nodes FROM escrow_lease WHERE expires_at > now()';

/** Some job succeeds every twenty seconds wherever a node runs them. */
export const JOBS_RUN = `SELECT coalesce(max(succeeded_at) > now() - interval '5 minutes', false) AS run FROM repeating_job`;

/** Of a node that has run for longer than that, something can be expected. */
export const LONG_RUNNING_NODES = `${LIVE_NODES} AND started_at < now() - interval '5 minutes'`;

const NO_JOBS =
  'no node has run a job for five minutes: one has to run with SERVE=all or SERVE=portal, and WORKERS=inline';

/** Tells what is wrong with the nodes together. */
export function watchOtherNodes(settings: Settings, database: Database, logger: Logger): () => void {
  const timers = [
    ...(settings.redisUrl === undefined
      ? repeated(FIRST_CHECK_MS, () => warnOfOtherNodes(database, logger))
      : []),
    ...(settings.workers === 'off'
      ? repeated(FIRST_LOOK_AT_JOBS_MS, () => warnOfMissingJobs(database, logger))
      : []),
  ];
  return () => timers.forEach((timer) => clearTimeout(timer));
}

function repeated(firstMs: number, check: () => Promise<void>): NodeJS.Timeout[] {
  const checkQuietly = (): void => void check().catch(() => undefined);
  const timers = [setTimeout(checkQuietly, firstMs), setInterval(checkQuietly, CHECK_EVERY_MS)];
  return timers.map((timer) => timer.unref());
}

/** Without Redis every node limits rates by itself: n nodes together allow n times as much. */
async function warnOfOtherNodes(database: Database, logger: Logger): Promise<void> {
  const [row] = await database.query<{ nodes: number }>(LIVE_NODES);
  const nodes = row?.nodes ?? 1;
  if (nodes > 1)
    logger.warn(
      'several nodes run without REDIS_URL: each lets in as much as a key may have (docs/nodes.md)',
      { nodes },
    );
}

async function warnOfMissingJobs(database: Database, logger: Logger): Promise<void> {
  const [row] = await database.query<{ run: boolean }>(JOBS_RUN);
  if (row?.run !== true) logger.warn(NO_JOBS);
}
