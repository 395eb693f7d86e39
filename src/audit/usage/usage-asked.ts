import {
  canonicalZone,
  DAY_MS,
  dayOrInstant,
  isDay,
  Misfit,
  type Period,
  periodNamed,
  refused,
  startOfDay,
} from '../../kernel';
import {
  endsBeforeItBegins,
  type UsageBucket,
  usageBuckets,
  type UsageFilter,
  usageGroupings,
  type UsageQuestion,
} from './usage-question';

/** The query parameters of usage. A form sends empty texts for absent ones. */
export interface UsageAsked {
  readonly from?: string | null;
  readonly to?: string | null;
  /** So many days up to and including `to`, where `from` is absent. */
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

const USUAL_DAYS = 30;
/** Longer periods are shown by day instead of by hour, and then by month. */
const LONG_FOR_HOURS = 3 * DAY_MS;
const LONG_FOR_DAYS = 190 * DAY_MS;

export function usageQuestionOf(asked: UsageAsked, now: number, usualZone = 'UTC'): UsageQuestion {
  const zone = zoneOf(asked.zone, usualZone);
  const { from, to } = periodOf(asked, zone, now);
  return {
    from,
    to,
    zone,
    bucket: choice(asked.bucket, 'bucket', usageBuckets) ?? usualBucket(to.getTime() - from.getTime()),
    groupBy: choice(asked.group_by, 'group_by', usageGroupings),
    filter: filterOf(asked),
  };
}

export function zoneOf(asked: string | null | undefined, usual: string): string {
  if (!asked) return usual;
  const zone = canonicalZone(asked);
  if (zone === null) throw refused('zone', 'the name of a time zone, like Europe/Zurich');
  return zone;
}

/**
 * A date alone is a day of the zone: `from` is its beginning, and `to` includes it. An instant in `to` is exclusive.
 */
export function periodOf(
  { from, to, days }: Pick<UsageAsked, 'from' | 'to' | 'days'>,
  zone: string,
  now: number,
): Period {
  const end = to ? edge(to, 'to', zone, 1) : new Date(now);
  const begin = from
    ? edge(from, 'from', zone, 0)
    : periodNamed({ days: days ?? USUAL_DAYS }, zone, end.getTime()).from;
  if (begin >= end) throw endsBeforeItBegins();
  return { from: begin, to: end };
}

function edge(text: string, param: string, zone: string, days: number): Date {
  const read = dayOrInstant.read(text);
  if (read instanceof Misfit) throw refused(param, read.msg.replace('must be ', ''));
  return isDay(read) ? startOfDay(read, zone, days) : new Date(read);
}

function usualBucket(lengthMs: number): UsageBucket {
  if (lengthMs <= LONG_FOR_HOURS) return 'hour';
  return lengthMs <= LONG_FOR_DAYS ? 'day' : 'month';
}

function choice<Choice extends string>(
  text: string | null | undefined,
  param: string,
  choices: readonly Choice[],
): Choice | null {
  if (!text) return null;
  const found = choices.find((known) => known === text);
  if (found === undefined) throw refused(param, `one of ${choices.join(', ')}`);
  return found;
}

const filterOf = (asked: UsageAsked): UsageFilter => ({
  model: textOf(asked.model, 'model'),
  keyId: asked.key ?? null,
  projectId: asked.project ?? null,
  userId: asked.user ?? null,
  organisationId: asked.organisation ?? null,
  supplier: textOf(asked.supplier, 'supplier'),
  region: textOf(asked.region, 'region'),
  endUser: textOf(asked.end_user, 'end_user'),
  tag: textOf(asked.tag, 'tag'),
});

const LONGEST_TEXT = 256;

function textOf(text: string | null | undefined, param: string): string | null {
  if (!text) return null;
  if (text.length > LONGEST_TEXT || /\0/.test(text))
    throw refused(param, `a text of at most ${LONGEST_TEXT} characters`);
  return text;
}
