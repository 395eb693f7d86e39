import type { Database } from '../../platform';
import { type RecordScope, withinRecordScope } from '../record-scope';
import { SqlParameters } from '../sql-parameters';

export interface UsageChoice {
  readonly value: string;
  readonly label: string;
}

/** What a filter of usage can be set to: what was used in the period. */
export type UsageChoices = Readonly<
  Record<'model' | 'supplier' | 'region' | 'key' | 'project', readonly UsageChoice[]>
>;

const MOST_CHOICES = 100;

export async function usageChoices(
  database: Database,
  scope: RecordScope,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<UsageChoices> {
  const parameters = new SqlParameters();
  const where = [
    withinRecordScope(scope, parameters, 'u'),
    `u.hour >= date_trunc('hour', ${parameters.add(from)}::timestamptz, 'UTC') AND u.hour < ${parameters.add(to)}`,
  ];
  const rows = await database.query<{ dimension: string; value: string; label: string | null }>(
    `WITH used AS (
       SELECT model, supplier, region, key_id, project_id, sum(requests) AS requests FROM usage_hour u
        WHERE ${where.join(' AND ')} GROUP BY GROUPING SETS ((model), (supplier), (region), (key_id), (project_id))),
     named AS (
       SELECT CASE WHEN u.model IS NOT NULL THEN 'model' WHEN u.supplier IS NOT NULL THEN 'supplier'
                   WHEN u.region IS NOT NULL THEN 'region' WHEN u.key_id IS NOT NULL THEN 'key' ELSE 'project' END AS dimension,
              coalesce(u.model, u.supplier, u.region, u.key_id::text, u.project_id::text) AS value,
              coalesce(k.name, p.name) AS label, u.requests
         FROM used u LEFT JOIN api_key k ON k.id = u.key_id LEFT JOIN project p ON p.id = u.project_id)
     SELECT dimension, value, label FROM (
       SELECT *, row_number() OVER (PARTITION BY dimension ORDER BY requests DESC, value) AS place
         FROM named WHERE value IS NOT NULL) AS ranked
      WHERE place <= ${MOST_CHOICES} ORDER BY lower(coalesce(label, value)), value`,
    parameters.values,
  );
  const of = (dimension: string): UsageChoice[] =>
    rows
      .filter((row) => row.dimension === dimension)
      .map(({ value, label }) => ({ value, label: label ?? value }));
  return {
    model: of('model'),
    supplier: of('supplier'),
    region: of('region'),
    key: of('key'),
    project: of('project'),
  };
}
