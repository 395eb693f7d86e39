import type { Stored, Tx } from '../../platform';
import { isSampling, type QualityOwner, type QualitySettings } from './quality-settings';

/**
 * Applies a change to what was sampled before it: evaluation that is no longer allowed ends, and texts leave that may
 * no longer be kept.
 */
export async function applyToSamples(tx: Tx, owner: QualityOwner, settings: QualitySettings): Promise<void> {
  if (owner.keyId !== null) {
    if (settings.excluded) await withdraw(tx, { column: 'key_id', id: owner.keyId }, 0);
    return;
  }
  if (owner.organisationId === null) {
    if (settings.availability === 'off') await withdraw(tx, everyones, 0);
    return;
  }
  const whose = { column: 'organisation_id', id: owner.organisationId } as const;
  // Without readers there is nothing to keep a text for.
  const days = settings.availability === 'off' ? 0 : settings.content_retention_days;
  if (isSampling(settings)) await shorten(tx, whose, days);
  else await withdraw(tx, whose, days);
}

interface Whose {
  readonly column: 'organisation_id' | 'key_id' | null;
  readonly id: number | null;
}

const everyones: Whose = { column: null, id: null };

/** `$1` is the id. */
const isTheirs = ({ column }: Whose): string => (column === null ? '$1::integer IS NULL' : `${column} = $1`);

async function withdraw(tx: Tx, whose: Whose, days: number): Promise<void> {
  const ended = await tx.query<Ended>(
    `WITH ended AS (
       UPDATE quality_sample SET state = 'closed', closed_by = 'switched_off', content = NULL, content_until = NULL,
              changed_at = now()
        WHERE state IN ('waiting', 'replayed', 'judged') AND ${isTheirs(whose)} RETURNING request_id)
     SELECT request_id FROM ended`,
    [whose.id],
  );
  await dropAnswers(tx, ended);
  await shorten(tx, whose, days);
}

/** Texts that are kept stay no longer than the days say. */
async function shorten(tx: Tx, whose: Whose, days: number): Promise<void> {
  const over = await tx.query<Ended>(
    `WITH shorter AS (
       SELECT request_id, created_at + make_interval(days => $2) AS until FROM quality_sample
        WHERE state = 'learned' AND content IS NOT NULL AND ${isTheirs(whose)}),
     changed AS (
       UPDATE quality_sample q SET content_until = s.until, content = CASE WHEN s.until > now() THEN q.content END
         FROM shorter s WHERE q.request_id = s.request_id AND q.content_until > s.until
       RETURNING q.request_id, q.content)
     SELECT request_id FROM changed WHERE content IS NULL`,
    [whose.id, days],
  );
  await dropAnswers(tx, over);
}

type Ended = Stored<'quality_sample', 'request_id'>[];

/** It is a statement of its own: it sees an answer that was written while the one before waited. */
async function dropAnswers(tx: Tx, ended: Ended): Promise<void> {
  await tx.query('UPDATE quality_score SET content = NULL WHERE request_id = ANY($1::uuid[])', [
    ended.map(({ request_id: requestId }) => requestId),
  ]);
}
