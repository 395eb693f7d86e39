import {
  canonicalZone,
  DAY_MS,
  dayOrInstant,
  isDay,
  FieldError,
  type Period,
  resolvePeriod,
  invalidField,
  startOfDay,
} from '../../kernel';
import {
  periodOrderFault,
  type UsageBucket,
  usageBuckets,
  type UsageFilter,
  usageGroupings,
  type UsageRequest,
} from './usage-request';

export interface UsageParameterValues {
  readonly from?: string | null;
  readonly to?: string | null;
  /** Number of days up to and including `to`, if `from` is absent. */
  readonly days?: number | null;
  readonly bucket?: string | null;
  readonly group_by?: string | null;
  readonly zone?: string | null;
  readonly model?: string | null;
  readonly key?: number | null;
  readonly project?: number | null;
  readonly user?: number | null;
  readonly organisation?: number | null;
  readonly supplier?: string | null;
  readonly region?: string | null;
  readonly end_user?: string | null;
  readonly tag?: string | null;
}

const DEFAULT_DAYS = 30;
/** Longer periods are shown by day instead of by hour, and then by month. */
const MAX_HOURLY_PERIOD_MS = 3 * DAY_MS;
const MAX_DAILY_PERIOD_MS = 190 * DAY_MS;

export function toUsageRequest(
  parameters: UsageParameterValues,
  now: number,
  defaultZone = 'UTC',
): UsageRequest {
  const zone = zoneOf(parameters.zone, defaultZone);
  const { from, to } = periodOf(parameters, zone, now);
  return {
    from,
    to,
    zone,
    bucket: choice(parameters.bucket, 'bucket', usageBuckets) ?? defaultBucket(to.getTime() - from.getTime()),
    groupBy: choice(parameters.group_by, 'group_by', usageGroupings),
    filter: filterOf(parameters),
  };
}

export function zoneOf(zoneName: string | null | undefined, defaultZone: string): string {
  if (!zoneName) return defaultZone;
  const zone = canonicalZone(zoneName);
  if (zone === null) throw invalidField('zone', 'the name of a time zone, like Europe/Zurich');
  return zone;
}

/** A date is a day of the zone: `from` is its start, and `to` includes it. An instant in `to` is exclusive. */
export function periodOf(
  { from, to, days }: Pick<UsageParameterValues, 'from' | 'to' | 'days'>,
  zone: string,
  now: number,
): Period {
  const end = to ? parseEdge(to, 'to', zone, 1) : new Date(now);
  const start = from
    ? parseEdge(from, 'from', zone, 0)
    : resolvePeriod({ days: days ?? DEFAULT_DAYS }, zone, end.getTime()).from;
  if (start >= end) throw periodOrderFault();
  return { from: start, to: end };
}

function parseEdge(text: string, param: string, zone: string, days: number): Date {
  const value = dayOrInstant.read(text);
  if (value instanceof FieldError) throw invalidField(param, value.msg.replace('must be ', ''));
  return isDay(value) ? startOfDay(value, zone, days) : new Date(value);
}

function defaultBucket(lengthMs: number): UsageBucket {
  if (lengthMs <= MAX_HOURLY_PERIOD_MS) return 'hour';
  return lengthMs <= MAX_DAILY_PERIOD_MS ? 'day' : 'month';
}

function choice<Choice extends string>(
  text: string | null | undefined,
  param: string,
  choices: readonly Choice[],
): Choice | null {
  if (!text) return null;
  const match = choices.find((known) => known === text);
  if (match === undefined) throw invalidField(param, `one of ${choices.join(', ')}`);
  return match;
}

const filterOf = (parameters: UsageParameterValues): UsageFilter => ({
  model: textOf(parameters.model, 'model'),
  keyId: parameters.key ?? null,
  projectId: parameters.project ?? null,
  userId: parameters.user ?? null,
  organisationId: parameters.organisation ?? null,
  supplier: textOf(parameters.supplier, 'supplier'),
  region: textOf(parameters.region, 'region'),
  endUser: textOf(parameters.end_user, 'end_user'),
  tag: textOf(parameters.tag, 'tag'),
});

const MAX_TEXT_LENGTH = 256;

function textOf(text: string | null | undefined, param: string): string | null {
  if (!text) return null;
  if (text.length > MAX_TEXT_LENGTH || /\0/.test(text))
    throw invalidField(param, `a text of at most ${MAX_TEXT_LENGTH} characters`);
  return text;
}
