import { type RecordScope, withinRecordScope } from '../record-scope';
import type { TimeSpan } from '../span';
import type { SqlParameters } from '../sql-parameters';
import {
  type BucketBoundaries,
  dayOf,
  type MovedSpan,
  movedBetween,
  outsideOf,
  type UsageFilter,
  type UsageGrouping,
  type UsageRequest,
} from './usage-request';
import { latencyStep } from './latency-steps';
import { recordSums, stepSums, sumColumns, sumsAsText } from './usage-sums';

type LabelKind = 'end_user' | 'tag';

const columnOf: Readonly<Record<Exclude<UsageGrouping, LabelKind>, string>> = {
  model: 'served_model',
  key: 'key_id',
  project: 'project_id',
  user: 'user_id',
  supplier: 'supplier',
  region: 'region',
};
const groupedById = new Set<UsageGrouping | null | undefined>(['key', 'project', 'user']);

export const isLabel = (grouping: UsageGrouping | null | undefined): grouping is LabelKind =>
  grouping === 'end_user' || grouping === 'tag';

function labelsOf({ groupBy, filter }: UsageRequest): ReadonlySet<LabelKind> {
  const kinds = new Set<LabelKind>();
  if (isLabel(groupBy)) kinds.add(groupBy);
  if (filter?.endUser) kinds.add('end_user');
  if (filter?.tag) kinds.add('tag');
  return kinds;
}

/** Daily sums exist only for the complete platform, for one grouping each. */
export const canUseDays = (scope: RecordScope, { bucket, filter }: UsageRequest): boolean =>
  scope.kind === 'platform' &&
  bucket !== 'hour' &&
  Object.values(filter ?? {}).every((value) => value === null || value === undefined);

interface PreparedUsageRequest extends UsageRequest {
  readonly scope: RecordScope;
  readonly cuts: BucketBoundaries;
  readonly merged: ReadonlySet<number>;
  readonly parameters: SqlParameters;
}

/**
 * Returns one row per bucket and group. Groups are ranked by cost first, so that only the listed ones need all sums in
 * every bucket.
 * Days and hours count towards the bucket that contains most of them; the part in `moved` is subtracted there and added
 * where it belongs.
 */
export function usageStatement(
  scope: RecordScope,
  request: UsageRequest,
  cuts: BucketBoundaries,
  merged: ReadonlySet<number>,
  parameters: SqlParameters,
): string {
  const prepared: PreparedUsageRequest = { ...request, scope, cuts, merged, parameters };
  const [kind, second] = [...labelsOf(request)];
  const hasHours = second === undefined;
  const hasDays = hasHours && merged.size > 0;
  const moved = hasHours
    ? [recordsNearHours(prepared), ...(hasDays ? [hoursNearDays(prepared, kind)] : [])]
    : [fromRecords(prepared)];
  const used = hasHours
    ? [fromHours(prepared, kind), cells(prepared, 'bucket', ''), cells(prepared, 'counted_in', '-')]
    : [cells(prepared, 'bucket', '')];
  const maxGroups = parameters.add(request.mostGroups ?? 0);
  const nameless = groupedById.has(request.groupBy) ? '-1' : 'chr(1)';
  const name = `coalesce(name, ${nameless})`;
  return `
    WITH moved AS MATERIALIZED (${moved.join(' UNION ALL ')}),
    used AS ${isLabel(request.groupBy) ? 'NOT MATERIALIZED' : 'MATERIALIZED'} (${usedSource(request, used.join(' UNION ALL '))}),
    top AS MATERIALIZED (
      SELECT name, row_number() OVER (ORDER BY cost DESC, requests DESC, name::text COLLATE "C") AS rank
        FROM (SELECT ${name} AS name, sum(cost_nano) AS cost, sum(requests) AS requests
                FROM (SELECT name, cost_nano, requests FROM used ${hasDays ? `UNION ALL ${costsOfDays(prepared)}` : ''}) AS costs
               WHERE ${maxGroups} > 0 GROUP BY 1) AS all_groups
       WHERE requests > 0 ORDER BY rank LIMIT ${maxGroups})
    ${hasDays ? `, days AS MATERIALIZED (${daysOfTop(prepared, nameless)})` : ''}
    SELECT bucket, coalesce(rank, ${maxGroups}::bigint + 1)::integer AS rank, nullif(name, ${nameless})::text AS name,
           ${sumsAsText}
      FROM (SELECT used.bucket, top.rank, top.name, ${columnList('used.')}
              FROM used LEFT JOIN top ON top.name = coalesce(used.name, ${nameless})
            ${hasDays ? `UNION ALL ${fromDays(prepared)}` : ''}) AS ranked
     GROUP BY 1, 2, 3 HAVING sum(requests) > 0 ORDER BY 2, 1`;
}

/**
 * Sums are made before the groups are ranked, so that hours are read once. Labels are too many for that: their ranking
 * reads costs only.
 */
const usedSource = ({ groupBy }: UsageRequest, parts: string): string =>
  isLabel(groupBy) ? parts : `SELECT bucket, name, ${summedColumns()} FROM (${parts}) AS s GROUP BY 1, 2`;

const columnList = (sign: string): string => sumColumns.map(({ name }) => `${sign}${name}`).join(', ');
const summedColumns = (): string =>
  sumColumns.map(({ name, type }) => `sum(s.${name})::${type} AS ${name}`).join(', ');

function cells({ cuts }: PreparedUsageRequest, bucket: 'bucket' | 'counted_in', sign: '-' | ''): string {
  return `SELECT ${bucket}, name, ${columnList(sign)} FROM moved WHERE ${bucket} BETWEEN 1 AND ${cuts.borders.length - 1}`;
}

const bucketOf = (instant: string, borders: readonly Date[], parameters: SqlParameters): string =>
  `width_bucket(${instant}, ${parameters.add(borders)}::timestamptz[])`;

/** Each span is a separate range, so that the indexes of time apply. */
function within(column: string, spans: readonly TimeSpan[], parameters: SqlParameters): string {
  if (spans.length === 0) return 'false';
  const ranges = spans.map(
    ({ from, to }) => `(${column} >= ${parameters.add(from)} AND ${column} < ${parameters.add(to)})`,
  );
  return `(${ranges.join(' OR ')})`;
}

const columnOfDay = (groupBy: UsageGrouping | null | undefined): 'number' | 'name' =>
  groupedById.has(groupBy) ? 'number' : 'name';

function daysWithin({ cuts, merged, parameters }: PreparedUsageRequest, dimension: string): string {
  const [first, last] = [cuts.days[0]?.getTime() ?? 0, cuts.days.at(-1)?.getTime() ?? 0];
  const days = [...merged].filter((day) => day >= first && day < last).map((day) => new Date(day));
  return `d.dimension = ${parameters.add(dimension)} AND d.day = ANY (${parameters.add(days)}::timestamptz[])`;
}

/** A dedicated index has the columns that rank the groups. */
const costsOfDays = (prepared: PreparedUsageRequest): string =>
  `SELECT d.${columnOfDay(prepared.groupBy)}, d.cost_nano, d.requests
     FROM usage_day d WHERE ${daysWithin(prepared, prepared.groupBy ?? 'all')}`;

function daysOfTop(prepared: PreparedUsageRequest, nameless: string): string {
  const column = columnOfDay(prepared.groupBy);
  const other = column === 'number' ? 'name' : 'number';
  const within = daysWithin(prepared, prepared.groupBy ?? 'all');
  const matching = (condition: string): string =>
    `SELECT ${bucketOf('d.day', prepared.cuts.days, prepared.parameters)} AS bucket, top.rank, top.name, ${columnList('d.')}
       FROM top JOIN usage_day d ON ${condition} AND d.${other} IS NULL WHERE ${within}`;
  return `${matching(`d.${column} = top.name`)}
    UNION ALL ${matching(`d.${column} IS NULL AND top.name = ${nameless}`)}`;
}

/** The other groups are all groups minus the listed ones. */
function fromDays(prepared: PreparedUsageRequest): string {
  const totalDimension = isLabel(prepared.groupBy) ? `any_${prepared.groupBy}` : 'all';
  return `SELECT bucket, rank, name, ${columnList('')} FROM days
    UNION ALL SELECT bucket, NULL, NULL, ${columnList('-')} FROM days
    UNION ALL SELECT ${bucketOf('d.day', prepared.cuts.days, prepared.parameters)}, NULL, NULL, ${columnList('d.')}
                FROM usage_day d WHERE ${daysWithin(prepared, totalDimension)}`;
}

function hoursWithin(prepared: PreparedUsageRequest, kind: LabelKind | undefined, period: string): string {
  const { scope, filter, parameters } = prepared;
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

function fromHours(prepared: PreparedUsageRequest, kind: LabelKind | undefined): string {
  const { groupBy, cuts, merged, parameters } = prepared;
  const [from, to] = [cuts.hours[0], cuts.hours.at(-1)];
  const spans = from && to ? outsideOf(merged, { from, to }) : [];
  return `SELECT ${bucketOf('s.hour', cuts.hours, parameters)} AS bucket, ${hourName(groupBy)} AS name, ${columnList('s.')}
            ${hoursWithin(prepared, kind, within('s.hour', spans, parameters))}`;
}

/** Each span is read separately: its bucket is known, and an index of time finds it. */
function movedIn(spans: readonly MovedSpan[], { parameters }: PreparedUsageRequest, sums: string): string {
  const list = (valueOf: (span: MovedSpan) => Date | number, type: string): string =>
    `${parameters.add(spans.map(valueOf))}::${type}[]`;
  return `SELECT moved.bucket, moved.counted_in, sums.*
            FROM unnest(${list(({ from }) => from, 'timestamptz')}, ${list(({ to }) => to, 'timestamptz')},
                        ${list(({ bucket }) => bucket, 'integer')}, ${list(({ countedIn }) => countedIn, 'integer')})
                 AS moved (begins, ends, bucket, counted_in)
            CROSS JOIN LATERAL (${sums}) AS sums`;
}

function hoursNearDays(prepared: PreparedUsageRequest, kind: LabelKind | undefined): string {
  const { groupBy, cuts, merged } = prepared;
  const spans = movedBetween(cuts.hours, cuts.days).filter(({ from }) => merged.has(dayOf(from)));
  const hours = hoursWithin(prepared, kind, 's.hour >= moved.begins AND s.hour < moved.ends');
  return movedIn(
    spans,
    prepared,
    `SELECT ${hourName(groupBy)} AS name, ${summedColumns()} ${hours} GROUP BY 1`,
  );
}

function recordsNearHours(prepared: PreparedUsageRequest): string {
  const spans = movedBetween(prepared.cuts.borders, prepared.cuts.hours);
  const sums = sumsOfRecords(prepared, 'r.created_at >= moved.begins AND r.created_at < moved.ends');
  return movedIn(spans, prepared, `SELECT name, ${stepSums} FROM (${sums}) AS steps GROUP BY 1`);
}

function fromRecords(prepared: PreparedUsageRequest): string {
  const { parameters, from, to, cuts } = prepared;
  const bucket = bucketOf('r.created_at', cuts.borders, parameters);
  const sums = sumsOfRecords(prepared, within('r.created_at', [{ from, to }], parameters), bucket);
  return `SELECT bucket, NULL::integer AS counted_in, name, ${stepSums} FROM (${sums}) AS steps GROUP BY 1, 3`;
}

/** Groups records by latency step, which takes half as long as checking each step. */
const sumsOfRecords = (prepared: PreparedUsageRequest, period: string, bucket = 'NULL::integer'): string =>
  `SELECT ${bucket} AS bucket, ${recordName(prepared.groupBy)} AS name, ${latencyStep('r.latency_ms')} AS step, ${recordSums}
     ${recordsWithin(prepared, period)} GROUP BY 1, 2, 3`;

function recordsWithin(prepared: PreparedUsageRequest, period: string): string {
  const { scope, groupBy, filter, parameters } = prepared;
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
  const addEquals = (column: string, value: number | string | null | undefined): void => {
    if (value !== null && value !== undefined)
      conditions.push(`${table}.${column} = ${parameters.add(value)}`);
  };
  addEquals('key_id', filter?.keyId);
  if (filter?.keyIds) conditions.push(`${table}.key_id = ANY (${parameters.add(filter.keyIds)}::bigint[])`);
  addEquals('project_id', filter?.projectId);
  addEquals('user_id', filter?.userId);
  addEquals('organisation_id', filter?.organisationId);
  addEquals('served_model', filter?.model);
  addEquals('supplier', filter?.supplier);
  addEquals('region', filter?.region);
  return conditions;
}
