import { COUNT_CAP, isCount, usageOf, type UsageCounts, type UsageReading } from '../kernel';

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

/** The paths of the readers below, taken apart once. */
const pathsTaken = new Map<string, readonly string[]>();

function at(value: unknown, path: string): unknown {
  if (!path.includes('.')) return isRecord(value) ? value[path] : undefined;
  let names = pathsTaken.get(path);
  if (names === undefined) pathsTaken.set(path, (names = path.split('.')));
  return pick(value, ...names);
}

/** Reads counts out of a supplier's usage object and remembers the first one that is not a count. */
export class CountReader {
  fault: string | undefined;

  constructor(private readonly raw: unknown) {}

  /** The first of these fields that is present; several names, because suppliers repeat one fact under two. */
  first(...paths: readonly string[]): number | undefined {
    for (const path of paths) {
      const value = at(this.raw, path);
      if (value === undefined || value === null) continue;
      if (isCount(value)) return value;
      this.fault ??= `${path} is not a count`;
      return undefined;
    }
    return undefined;
  }

  /** A duration in seconds, which may have a fraction, as whole milliseconds rounded up. */
  milliseconds(path: string): number | undefined {
    const value = at(this.raw, path);
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && value >= 0 && value * 1000 <= COUNT_CAP) {
      // To the microsecond first: 8.47 s times a thousand is a hair above 8470 in binary.
      return Math.ceil(Math.round(value * 1e6) / 1e3);
    }
    this.fault ??= `${path} is not a duration`;
    return undefined;
  }
}

/** Why an object without any figure in it counts as no report at all. */
export function unreadable(raw: unknown): UsageReading | undefined {
  if (raw === undefined || raw === null) return { kind: 'absent' };
  return isRecord(raw) ? undefined : { kind: 'invalid', reason: 'usage is not an object' };
}

export function invalid(reason: string): UsageReading {
  return { kind: 'invalid', reason };
}

/** A report in which every figure is zero says nothing: a call cannot have read and written nothing. */
export function okUnlessEmpty(counts: Partial<UsageCounts>): UsageReading {
  for (const name in counts) {
    if (name !== 'calls' && counts[name as keyof UsageCounts] !== 0)
      return { kind: 'ok', usage: usageOf(counts) };
  }
  return { kind: 'absent' };
}

/** What suppliers report as totals with some of their parts. */
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
}

/**
 * Splits totals into disjoint buckets.
 *
 * Most suppliers count cached tokens inside the input and reasoning inside the output, some beside them, and
 * nothing in the report says which. The grand total does: what it has beyond input and output is the part
 * that was counted beside. Without a grand total a part that is larger than its whole must be beside it.
 */
export function splitTotals(reported: ReportedTotals): UsageReading {
  const { input, output = 0 } = reported;
  if (input === undefined) return invalid('the input count is missing');
  const cached = (reported.cacheRead ?? 0) + (reported.cacheWrite ?? 0);
  const reasoning = reported.reasoning ?? 0;
  const beside = countedBeside(input, output, reported.total, cached, reasoning);
  if (beside === undefined) return invalid('a part is larger than the total it belongs to');

  const inputTotal = beside.cached ? input + cached : input;
  const outputTotal = beside.reasoning ? output + reasoning : output;
  // Audio that was read from the cache is already counted there.
  const audioInput = Math.min(reported.audioInput ?? 0, inputTotal - cached);
  const image = Math.min(reported.image ?? 0, inputTotal - cached - audioInput);
  const audioOutput = Math.min(reported.audioOutput ?? 0, outputTotal - reasoning);
  return okUnlessEmpty({
    inputTokens: inputTotal - cached - audioInput - image,
    cacheReadTokens: reported.cacheRead ?? 0,
    cacheWriteTokens: reported.cacheWrite ?? 0,
    outputTokens: outputTotal - reasoning - audioOutput,
    reasoningTokens: reasoning,
    audioInputTokens: audioInput,
    audioOutputTokens: audioOutput,
    imageTokens: image,
  });
}

function countedBeside(
  input: number,
  output: number,
  total: number | undefined,
  cached: number,
  reasoning: number,
): { cached: boolean; reasoning: boolean } | undefined {
  const surplus = total === undefined ? undefined : total - input - output;
  // What nearly every report says.
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
  // A grand total that agrees with the two totals, but not with the parts, contradicts itself.
  return surplus === 0 ? undefined : possible[0];
}
