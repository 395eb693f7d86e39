import { type RecordScope, withinRecordScope } from '../record-scope';
import type { SqlParameters } from '../sql-parameters';
import type { Cuts, UsageFilter, UsageGrouping, UsageQuestion } from './usage-question';
import { recordSums, sumColumns } from './usage-sums';

const HOUR_MS = 3_600_000;

type LabelKind = 'end_user' | 'tag';

/** Stands for no name where names are compared. */
const NAMELESS = 'chr(1)';

/** What a request was made as, where a lane served it: the other names are made up by callers. */
const SERVED_AS = 'CASE WHEN r.served_model IS NOT NULL THEN r.model END';

const columnOf: Readonly<Record<Exclude<UsageGrouping, LabelKind>, string>> = {
  model: 'model',
  key: 'key_id',
  project: 'project_id',
  user: 'user_id',
  supplier: 'supplier',
  region: 'region',
};

export const isLabel = (grouping: UsageGrouping | null | undefined): grouping is LabelKind =>
  grouping === 'end_user' || grouping === 'tag';

/** The labels that a question is about: at most one kind has hours of its own. */
function labelsOf({ groupBy, filter }: UsageQuestion): ReadonlySet<LabelKind> {
  const kinds = new Set<LabelKind>();
  if (isLabel(groupBy)) kinds.add(groupBy);
  if (filter?.endUser) kinds.add('end_user');
  if (filter?.tag) kinds.add('tag');
  return kinds;
}

/**
 * Whole hours from the hours of usage, and hours that are cut from their records: one row a bucket and group, those
 * that cost most apart.
 */
export function usageStatement(
  scope: RecordScope,
  question: UsageQuestion,
  cuts: Cuts,
  parameters: SqlParameters,
): string {
  const [kind, second] = [...labelsOf(question)];
  const borders = `${parameters.add(cuts.borders)}::timestamptz[]`;
  const onlyRecords = second !== undefined;
  const parts = [
    ...(onlyRecords ? [] : [fromHours(scope, question, cuts, kind, borders, parameters)]),
    ...(onlyRecords || cuts.splitHours.length > 0
      ? [fromRecords(scope, question, cuts, onlyRecords, borders, parameters)]
      : []),
  ];
  const most = parameters.add(question.mostGroups ?? 0);
  const sumsAs = (type: string, table: string): string =>
    sumColumns.map((column) => `sum(${table}.${column})::${type} AS ${column}`).join(', ');
  return `
    WITH used AS (${parts.join(' UNION ALL ')}),
    cell AS MATERIALIZED (
      SELECT bucket, coalesce(name, ${NAMELESS}) AS name, ${sumsAs('bigint', 'used')} FROM used GROUP BY 1, 2),
    top AS (
      SELECT name, row_number() OVER (ORDER BY sum(cost_nano) DESC, sum(requests) DESC, name) AS rank
        FROM cell GROUP BY name ORDER BY rank LIMIT ${most})
    SELECT c.bucket, coalesce(top.rank, ${most}::bigint + 1)::integer AS rank, nullif(top.name, ${NAMELESS}) AS name,
           ${sumsAs('text', 'c')}
      FROM cell c LEFT JOIN top ON top.name = c.name GROUP BY 1, 2, 3 ORDER BY 2, 1`;
}

function fromHours(
  scope: RecordScope,
  { groupBy, filter }: UsageQuestion,
  { firstHour, lastHour, splitHours }: Cuts,
  kind: LabelKind | undefined,
  borders: string,
  parameters: SqlParameters,
): string {
  const name = isLabel(groupBy) ? 's.label' : groupBy ? `s.${columnOf[groupBy]}::text` : 'NULL::text';
  const conditions = [
    withinRecordScope(scope, parameters, 's'),
    `s.hour >= ${parameters.add(firstHour)} AND s.hour < ${parameters.add(lastHour)}`,
    ...(splitHours.length > 0 ? [`s.hour <> ALL (${parameters.add(splitHours)}::timestamptz[])`] : []),
    ...plainFilters(filter, 's', 's.model', parameters),
  ];
  if (kind !== undefined) {
    conditions.push(`s.kind = ${parameters.add(kind)}`);
    const label = kind === 'tag' ? filter?.tag : filter?.endUser;
    if (label) conditions.push(`s.label = ${parameters.add(label)}`);
  }
  return `SELECT width_bucket(s.hour, ${borders}) AS bucket, (${name}) COLLATE "C" AS name,
                 ${sumColumns.map((column) => `s.${column}`).join(', ')}
            FROM ${kind === undefined ? 'usage_hour' : 'usage_label_hour'} s WHERE ${conditions.join(' AND ')}`;
}

function fromRecords(
  scope: RecordScope,
  { from, to, groupBy, filter }: UsageQuestion,
  { splitHours }: Cuts,
  isWhole: boolean,
  borders: string,
  parameters: SqlParameters,
): string {
  const conditions = [
    withinRecordScope(scope, parameters, 'r'),
    `r.created_at >= ${parameters.add(from)} AND r.created_at < ${parameters.add(to)}`,
    ...(isWhole ? [] : [withinHours(splitHours, parameters)]),
    ...plainFilters(filter, 'r', SERVED_AS, parameters),
    ...(filter?.endUser ? [`r.end_user = ${parameters.add(filter.endUser)}`] : []),
    ...(filter?.tag ? [`r.tags ? ${parameters.add(filter.tag)}`] : []),
    ...(groupBy === 'end_user' ? ['r.end_user IS NOT NULL'] : []),
  ];
  const tags = groupBy === 'tag' ? 'CROSS JOIN LATERAL jsonb_array_elements_text(r.tags) AS tag' : '';
  const values = recordSums.map((value, place) => `${value} AS ${sumColumns[place]!}`).join(', ');
  return `SELECT width_bucket(r.created_at, ${borders}) AS bucket, (${recordName(groupBy)}) COLLATE "C" AS name, ${values}
            FROM request_record r ${tags} WHERE ${conditions.join(' AND ')}`;
}

/** Each hour as a range of its own, which the indexes of time can find. */
const withinHours = (hours: readonly Date[], parameters: SqlParameters): string =>
  `(${hours
    .map((hour) => {
      const begin = parameters.add(hour);
      const end = parameters.add(new Date(hour.getTime() + HOUR_MS));
      return `(r.created_at >= ${begin} AND r.created_at < ${end})`;
    })
    .join(' OR ')})`;

const recordNames: Readonly<Record<LabelKind | 'model', string>> = {
  model: SERVED_AS,
  end_user: 'r.end_user',
  tag: 'tag',
};

function recordName(groupBy: UsageGrouping | null | undefined): string {
  if (!groupBy) return 'NULL::text';
  return isLabel(groupBy) || groupBy === 'model' ? recordNames[groupBy] : `r.${columnOf[groupBy]}::text`;
}

function plainFilters(
  filter: UsageFilter | undefined,
  table: string,
  model: string,
  parameters: SqlParameters,
): string[] {
  const conditions: string[] = [];
  const equal = (column: string, value: number | string | null | undefined): void => {
    if (value !== null && value !== undefined)
      conditions.push(`${table}.${column} = ${parameters.add(value)}`);
  };
  equal('key_id', filter?.keyId);
  equal('project_id', filter?.projectId);
  equal('user_id', filter?.userId);
  equal('supplier', filter?.supplier);
  equal('region', filter?.region);
  if (filter?.model) {
    const wanted = parameters.add(filter.model);
    conditions.push(`((${model}) = ${wanted} OR ${table}.served_model = ${wanted})`);
  }
  return conditions;
}
