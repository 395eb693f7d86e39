import type { StoredRow, Tx } from '../../platform';
import { isSampling, type QualityOwner, type QualitySettings } from './quality-settings';

/**
 * Applies a change to earlier samples: evaluation that is no longer allowed ends, and texts that can no longer be kept
 * are deleted.
 */
export async function applyToSamples(tx: Tx, owner: QualityOwner, settings: QualitySettings): Promise<void> {
  if (owner.keyId !== null) {
    if (settings.excluded) await withdraw(tx, { column: 'key_id', id: owner.keyId }, 0);
    return;
  }
  if (owner.organisationId === null) {
    if (settings.availability === 'off') await withdraw(tx, allSamples, 0);
    return;
  }
  const owned = { column: 'organisation_id', id: owner.organisationId } as const;
  const days = settings.availability === 'off' ? 0 : settings.content_retention_days;
  if (isSampling(settings)) await limitRetention(tx, owned, days);
  else await withdraw(tx, owned, days);
}

interface SampleSelection {
  readonly column: 'organisation_id' | 'key_id' | null;
  readonly id: number | null;
}

const allSamples: SampleSelection = { column: null, id: null };

/** SQL condition; `$1` is the id. */
const selectionCondition = ({ column }: SampleSelection): string =>
  column === null ? '$1::integer IS NULL' : `${column} = $1`;

async function withdraw(tx: Tx, selection: SampleSelection, days: number): Promise<void> {
  const closedRows = await tx.query<SampleIdRow>(
    `WITH ended AS (
       UPDATE quality_sample SET state = 'closed', closed_by = 'switched_off', content = NULL, content_until = NULL,
              changed_at = now()
        WHERE state IN ('waiting', 'replayed', 'judged') AND ${selectionCondition(selection)} RETURNING request_id)
     SELECT request_id FROM ended`,
    [selection.id],
  );
  await deleteAnswerTexts(tx, closedRows);
  await limitRetention(tx, selection, days);
}

async function limitRetention(tx: Tx, selection: SampleSelection, days: number): Promise<void> {
  const expiredRows = await tx.query<SampleIdRow>(
    `WITH shorter AS (
       SELECT request_id, created_at + make_interval(days => $2) AS until FROM quality_sample
        WHERE state = 'learned' AND content IS NOT NULL AND ${selectionCondition(selection)}),
     changed AS (
       UPDATE quality_sample q SET content_until = s.until, content = CASE WHEN s.until > now() THEN q.content END
         FROM shorter s WHERE q.request_id = s.request_id AND q.content_until > s.until
       RETURNING q.request_id, q.content)
     SELECT request_id FROM changed WHERE content IS NULL`,
    [selection.id, days],
  );
  await deleteAnswerTexts(tx, expiredRows);
}

type SampleIdRow = StoredRow<'quality_sample', 'request_id'>[];

/** Runs as a separate statement, so that it sees a reply written while the previous statement waited. */
async function deleteAnswerTexts(tx: Tx, rows: SampleIdRow): Promise<void> {
  await tx.query('UPDATE quality_score SET content = NULL WHERE request_id = ANY($1::uuid[])', [
    rows.map(({ request_id: requestId }) => requestId),
  ]);
}
