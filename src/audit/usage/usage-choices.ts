import type { Database } from '../../platform';
import { type RecordScope, withinRecordScope } from '../record-scope';
import { SqlParameters } from '../sql-parameters';

export interface UsageChoice {
  readonly value: string;
  readonly label: string;
}

export type UsageChoices = Readonly<
  Record<'model' | 'supplier' | 'region' | 'key' | 'project', readonly UsageChoice[]>
>;

const MAX_CHOICES = 100;

export async function usageChoices(
  database: Database,
  scope: RecordScope,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<UsageChoices> {
  const parameters = new SqlParameters();
  const [start, end] = [parameters.add(from), parameters.add(to)];
  const within = withinRecordScope(scope, parameters, 'u');
  const used = scope.kind === 'platform' ? usedByDays(start, end) : usedByHours(start, end, within);
  const rows = await database.query<{ dimension: string; value: string; label: string | null }>(
    `WITH used AS (${used}),
     named AS (
       SELECT u.dimension, coalesce(u.name, u.number::text) AS value, coalesce(k.name, p.name) AS label,
              sum(u.requests) AS requests
         FROM used u LEFT JOIN api_key k ON u.dimension = 'key' AND k.id = u.number
         LEFT JOIN project p ON u.dimension = 'project' AND p.id = u.number GROUP BY 1, 2, 3)
     SELECT dimension, value, label FROM (
       SELECT *, row_number() OVER (PARTITION BY dimension ORDER BY requests DESC, value) AS place
         FROM named WHERE value IS NOT NULL) AS ranked
      WHERE place <= ${MAX_CHOICES} ORDER BY lower(coalesce(label, value)), value`,
    parameters.values,
  );
  const choicesOf = (dimension: string): UsageChoice[] =>
    rows
      .filter((row) => row.dimension === dimension)
      .map(({ value, label }) => ({ value, label: label ?? value }));
  return {
    model: choicesOf('model'),
    supplier: choicesOf('supplier'),
    region: choicesOf('region'),
    key: choicesOf('key'),
    project: choicesOf('project'),
  };
}

const summed = `
  SELECT CASE GROUPING(served_model, supplier, region, key_id, project_id)
           WHEN 15 THEN 'model' WHEN 23 THEN 'supplier' WHEN 27 THEN 'region' WHEN 29 THEN 'key' ELSE 'project' END
           AS dimension,
         coalesce(key_id, project_id) AS number, coalesce(served_model, supplier, region) AS name, sum(requests) AS requests`;
const groups = 'GROUP BY GROUPING SETS ((served_model), (supplier), (region), (key_id), (project_id))';

/** A limited scope has few enough hours. */
const usedByHours = (start: string, end: string, within: string): string => `
  ${summed} FROM usage_hour u
   WHERE ${within} AND u.hour >= date_trunc('hour', ${start}::timestamptz, 'UTC') AND u.hour < ${end} ${groups}`;

/**
 * Days of the platform are read as they were summed, including the complete first and last day; other days are read by
 * hours.
 */
const usedByDays = (start: string, end: string): string => `
  SELECT d.dimension, d.number, d.name, sum(d.requests) AS requests
    FROM usage_day d
   WHERE d.dimension IN ('model', 'supplier', 'region', 'key', 'project')
     AND d.day >= date_trunc('day', ${start}::timestamptz, 'UTC') AND d.day < ${end} AND EXISTS (SELECT FROM usage_day_merged m WHERE m.day = d.day) GROUP BY 1, 2, 3
  UNION ALL
  ${summed} FROM generate_series(date_trunc('day', ${start}::timestamptz, 'UTC'), ${end}::timestamptz, interval '24 hours') AS g (day)
    JOIN usage_hour u ON u.hour >= g.day AND u.hour < g.day + interval '24 hours' AND u.hour < ${end}
   WHERE NOT EXISTS (SELECT FROM usage_day_merged m WHERE m.day = g.day) ${groups}`;
