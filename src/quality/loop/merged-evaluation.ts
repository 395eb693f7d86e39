import { Injectable } from '@nestjs/common';
import { OnOrganisationMerge, type OrganisationMerger, type Tx } from '../../platform';

/**
 * Moves scores, feedback and evaluation costs when organisations are merged. Waiting samples end: their hashes use a
 * salt that is deleted with the organisation, as is what the router learned there.
 */
@Injectable()
export class MergedEvaluation {
  @OnOrganisationMerge()
  async move(tx: Tx, { sourceIds, targetId }: OrganisationMerger): Promise<void> {
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
}
