import type { Tx } from '../../platform';

/**
 * Organisations that become one keep their scores, feedback and the cost of evaluation. Waiting samples end:
 * their hashes are of a salt that goes with the organisation, as does what the router learned there.
 */
export async function moveEvaluation(tx: Tx, sourceIds: readonly number[], targetId: number): Promise<void> {
  await tx.query(
    `UPDATE quality_score SET content = NULL WHERE request_id IN (
       SELECT request_id FROM quality_sample WHERE organisation_id = ANY ($1::integer[])
          AND state IN ('waiting', 'replayed', 'judged'))`,
    [sourceIds],
  );
  await tx.query(
    `UPDATE quality_sample SET state = 'closed', closed_by = 'merged', content = NULL, content_until = NULL,
            changed_at = now()
      WHERE organisation_id = ANY ($1::integer[]) AND state IN ('waiting', 'replayed', 'judged')`,
    [sourceIds],
  );
  for (const table of ['quality_sample', 'quality_score', 'evaluation_call', 'answer_feedback'])
    await tx.query(`UPDATE ${table} SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[])`, [
      sourceIds,
      targetId,
    ]);
}
