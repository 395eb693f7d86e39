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

/** `pick(body, 'meta', 'billed_units')` without assuming that anything on the path is an object. */
export function pick(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isRecord(current)) return undefined;
    current = current[name];
  }
  return current;
}

type UsageFields = Readonly<Record<string, unknown>>;

const NO_FIELDS: UsageFields = Object.freeze({});
const NO_WRITES = Object.freeze({ short: 0, long: 0 });

export class CountReader {
  /** Null until a detail is ignored, as nearly every report is valid. */
  ignored: string[] | null = null;
  /** Prefix for the names of details that are part of a list. */
  prefix = '';

  of(value: unknown, name: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (isCount(value)) return value;
    return this.ignore(name);
  }

  detailsIn(value: unknown, name: string): UsageFields {
    if (isRecord(value)) return value;
    if (value !== undefined && value !== null) this.ignore(name);
    return NO_FIELDS;
  }

  /** Cache writes by lifetime; a lifetime without a separate price counts as long. */
  timedWrites(details: UsageFields, path: string): { readonly short: number; readonly long: number } {
    const name = 'cache_write_tokens_details';
    if (details[name] === undefined) return NO_WRITES;
    const sums = { short: 0, long: 0 };
    for (const [lifetime, value] of Object.entries(this.detailsIn(details[name], `${path}.${name}`)))
      sums[lifetime === 'ttl_30m_tokens' ? 'short' : 'long'] +=
        this.of(value, `${path}.${name}.${lifetime}`) ?? 0;
    return sums;
  }

  /** Converts seconds, possibly fractional, to whole milliseconds, rounded up. */
  milliseconds(value: unknown, name: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && value >= 0 && value * 1000 <= COUNT_CAP) {
      // Rounded to the microsecond first, since 8.47 * 1000 slightly exceeds 8470 in binary.
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

const MAX_IGNORED_NAMES = 16;

/**
 * Input of a report without output: the largest of the possible figures. Images are part of the grand total but counted
 * separately.
 */
export function soleInput(counts: CountReader, raw: UsageFields, imageTokens = 0): SoleInput {
  const prompt = counts.of(raw.prompt_tokens, 'prompt_tokens');
  const input = counts.of(raw.input_tokens, 'input_tokens');
  const total = counts.of(raw.total_tokens, 'total_tokens');
  if (prompt === undefined && input === undefined)
    return { tokens: total === undefined ? undefined : Math.max(0, total - imageTokens), doubt: undefined };
  const reportedInput = Math.max(prompt ?? 0, input ?? 0);
  if (total === undefined || total === reportedInput || total === reportedInput + imageTokens)
    return { tokens: reportedInput, doubt: undefined };
  return { tokens: Math.max(reportedInput, total - imageTokens), doubt: TOTAL_DIFFERS };
}

interface SoleInput {
  readonly tokens: number | undefined;
  readonly doubt: string | undefined;
}

/** Unreadable input has to be estimated; unreported input costs nothing. */
export const missingInput = (tokens: number | undefined, { ignored }: CountReader): UsageSide | undefined =>
  tokens === undefined && ignored !== null ? 'input' : undefined;

const TOTAL_DIFFERS = 'total_tokens is not the sum of its parts';

/** A value that is no object is no report, or an unreadable one. */
export const absentOrInvalid = (raw: unknown): UsageReading =>
  raw === undefined || raw === null ? { kind: 'absent' } : { kind: 'invalid', field: 'usage' };

interface ReportIssues {
  readonly ignored: readonly string[] | null;
  readonly doubt: string | undefined;
  readonly missing?: UsageSide | undefined;
  readonly totalOfBoth?: number | undefined;
  readonly untimedWrites?: number;
}

/**
 * A report of only zeros is treated as missing, since every call reads or writes something. Both sides are then
 * estimated.
 */
export function readingOf(counts: Partial<UsageCounts>, issues: ReportIssues): UsageReading {
  const usage = usageOf(counts);
  const { ignored, doubt, totalOfBoth, untimedWrites = 0 } = issues;
  let { missing } = issues;
  if (totalTokens(usage) === 0 && usage.audioMilliseconds === 0) {
    if (ignored === null && totalOfBoth === undefined && usage.uses === null && usage.parts === null)
      return { kind: 'absent' };
    missing = 'both';
  }
  // A recording sold by its length needs no tokens.
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

export interface ReportedTotals {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
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
 * Splits totals into disjoint buckets. The grand total shows whether cached and reasoning tokens are included; without
 * one, a part larger than its total is additional.
 * Contradictory reports are charged by their larger figures and marked as doubtful. An unexplained remainder counts as
 * reasoning; a missing side is derived or estimated.
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
  const comparableTotal = missing === undefined ? total : undefined;
  const additional = findAdditionalParts(input ?? 0, output ?? 0, comparableTotal, cached, reasoning);
  const unexplained = additional.unnamed ?? 0;
  const inputSum = (input ?? 0) + (additional.cached ? cached : 0);
  const outputSum = (output ?? 0) + (additional.reasoning ? reasoning : 0);
  const {
    audioInput: audioIn = 0,
    image: imageIn = 0,
    audioOutput: audioOut = 0,
    imageOutput: imageOut = 0,
  } = totals;
  const inputTotal = Math.max(inputSum, audioIn + imageIn);
  const outputTotal = Math.max(outputSum, reasoning + audioOut + imageOut);
  // Audio read from the cache is already counted there.
  const audioInput = Math.min(audioIn, inputTotal - cached);
  const image = Math.min(imageIn, inputTotal - cached - audioInput);
  const isLarger =
    (input !== undefined && inputTotal > inputSum) || (output !== undefined && outputTotal > outputSum);
  return readingOf(
    {
      inputTokens: inputTotal - cached - audioInput - image,
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite - timedWrites.long,
      cacheWriteLongTokens: timedWrites.long,
      outputTokens: outputTotal - reasoning - audioOut - imageOut,
      reasoningTokens: reasoning + unexplained,
      audioInputTokens: audioInput,
      audioOutputTokens: audioOut,
      imageTokens: image,
      imageOutputTokens: imageOut,
      audioMilliseconds: totals.audioMilliseconds ?? 0,
      uses: totals.uses ?? null,
      modes: totals.modes ?? null,
    },
    {
      ignored,
      doubt: isLarger ? PART_LARGER : additional.doubt,
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

interface AdditionalParts {
  readonly cached: boolean;
  readonly reasoning: boolean;
  readonly unnamed?: number;
  readonly doubt?: string;
}

const PART_LARGER = 'a part is larger than the total it belongs to';
const ALL_INSIDE: AdditionalParts = Object.freeze({ cached: false, reasoning: false });

function findAdditionalParts(
  input: number,
  output: number,
  total: number | undefined,
  cached: number,
  reasoning: number,
): AdditionalParts {
  // A grand total of zero next to other figures is meaningless.
  const surplus = total === undefined || total === 0 ? undefined : total - input - output;
  // Fast path for nearly every report.
  if ((surplus ?? 0) === 0 && cached <= input && reasoning <= output) return ALL_INSIDE;
  const variants = [
    { cached: false, reasoning: false, extra: 0 },
    { cached: false, reasoning: true, extra: reasoning },
    { cached: true, reasoning: false, extra: cached },
    { cached: true, reasoning: true, extra: cached + reasoning },
  ].filter((variant) => (variant.cached || cached <= input) && (variant.reasoning || reasoning <= output));
  const exact = variants.find((variant) => variant.extra === surplus);
  if (exact !== undefined) return exact;
  const [smallest = { cached: true, reasoning: true, extra: cached + reasoning }] = variants;
  if (surplus === undefined) return smallest;
  if (surplus > smallest.extra) {
    const unnamed = surplus - smallest.extra;
    const isThoughts = reasoning === 0 && smallest.extra === 0;
    return { ...smallest, unnamed, ...(!isThoughts && { doubt: TOTAL_DIFFERS }) };
  }
  // The parts are charged in addition to totals that are too small for them, whatever the grand total.
  return { ...smallest, doubt: surplus === 0 ? PART_LARGER : TOTAL_DIFFERS };
}
