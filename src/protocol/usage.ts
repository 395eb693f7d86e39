import {
  COUNT_CAP,
  isCount,
  type Modes,
  totalTokens,
  usageOf,
  type UsageCounts,
  type UsageReading,
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

/** The details that stand in a field, if there are any. */
export const detailsIn = (value: unknown): Fields => (isRecord(value) ? value : nothing);

/** Reads counts out of a supplier's usage object and remembers the first one that is not a count. */
export class CountReader {
  fault: string | undefined;

  /** It is undefined where nothing is said. */
  of(value: unknown, name: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (isCount(value)) return value;
    this.fault ??= `${name} is not a count`;
    return undefined;
  }

  /** A duration in seconds, which may have a fraction, as whole milliseconds rounded up. */
  milliseconds(value: unknown, name: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && value >= 0 && value * 1000 <= COUNT_CAP) {
      // It is rounded to the microsecond first: 8.47 s times a thousand is a hair above 8470 in binary.
      return Math.ceil(Math.round(value * 1e6) / 1e3);
    }
    this.fault ??= `${name} is not a duration`;
    return undefined;
  }
}

/** The input has one of these names where nothing comes out. */
export const inputOf = (counts: CountReader, raw: Fields): number | undefined =>
  counts.of(raw.prompt_tokens, 'prompt_tokens') ??
  counts.of(raw.input_tokens, 'input_tokens') ??
  counts.of(raw.total_tokens, 'total_tokens');

/** A value that is no object holds no figures: there is no report, or none that anybody understands. */
export const unreadable = (raw: unknown): UsageReading =>
  raw === undefined || raw === null ? { kind: 'absent' } : invalid('usage is not an object');

export function invalid(reason: string): UsageReading {
  return { kind: 'invalid', reason };
}

/** A report in which every figure is zero says nothing: a call cannot have read and written nothing. */
export function okUnlessEmpty(counts: Partial<UsageCounts>): UsageReading {
  const usage = usageOf(counts);
  const isEmpty = totalTokens(usage) === 0 && usage.audioMilliseconds === 0;
  return isEmpty ? { kind: 'absent' } : { kind: 'ok', usage };
}

/** Suppliers report these as totals with some of their parts. */
export interface ReportedTotals {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
  readonly audioInput: number | undefined;
  readonly image: number | undefined;
  readonly reasoning: number | undefined;
  readonly audioOutput: number | undefined;
  readonly imageOutput?: number | undefined;
  readonly uses?: UseCounts | null;
  readonly modes?: Modes | null;
}

/**
 * Splits totals into disjoint buckets. Most suppliers count cached tokens inside the input and reasoning
 * inside the output, some beside them, and nothing in the report says which. The grand total does: what it
 * has beyond input and output is the part that was counted beside. Without a grand total that says so, a part
 * that is larger than its whole is charged beside it. A report that contradicts itself costs what its larger
 * figures come to, and is doubted. The part of a grand total that nothing explains is thoughts: one supplier
 * reports them nowhere else.
 */
export function splitTotals(reported: ReportedTotals): UsageReading {
  const { input, output = 0 } = reported;
  if (input === undefined) return invalid('the input count is missing');
  const cached = (reported.cacheRead ?? 0) + (reported.cacheWrite ?? 0);
  const reasoning = reported.reasoning ?? 0;
  const beside = countedBeside(input, output, reported.total, cached, reasoning);
  const inputTotal = beside.cached ? input + cached : input;
  const outputTotal = beside.reasoning ? output + reasoning : output;
  const unnamed = beside.unnamed ?? 0;
  // Audio that was read from the cache is already counted there.
  const audioInput = Math.min(reported.audioInput ?? 0, inputTotal - cached);
  const image = Math.min(reported.image ?? 0, inputTotal - cached - audioInput);
  const audioOutput = Math.min(reported.audioOutput ?? 0, outputTotal - reasoning);
  const imageOutput = Math.min(reported.imageOutput ?? 0, outputTotal - reasoning - audioOutput);
  const reading = okUnlessEmpty({
    inputTokens: inputTotal - cached - audioInput - image,
    cacheReadTokens: reported.cacheRead ?? 0,
    cacheWriteTokens: reported.cacheWrite ?? 0,
    outputTokens: outputTotal - reasoning - audioOutput - imageOutput,
    reasoningTokens: reasoning + unnamed,
    audioInputTokens: audioInput,
    audioOutputTokens: audioOutput,
    imageTokens: image,
    imageOutputTokens: imageOutput,
    uses: reported.uses ?? null,
    modes: reported.modes ?? null,
  });
  if (beside.isContradiction !== true || reading.kind !== 'ok') return reading;
  const doubt = 'a part is larger than the total it belongs to';
  return { kind: 'ok', usage: { ...reading.usage, doubt } };
}

function countedBeside(
  input: number,
  output: number,
  total: number | undefined,
  cached: number,
  reasoning: number,
): { cached: boolean; reasoning: boolean; unnamed?: number; isContradiction?: true } {
  const surplus = total === undefined ? undefined : total - input - output;
  // Nearly every report says this.
  if ((surplus ?? 0) === 0 && cached <= input && reasoning <= output)
    return { cached: false, reasoning: false };
  const possible = [
    { cached: false, reasoning: false, extra: 0 },
    { cached: false, reasoning: true, extra: reasoning },
    { cached: true, reasoning: false, extra: cached },
    { cached: true, reasoning: true, extra: cached + reasoning },
  ].filter((way) => (way.cached || cached <= input) && (way.reasoning || reasoning <= output));
  const stated = possible.find((way) => way.extra === surplus);
  if (stated !== undefined) return stated;
  if (surplus !== undefined && surplus > 0 && reasoning === 0 && cached <= input) {
    return { cached: false, reasoning: false, unnamed: surplus };
  }
  const [least = { cached: true, reasoning: true }] = possible;
  // A grand total that agrees with the two totals, but not with the parts: the parts are billed beside them.
  return surplus === 0 ? { ...least, isContradiction: true } : least;
}
