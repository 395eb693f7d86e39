import { SqlParameters, withinRecordScope } from '../../audit';
import type { Scope } from '../../kernel';

/** SQL: the model that answered an `auto` request of record `r`. */
export const answeredBy = `coalesce(r.auto_decision->>'answered_by', r.auto_decision->>'chosen')`;

/** SQL: 1 if the reference model answered, as in shadow mode, since nothing was saved or spent. */
export const costRatio = `CASE WHEN ${answeredBy} = r.auto_decision->>'ref' THEN 1
  ELSE (r.auto_decision->>'cost_ratio')::float8 END`;

export function autoRecords(scope: Scope, from: Date): { values: unknown[]; where: string } {
  const values: unknown[] = [from];
  const within = withinRecordScope(scope, new SqlParameters(values), 'r');
  return {
    values,
    where: `r.model = 'auto' AND r.created_at >= $1 AND r.auto_decision IS NOT NULL AND ${within}`,
  };
}
