import { type RecordScope, withinRecordScope } from '../record-scope';
import type { SqlParameters } from '../sql-parameters';
import type { Cuts, UsageFilter, UsageGrouping, UsageQuestion } from './usage-question';
import { recordSums, sumColumns } from './usage-sums';

type LabelKind = 'end_user' | 'tag';

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
const numbered = new Set<UsageGrouping | null | undefined>(['key', 'project', 'user']);

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

interface Asked extends UsageQuestion {
  readonly scope: RecordScope;
  readonly cuts: Cuts;
  readonly parameters: SqlParameters;
}

/**
 * One row a bucket and group, those that cost most apart. The groups are ranked by their cost first: then only those
 * few that are told apart need all sums in every bucket.
 */
export function usageStatement(
  scope: RecordScope,
  question: UsageQuestion,
  cuts: Cuts,
  parameters: SqlParameters,
): string {
  const asked = { ...question, scope, cuts, parameters };
  const [kind, second] = [...labelsOf(question)];
  const hasHours = second === undefined;
  const parts = hasHours
    ? [fromHours(asked, kind), cells(asked, 'bucket', ''), cells(asked, 'counted_in', '-')]
    : [cells(asked, 'bucket', '')];
  const most = parameters.add(question.mostGroups ?? 0);
  const nameless = numbered.has(question.groupBy) ? '-1' : 'chr(1)';
  const name = `coalesce(name, ${nameless})`;
  return `
    WITH record AS MATERIALIZED (${hasHours ? besideHours(asked) : fromRecords(asked)}),
    used AS NOT MATERIALIZED (${parts.join(' UNION ALL ')}),
    top AS MATERIALIZED (
      SELECT name, row_number() OVER (ORDER BY cost DESC, requests DESC, name::text COLLATE "C") AS rank
        FROM (SELECT ${name} AS name, sum(cost_nano) AS cost, sum(requests) AS requests FROM used
               WHERE ${most} > 0 GROUP BY 1) AS all_groups
       WHERE requests > 0 ORDER BY rank LIMIT ${most})
    SELECT bucket, coalesce(top.rank, ${most}::bigint + 1)::integer AS rank, nullif(top.name, ${nameless})::text AS name,
           ${sumColumns.map((column) => `sum(used.${column})::text AS ${column}`).join(', ')}
      FROM used LEFT JOIN top ON top.name = coalesce(used.name, ${nameless})
     GROUP BY 1, 2, 3 HAVING sum(requests) > 0 ORDER BY 2, 1`;
}

function cells({ cuts }: Asked, bucket: 'bucket' | 'counted_in', sign: '-' | ''): string {
  return `SELECT ${bucket}, name, ${sumColumns.map((column) => `${sign}${column}`).join(', ')}
            FROM record WHERE ${bucket} BETWEEN 1 AND ${cuts.borders.length - 1}`;
}

function fromHours(asked: Asked, kind: LabelKind | undefined): string {
  const { scope, groupBy, filter, cuts, parameters } = asked;
  const name = isLabel(groupBy) ? 's.label' : groupBy ? `s.${columnOf[groupBy]}` : 'NULL::text';
  const conditions = [
    withinRecordScope(scope, parameters, 's'),
    `s.hour >= ${parameters.add(cuts.hours[0])} AND s.hour < ${parameters.add(cuts.hours.at(-1))}`,
    ...plainFilters(filter, 's', 's.model', parameters),
  ];
  if (kind !== undefined) {
    conditions.push(`s.kind = ${parameters.add(kind)}`);
    const label = kind === 'tag' ? filter?.tag : filter?.endUser;
    if (label) conditions.push(`s.label = ${parameters.add(label)}`);
  }
  return `SELECT width_bucket(s.hour, ${parameters.add(cuts.hours)}::timestamptz[]) AS bucket, ${name} AS name,
                 ${sumColumns.map((column) => `s.${column}`).join(', ')}
            FROM ${kind === undefined ? 'usage_hour' : 'usage_label_hour'} s WHERE ${conditions.join(' AND ')}`;
}

/**
 * The records between a border and the nearest whole hour: the hours of usage count them in the bucket on the other
 * side of that border. Each gap is a range of its own, which the indexes of time can find.
 */
function besideHours(asked: Asked): string {
  const { cuts, parameters } = asked;
  const gaps = cuts.borders.flatMap((border, at) => {
    const hour = cuts.hours[at] ?? border;
    return border < hour ? [[border, hour]] : border > hour ? [[hour, border]] : [];
  });
  const ranges = gaps.map(
    ([begin, end]) => `(r.created_at >= ${parameters.add(begin)} AND r.created_at < ${parameters.add(end)})`,
  );
  return recordCells(asked, cuts.hours, ranges.length === 0 ? 'false' : `(${ranges.join(' OR ')})`);
}

/** Where no hours know what is asked for. */
function fromRecords(asked: Asked): string {
  const { parameters, from, to, cuts } = asked;
  const period = `r.created_at >= ${parameters.add(from)} AND r.created_at < ${parameters.add(to)}`;
  return recordCells(asked, cuts.borders, period);
}

function recordCells(asked: Asked, countedBy: readonly Date[], period: string): string {
  const { scope, groupBy, filter, cuts, parameters } = asked;
  const bucket = (borders: readonly Date[]): string =>
    `width_bucket(r.created_at, ${parameters.add(borders)}::timestamptz[])`;
  const conditions = [
    withinRecordScope(scope, parameters, 'r'),
    period,
    ...plainFilters(filter, 'r', SERVED_AS, parameters),
    ...(filter?.endUser ? [`r.end_user = ${parameters.add(filter.endUser)}`] : []),
    ...(filter?.tag ? [`r.tags ? ${parameters.add(filter.tag)}`] : []),
    ...(groupBy === 'end_user' ? ['r.end_user IS NOT NULL'] : []),
  ];
  const tags = groupBy === 'tag' ? 'CROSS JOIN LATERAL jsonb_array_elements_text(r.tags) AS tag' : '';
  const values = recordSums.map((value, at) => `sum(${value})::bigint AS ${sumColumns[at]!}`).join(', ');
  return `SELECT ${bucket(cuts.borders)} AS bucket, ${bucket(countedBy)} AS counted_in, ${recordName(groupBy)} AS name, ${values}
            FROM request_record r ${tags} WHERE ${conditions.join(' AND ')} GROUP BY 1, 2, 3`;
}

const recordNames: Readonly<Record<LabelKind | 'model', string>> = {
  model: SERVED_AS,
  end_user: 'r.end_user',
  tag: 'tag',
};

function recordName(groupBy: UsageGrouping | null | undefined): string {
  if (!groupBy) return 'NULL::text';
  return isLabel(groupBy) || groupBy === 'model' ? recordNames[groupBy] : `r.${columnOf[groupBy]}`;
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
