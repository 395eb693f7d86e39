import type { Tx } from '../../platform';

const MAX_WAIT_SECONDS = 900;

const COUNT = `
  INSERT INTO attempt_throttle AS t (key_hash, attempts, last_at) VALUES ($1, 1, clock_timestamp())
  ON CONFLICT (key_hash) DO UPDATE SET
    attempts = CASE WHEN t.last_at < clock_timestamp() - interval '1 hour' THEN 1 ELSE t.attempts + 1 END,
    blocked_until = CASE
      WHEN t.last_at >= clock_timestamp() - interval '1 hour' AND t.attempts + 1 > $2 THEN
        clock_timestamp() + least($3, power(2, least(t.attempts + 1 - $2, 10))) * interval '1 second'
    END,
    last_at = clock_timestamp()
  WHERE t.blocked_until IS NULL OR t.blocked_until <= clock_timestamp()
  RETURNING attempts`;

/** Counts and refuses in a single statement, so that concurrent attempts get no more tries than sequential ones. */
export async function countAttempt(tx: Tx, keyHash: Buffer, free: number): Promise<boolean> {
  return (await tx.query<object[]>(COUNT, [keyHash, free, MAX_WAIT_SECONDS])).length > 0;
}

export async function readWaitSeconds(tx: Tx, keyHash: Buffer): Promise<number> {
  const [row] = await tx.query<{ seconds: number }[]>(
    `SELECT ceil(extract(epoch FROM blocked_until - clock_timestamp()))::integer AS seconds
     FROM attempt_throttle WHERE key_hash = $1`,
    [keyHash],
  );
  return Math.max(1, row?.seconds ?? 1);
}
