import { HOUR_MS, MINUTE_MS } from '../kernel';
import { Database, Logger, type Settings } from '../platform';

/** A node that was killed still counts until its lease expires. */
const FIRST_CHECK_MS = 45_000;
/** Leaves time for a rolling start: the nodes that run jobs could start last. */
const FIRST_JOBS_CHECK_MS = 5 * MINUTE_MS;
const CHECK_INTERVAL_MS = HOUR_MS;

export const LIVE_NODES_SQL = 'SELECT count(*)::int AS nodes FROM escrow_lease WHERE expires_at > now()';

/** Some job succeeds every 20 s while any node runs jobs. */
export const JOBS_RUN_SQL = `SELECT coalesce(max(succeeded_at) > now() - interval '5 minutes', false) AS run FROM repeating_job`;

/** Only nodes older than five minutes are expected to have run a job. */
export const LONG_RUNNING_NODES_SQL = `${LIVE_NODES_SQL} AND started_at < now() - interval '5 minutes'`;

const NO_JOBS_WARNING =
  'no node has run a job for five minutes: one has to run with SERVE=all or SERVE=portal, and WORKERS=inline';

export function watchOtherNodes(settings: Settings, database: Database, logger: Logger): () => void {
  const timers = [
    ...(settings.redisUrl === undefined
      ? repeatCheck(FIRST_CHECK_MS, () => warnOfOtherNodes(database, logger))
      : []),
    ...(settings.workers === 'off'
      ? repeatCheck(FIRST_JOBS_CHECK_MS, () => warnOfMissingJobs(database, logger))
      : []),
  ];
  return () => timers.forEach((timer) => clearTimeout(timer));
}

function repeatCheck(firstMs: number, check: () => Promise<void>): NodeJS.Timeout[] {
  const checkQuietly = (): void => void check().catch(() => undefined);
  const timers = [setTimeout(checkQuietly, firstMs), setInterval(checkQuietly, CHECK_INTERVAL_MS)];
  return timers.map((timer) => timer.unref());
}

/** Without Redis every node limits rates separately: n nodes together allow n times the limit. */
async function warnOfOtherNodes(database: Database, logger: Logger): Promise<void> {
  const [row] = await database.query<{ nodes: number }>(LIVE_NODES_SQL);
  const nodes = row?.nodes ?? 1;
  if (nodes > 1)
    logger.warn(
      'several nodes run without REDIS_URL: each lets in as much as a key may have (docs/nodes.md)',
      { nodes },
    );
}

async function warnOfMissingJobs(database: Database, logger: Logger): Promise<void> {
  const [row] = await database.query<{ run: boolean }>(JOBS_RUN_SQL);
  if (row?.run !== true) logger.warn(NO_JOBS_WARNING);
}
