import { type RecordScope, withinRecordScope } from '../record-scope';
import type { Span } from '../span';
import type { SqlParameters } from '../sql-parameters';
import {
  type Cuts,
  dayOf,
  type MovedSpan,
  movedBetween,
  outsideOf,
  type UsageFilter,
  type UsageGrouping,
  type UsageQuestion,
} from './usage-question';
import { latencyStep } from './latency-steps';
import { recordSums, stepSums, sumColumns, writtenSums } from './usage-sums';

type LabelKind = 'end_user' | 'tag';

const columnOf: Readonly<Record<Exclude<UsageGrouping, LabelKind>, string>> = {
  model: 'served_model',
  key: 'key_id',
  project: 'project_id',
  user: 'user_id',
  supplier: 'supplier',
  region: 'region',
};
const numbered = new Set<UsageGrouping | null | undefined>(['key', 'project', 'user']);

export const isLabel = (grouping: UsageGrouping | null | undefined): grouping is LabelKind =>
  grouping === 'end_user' || grouping === 'tag';

/** The label columns of a question: at most one kind of label has hours of its own. */
function labelsOf({ groupBy, filter }: UsageQuestion): ReadonlySet<LabelKind> {
  const kinds = new Set<LabelKind>();
  if (isLabel(groupBy)) kinds.add(groupBy);
  if (filter?.endUser) kinds.add('end_user');
  if (filter?.tag) kinds.add('tag');
  return kinds;
}

/** Daily sums exist for the whole platform, by one grouping each. */
export const isAskedOfDays = (scope: RecordScope, { bucket, filter }: UsageQuestion): boolean =>
  scope.kind === 'platform' &&
  bucket !== 'hour' &&
  Object.values(filter ?? {}).every((value) => value === null || value === undefined);

interface PreparedQuestion extends UsageQuestion {
  readonly scope: RecordScope;
  readonly cuts: Cuts;
  /** Days with ready sums; other days are read from their hours. */
  readonly merged: ReadonlySet<number>;
  readonly parameters: SqlParameters;
}

/**
 * One row a bucket and group, those that cost most apart. The groups are ranked by their cost first: then
 * only those few that are told apart need all sums in every bucket. Days and hours are counted in the bucket
 * that most of them lies in. The part that is `moved` is taken from there and added where it belongs.
 */
export function usageStatement(
  scope: RecordScope,
  question: UsageQuestion,
  cuts: Cuts,
  merged: ReadonlySet<number>,
  parameters: SqlParameters,
): string {
  const asked: PreparedQuestion = { ...question, scope, cuts, merged, parameters };
  const [kind, second] = [...labelsOf(question)];
  const hasHours = second === undefined;
  const hasDays = hasHours && merged.size > 0;
  const moved = hasHours
    ? [besideHours(asked), ...(hasDays ? [besideDays(asked, kind)] : [])]
    : [fromRecords(asked)];
  const used = hasHours
    ? [fromHours(asked, kind), cells(asked, 'bucket', ''), cells(asked, 'counted_in', '-')]
    : [cells(asked, 'bucket', '')];
  const most = parameters.add(question.mostGroups ?? 0);
  const nameless = numbered.has(question.groupBy) ? '-1' : 'chr(1)';
  const name = `coalesce(name, ${nameless})`;
  return `
    WITH moved AS MATERIALIZED (${moved.join(' UNION ALL ')}),
    used AS ${isLabel(question.groupBy) ? 'NOT MATERIALIZED' : 'MATERIALIZED'} (${usedBy(question, used.join(' UNION ALL '))}),
    top AS MATERIALIZED (
      SELECT name, row_number() OVER (ORDER BY cost DESC, requests DESC, name::text COLLATE "C") AS rank
        FROM (SELECT ${name} AS name, sum(cost_nano) AS cost, sum(requests) AS requests
                FROM (SELECT name, cost_nano, requests FROM used ${hasDays ? `UNION ALL ${costsOfDays(asked)}` : ''}) AS costs
               WHERE ${most} > 0 GROUP BY 1) AS all_groups
       WHERE requests > 0 ORDER BY rank LIMIT ${most})
    ${hasDays ? `, days AS MATERIALIZED (${daysOfTop(asked, nameless)})` : ''}
    SELECT bucket, coalesce(rank, ${most}::bigint + 1)::integer AS rank, nullif(name, ${nameless})::text AS name,
           ${writtenSums}
      FROM (SELECT used.bucket, top.rank, top.name, ${listed('used.')}
              FROM used LEFT JOIN top ON top.name = coalesce(used.name, ${nameless})
            ${hasDays ? `UNION ALL ${fromDays(asked)}` : ''}) AS ranked
     GROUP BY 1, 2, 3 HAVING sum(requests) > 0 ORDER BY 2, 1`;
}

/**
 * Summed before the groups are ranked, so that hours are read once. Labels are too many for that. The ranking
 * reads their costs alone, and the sums are made of those few that are told apart and of the rest.
 */
const usedBy = ({ groupBy }: UsageQuestion, parts: string): string =>
  isLabel(groupBy) ? parts : `SELECT bucket, name, ${summed()} FROM (${parts}) AS s GROUP BY 1, 2`;

const listed = (sign: string): string => sumColumns.map(({ name }) => `${sign}${name}`).join(', ');
const summed = (): string =>
  sumColumns.map(({ name, type }) => `sum(s.${name})::${type} AS ${name}`).join(', ');

function cells({ cuts }: PreparedQuestion, bucket: 'bucket' | 'counted_in', sign: '-' | ''): string {
  return `SELECT ${bucket}, name, ${listed(sign)} FROM moved WHERE ${bucket} BETWEEN 1 AND ${cuts.borders.length - 1}`;
}

const bucketOf = (instant: string, borders: readonly Date[], parameters: SqlParameters): string =>
  `width_bucket(${instant}, ${parameters.add(borders)}::timestamptz[])`;

/** Each span is a range of its own, so that the indexes of time apply. */
function within(column: string, spans: readonly Span[], parameters: SqlParameters): string {
  if (spans.length === 0) return 'false';
  const ranges = spans.map(
    ({ from, to }) => `(${column} >= ${parameters.add(from)} AND ${column} < ${parameters.add(to)})`,
  );
  return `(${ranges.join(' OR ')})`;
}

const columnOfDay = (groupBy: UsageGrouping | null | undefined): 'number' | 'name' =>
  numbered.has(groupBy) ? 'number' : 'name';

/** The sums of days of one dimension. */
function daysWithin({ cuts, merged, parameters }: PreparedQuestion, dimension: string): string {
  const [first, last] = [cuts.days[0]?.getTime() ?? 0, cuts.days.at(-1)?.getTime() ?? 0];
  const days = [...merged].filter((day) => day >= first && day < last).map((day) => new Date(day));
  return `d.dimension = ${parameters.add(dimension)} AND d.day = ANY (${parameters.add(days)}::timestamptz[])`;
}

/** An index of its own has what ranks the groups. */
const costsOfDays = (asked: PreparedQuestion): string =>
  `SELECT d.${columnOfDay(asked.groupBy)}, d.cost_nano, d.requests
     FROM usage_day d WHERE ${daysWithin(asked, asked.groupBy ?? 'all')}`;

/** It covers only the groups that are told apart. */
function daysOfTop(asked: PreparedQuestion, nameless: string): string {
  const column = columnOfDay(asked.groupBy);
  const other = column === 'number' ? 'name' : 'number';
  const within = daysWithin(asked, asked.groupBy ?? 'all');
  const matching = (condition: string): string =>
    `SELECT ${bucketOf('d.day', asked.cuts.days, asked.parameters)} AS bucket, top.rank, top.name, ${listed('d.')}
       FROM top JOIN usage_day d ON ${condition} AND d.${other} IS NULL WHERE ${within}`;
  return `${matching(`d.${column} = top.name`)}
    UNION ALL ${matching(`d.${column} IS NULL AND top.name = ${nameless}`)}`;
}

/** The other groups are all of them together less those that are told apart. */
function fromDays(asked: PreparedQuestion): string {
  const all = isLabel(asked.groupBy) ? `any_${asked.groupBy}` : 'all';
  return `SELECT bucket, rank, name, ${listed('')} FROM days
    UNION ALL SELECT bucket, NULL, NULL, ${listed('-')} FROM days
    UNION ALL SELECT ${bucketOf('d.day', asked.cuts.days, asked.parameters)}, NULL, NULL, ${listed('d.')}
                FROM usage_day d WHERE ${daysWithin(asked, all)}`;
}

function hoursWithin(asked: PreparedQuestion, kind: LabelKind | undefined, period: string): string {
  const { scope, filter, parameters } = asked;
  const conditions = [
    withinRecordScope(scope, parameters, 's'),
    period,
    ...plainFilters(filter, 's', parameters),
  ];
  if (kind !== undefined) {
    conditions.push(`s.kind = ${parameters.add(kind)}`);
    const label = kind === 'tag' ? filter?.tag : filter?.endUser;
    if (label) conditions.push(`s.label = ${parameters.add(label)}`);
  }
  return `FROM ${kind === undefined ? 'usage_hour' : 'usage_label_hour'} s WHERE ${conditions.join(' AND ')}`;
}

const hourName = (groupBy: UsageGrouping | null | undefined): string =>
  isLabel(groupBy) ? 's.label' : groupBy ? `s.${columnOf[groupBy]}` : 'NULL::text';

function fromHours(asked: PreparedQuestion, kind: LabelKind | undefined): string {
  const { groupBy, cuts, merged, parameters } = asked;
  const [from, to] = [cuts.hours[0], cuts.hours.at(-1)];
  const spans = from && to ? outsideOf(merged, { from, to }) : [];
  return `SELECT ${bucketOf('s.hour', cuts.hours, parameters)} AS bucket, ${hourName(groupBy)} AS name, ${listed('s.')}
            ${hoursWithin(asked, kind, within('s.hour', spans, parameters))}`;
}

/** Each span is looked into by itself: its bucket is known, and an index of time finds it. */
function movedIn(spans: readonly MovedSpan[], { parameters }: PreparedQuestion, sums: string): string {
  const list = (of: (span: MovedSpan) => Date | number, type: string): string =>
    `${parameters.add(spans.map(of))}::${type}[]`;
  return `SELECT moved.bucket, moved.counted_in, sums.*
            FROM unnest(${list(({ from }) => from, 'timestamptz')}, ${list(({ to }) => to, 'timestamptz')},
                        ${list(({ bucket }) => bucket, 'integer')}, ${list(({ countedIn }) => countedIn, 'integer')})
                 AS moved (begins, ends, bucket, counted_in)
            CROSS JOIN LATERAL (${sums}) AS sums`;
}

/** The hours between a border and the nearest day, where that day is read as a whole. */
function besideDays(asked: PreparedQuestion, kind: LabelKind | undefined): string {
  const { groupBy, cuts, merged } = asked;
  const spans = movedBetween(cuts.hours, cuts.days).filter(({ from }) => merged.has(dayOf(from)));
  const hours = hoursWithin(asked, kind, 's.hour >= moved.begins AND s.hour < moved.ends');
  return movedIn(spans, asked, `SELECT ${hourName(groupBy)} AS name, ${summed()} ${hours} GROUP BY 1`);
}

/** The records between a border and the nearest whole hour. */
function besideHours(asked: PreparedQuestion): string {
  const spans = movedBetween(asked.cuts.borders, asked.cuts.hours);
  const sums = sumsOfRecords(asked, 'r.created_at >= moved.begins AND r.created_at < moved.ends');
  return movedIn(spans, asked, `SELECT name, ${stepSums} FROM (${sums}) AS steps GROUP BY 1`);
}

/** Records are read where no hourly sums cover the filter. */
function fromRecords(asked: PreparedQuestion): string {
  const { parameters, from, to, cuts } = asked;
  const bucket = bucketOf('r.created_at', cuts.borders, parameters);
  const sums = sumsOfRecords(asked, within('r.created_at', [{ from, to }], parameters), bucket);
  return `SELECT bucket, NULL::integer AS counted_in, name, ${stepSums} FROM (${sums}) AS steps GROUP BY 1, 3`;
}

/** It sorts records by step of latency, which takes half as long as to look at each step. */
const sumsOfRecords = (asked: PreparedQuestion, period: string, bucket = 'NULL::integer'): string =>
  `SELECT ${bucket} AS bucket, ${recordName(asked.groupBy)} AS name, ${latencyStep('r.latency_ms')} AS step, ${recordSums}
     ${recordsWithin(asked, period)} GROUP BY 1, 2, 3`;

function recordsWithin(asked: PreparedQuestion, period: string): string {
  const { scope, groupBy, filter, parameters } = asked;
  const conditions = [
    withinRecordScope(scope, parameters, 'r'),
    period,
    ...plainFilters(filter, 'r', parameters),
    ...(filter?.endUser ? [`r.end_user = ${parameters.add(filter.endUser)}`] : []),
    ...(filter?.tag ? [`r.tags ? ${parameters.add(filter.tag)}`] : []),
    ...(groupBy === 'end_user' ? ['r.end_user IS NOT NULL'] : []),
  ];
  const tags = groupBy === 'tag' ? 'CROSS JOIN LATERAL jsonb_array_elements_text(r.tags) AS tag' : '';
  return `FROM request_record r ${tags} WHERE ${conditions.join(' AND ')}`;
}

function recordName(groupBy: UsageGrouping | null | undefined): string {
  if (!groupBy) return 'NULL::text';
  return groupBy === 'tag' ? 'tag' : `r.${groupBy === 'end_user' ? groupBy : columnOf[groupBy]}`;
}

function plainFilters(filter: UsageFilter | undefined, table: string, parameters: SqlParameters): string[] {
  const conditions: string[] = [];
  const equal = (column: string, value: number | string | null | undefined): void => {
    if (value !== null && value !== undefined)
      conditions.push(`${table}.${column} = ${parameters.add(value)}`);
  };
  equal('key_id', filter?.keyId);
  if (filter?.keyIds) conditions.push(`${table}.key_id = ANY (${parameters.add(filter.keyIds)}::bigint[])`);
  equal('project_id', filter?.projectId);
  equal('user_id', filter?.userId);
  equal('organisation_id', filter?.organisationId);
  equal('served_model', filter?.model);
  equal('supplier', filter?.supplier);
  equal('region', filter?.region);
  return conditions;
}
