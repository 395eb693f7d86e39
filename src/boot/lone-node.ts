import { HOUR_MS } from '../kernel';
import { Database, Logger, type Settings } from '../platform';

/** A node that was killed still counts for the rest of its lease. */
const FIRST_CHECK_MS = 45_000;
const CHECK_EVERY_MS = HOUR_MS;

export const LIVE_NODES = 'SELECT count(*)::int AS nodes FROM escrow_lease WHERE expires_at > now()';

/** Without Redis every node limits rates by itself: n nodes together allow n times as much. */
export function warnOfOtherNodes({ redisUrl }: Settings, database: Database, logger: Logger): () => void {
  if (redisUrl !== undefined) return () => undefined;
  const check = async (): Promise<void> => {
    const [row] = await database.query<{ nodes: number }>(LIVE_NODES);
    const nodes = row?.nodes ?? 1;
    if (nodes > 1)
      logger.warn(
        'several nodes run without REDIS_URL: each lets in as much as a key may have (docs/nodes.md)',
        {
          nodes,
        },
      );
  };
  const checkQuietly = (): void => void check().catch(() => undefined);
  const timers = [setTimeout(checkQuietly, FIRST_CHECK_MS), setInterval(checkQuietly, CHECK_EVERY_MS)];
  for (const timer of timers) timer.unref();
  return () => timers.forEach((timer) => clearTimeout(timer));
}
