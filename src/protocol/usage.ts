import {
  COUNT_CAP,
  isCount,
  type Modes,
  totalTokens,
  usageOf,
  type UsageCounts,
  type UsageReading,
  type UsageSide,
  type UseCounts,
} from '../kernel';

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `pick(body, 'meta', 'billed_units')` without assuming that anything on the way is an object. */
export function pick(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isRecord(current)) return undefined;
    current = current[name];
  }
  return current;
}

type Fields = Readonly<Record<string, unknown>>;

const nothing: Fields = Object.freeze({});
const NO_WRITES = Object.freeze({ short: 0, long: 0 });

/** Reads counts out of a supplier's usage object and collects the names of those that cannot be used. */
export class CountReader {
  /** Null until a detail had to be ignored: nearly every report is sound. */
  ignored: string[] | null = null;
  /** Stands before the names of details that are part of a list. */
  prefix = '';

  /** Returns undefined if the detail is missing or cannot be used. */
  of(value: unknown, name: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (isCount(value)) return value;
    return this.ignore(name);
  }

  /** The details in a field, if there are any. */
  detailsIn(value: unknown, name: string): Fields {
    if (isRecord(value)) return value;
    if (value !== undefined && value !== null) this.ignore(name);
    return nothing;
  }

  /** Cache writes by lifetime; a lifetime without a price of its own counts as long. */
  timedWrites(details: Fields, path: string): { readonly short: number; readonly long: number } {
    const name = 'cache_write_tokens_details';
    if (details[name] === undefined) return NO_WRITES;
    const sums = { short: 0, long: 0 };
    for (const [lifetime, value] of Object.entries(this.detailsIn(details[name], `${path}.${name}`)))
      sums[lifetime === 'ttl_30m_tokens' ? 'short' : 'long'] +=
        this.of(value, `${path}.${name}.${lifetime}`) ?? 0;
    return sums;
  }

  /** A duration in seconds, which may have a fraction, as whole milliseconds rounded up. */
  milliseconds(value: unknown, name: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && value >= 0 && value * 1000 <= COUNT_CAP) {
      // It is rounded to the microsecond first: 8.47 s times a thousand is a hair above 8470 in binary.
      return Math.ceil(Math.round(value * 1e6) / 1e3);
    }
    return this.ignore(name);
  }

  ignore(detail: string): undefined {
    const name = this.prefix + detail;
    this.ignored ??= [];
    if (this.ignored.length < MAX_IGNORED_NAMES && !this.ignored.includes(name)) this.ignored.push(name);
    return undefined;
  }
}

/** A report with more unusable details is named by the first of them. */
const MAX_IGNORED_NAMES = 16;

/**
 * Input of a report that has no output: the largest of the figures that stand for it. Images are part of the grand
 * total, but have a count of their own.
 */
export function soleInput(counts: CountReader, raw: Fields, imageTokens = 0): SoleInput {
  const prompt = counts.of(raw.prompt_tokens, 'prompt_tokens');
  const input = counts.of(raw.input_tokens, 'input_tokens');
  const total = counts.of(raw.total_tokens, 'total_tokens');
  if (prompt === undefined && input === undefined)
    return { tokens: total === undefined ? undefined : Math.max(0, total - imageTokens), doubt: undefined };
  const named = Math.max(prompt ?? 0, input ?? 0);
  if (total === undefined || total === named || total === named + imageTokens)
    return { tokens: named, doubt: undefined };
  return { tokens: Math.max(named, total - imageTokens), doubt: TOTAL_DIFFERS };
}

interface SoleInput {
  readonly tokens: number | undefined;
  readonly doubt: string | undefined;
}

/** Input that could not be read has to be estimated; input that nobody reports costs nothing. */
export const unlessRead = (tokens: number | undefined, { ignored }: CountReader): UsageSide | undefined =>
  tokens === undefined && ignored !== null ? 'input' : undefined;

const TOTAL_DIFFERS = 'total_tokens is not the sum of its parts';

/** A value that is no object holds no figures: there is no report, or none that anybody understands. */
export const unreadable = (raw: unknown): UsageReading =>
  raw === undefined || raw === null ? { kind: 'absent' } : { kind: 'invalid', field: 'usage' };

interface ReadNotes {
  readonly ignored: readonly string[] | null;
  readonly doubt: string | undefined;
  readonly missing?: UsageSide | undefined;
  readonly totalOfBoth?: number | undefined;
  readonly untimedWrites?: number;
}

/**
 * A report in which every figure is zero says nothing: a call cannot have read and written nothing. Both sides are
 * estimated then.
 */
export function reported(counts: Partial<UsageCounts>, notes: ReadNotes): UsageReading {
  const usage = usageOf(counts);
  const { ignored, doubt, totalOfBoth, untimedWrites = 0 } = notes;
  let { missing } = notes;
  if (totalTokens(usage) === 0 && usage.audioMilliseconds === 0) {
    if (ignored === null && totalOfBoth === undefined && usage.uses === null && usage.parts === null)
      return { kind: 'absent' };
    missing = 'both';
  }
  // A recording that is sold by its length needs no tokens.
  if (missing === 'both' && usage.audioMilliseconds > 0 && totalOfBoth === undefined) missing = undefined;
  if (ignored === null && doubt === undefined && missing === undefined && untimedWrites === 0)
    return { kind: 'ok', usage };
  return {
    kind: 'ok',
    usage: {
      ...usage,
      ...(ignored !== null && { ignored }),
      ...(doubt !== undefined && { doubt }),
      ...(missing !== undefined && { missing }),
      ...(totalOfBoth !== undefined && { totalOfBoth }),
      ...(untimedWrites > 0 && { untimedWrites }),
    },
  };
}

/** Suppliers report these as totals with some of their parts. */
export interface ReportedTotals {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
  /** Parts of the cache writes. */
  readonly timedWrites?: { readonly short: number; readonly long: number };
  readonly audioInput: number | undefined;
  readonly image: number | undefined;
  readonly reasoning: number | undefined;
  readonly audioOutput: number | undefined;
  readonly imageOutput?: number | undefined;
  readonly uses?: UseCounts | null;
  readonly modes?: Modes | null;
  readonly audioMilliseconds?: number | undefined;
}

/**
 * Splits totals into disjoint buckets. Most suppliers count cached tokens inside the input and reasoning
 * inside the output, some beside them, and nothing in the report says which. The grand total does: what it
 * has beyond input and output is the part that was counted beside. Without a grand total that says so, a part
 * that is larger than its whole is charged beside it. A report that contradicts itself costs what its larger
 * figures come to, and is doubted. The part of a grand total that nothing explains is thoughts: one supplier
 * reports them nowhere else. A side without a usable count is the rest of the grand total, or is estimated.
 */
export function splitTotals(totals: ReportedTotals, { ignored }: CountReader): UsageReading {
  const { total, cacheRead = 0, timedWrites = NO_WRITES, reasoning = 0 } = totals;
  const timed = timedWrites.short + timedWrites.long;
  const cacheWrite = Math.max(totals.cacheWrite ?? 0, timed);
  const cached = cacheRead + cacheWrite;
  let { input, output } = totals;
  let missing: UsageSide | undefined;
  if (input === undefined || output === undefined) {
    if (total !== undefined && input === undefined && output !== undefined && total > output)
      input = total - output;
    else if (total !== undefined && output === undefined && input !== undefined && total > input)
      output = total - input;
    else missing = missingSide(input, output);
  }
  const known = missing === undefined ? total : undefined;
  const beside = countedBeside(input ?? 0, output ?? 0, known, cached, reasoning);
  const unnamed = beside.unnamed ?? 0;
  const whole = (input ?? 0) + (beside.cached ? cached : 0);
  const written = (output ?? 0) + (beside.reasoning ? reasoning : 0);
  const { audioInput: heard = 0, image: seen = 0, audioOutput: spoken = 0, imageOutput: drawn = 0 } = totals;
  const inputTotal = Math.max(whole, heard + seen);
  const outputTotal = Math.max(written, reasoning + spoken + drawn);
  // Audio that was read from the cache is already counted there.
  const audioInput = Math.min(heard, inputTotal - cached);
  const image = Math.min(seen, inputTotal - cached - audioInput);
  const isLarger =
    (input !== undefined && inputTotal > whole) || (output !== undefined && outputTotal > written);
  return reported(
    {
      inputTokens: inputTotal - cached - audioInput - image,
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite - timedWrites.long,
      cacheWriteLongTokens: timedWrites.long,
      outputTokens: outputTotal - reasoning - spoken - drawn,
      reasoningTokens: reasoning + unnamed,
      audioInputTokens: audioInput,
      audioOutputTokens: spoken,
      imageTokens: image,
      imageOutputTokens: drawn,
      audioMilliseconds: totals.audioMilliseconds ?? 0,
      uses: totals.uses ?? null,
      modes: totals.modes ?? null,
    },
    {
      ignored,
      doubt: isLarger ? PART_LARGER : beside.doubt,
      missing,
      totalOfBoth: missing === 'both' ? total : undefined,
      untimedWrites: cacheWrite - timed,
    },
  );
}

export function missingSide(input: number | undefined, output: number | undefined): UsageSide | undefined {
  if (input !== undefined) return output === undefined ? 'output' : undefined;
  return output === undefined ? 'both' : 'input';
}

interface CountedBeside {
  readonly cached: boolean;
  readonly reasoning: boolean;
  readonly unnamed?: number;
  readonly doubt?: string;
}

const PART_LARGER = 'a part is larger than the total it belongs to';
const ALL_INSIDE: CountedBeside = Object.freeze({ cached: false, reasoning: false });

function countedBeside(
  input: number,
  output: number,
  total: number | undefined,
  cached: number,
  reasoning: number,
): CountedBeside {
  // A grand total of zero beside figures says nothing.
  const surplus = total === undefined || total === 0 ? undefined : total - input - output;
  // Nearly every report says this.
  if ((surplus ?? 0) === 0 && cached <= input && reasoning <= output) return ALL_INSIDE;
  const possible = [
    { cached: false, reasoning: false, extra: 0 },
    { cached: false, reasoning: true, extra: reasoning },
    { cached: true, reasoning: false, extra: cached },
    { cached: true, reasoning: true, extra: cached + reasoning },
  ].filter((way) => (way.cached || cached <= input) && (way.reasoning || reasoning <= output));
  const stated = possible.find((way) => way.extra === surplus);
  if (stated !== undefined) return stated;
  const [least = { cached: true, reasoning: true, extra: cached + reasoning }] = possible;
  if (surplus === undefined) return least;
  if (surplus > least.extra) {
    const unnamed = surplus - least.extra;
    const isThoughts = reasoning === 0 && least.extra === 0;
    return { ...least, unnamed, ...(!isThoughts && { doubt: TOTAL_DIFFERS }) };
  }
  // The parts are billed beside totals that they do not fit into, whatever the grand total says.
  return { ...least, doubt: surplus === 0 ? PART_LARGER : TOTAL_DIFFERS };
}
