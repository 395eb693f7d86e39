import { SqlParameters, withinRecordScope } from '../../audit';
import type { Scope } from '../../kernel';

/** It is the model that answered a request for auto, of the record `r`. */
export const answeredBy = `coalesce(r.auto_decision->>'answered_by', r.auto_decision->>'chosen')`;

/** Where the reference model answered, as in shadow mode, nothing was saved or spent. */
export const costRatio = `CASE WHEN ${answeredBy} = r.auto_decision->>'ref' THEN 1
  ELSE (r.auto_decision->>'cost_ratio')::float8 END`;

/** The condition on `request_record r` for requests for auto that have a decision. */
export function autoRecords(scope: Scope, from: Date): { values: unknown[]; where: string } {
  const values: unknown[] = [from];
  const within = withinRecordScope(scope, new SqlParameters(values), 'r');
  return {
    values,
    where: `r.model = 'auto' AND r.created_at >= $1 AND r.auto_decision IS NOT NULL AND ${within}`,
  };
}
