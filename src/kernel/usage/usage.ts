import type { Modes, UseCounts } from './fees';

/**
 * Each token is counted in exactly one bucket, so the price of a request is the sum over buckets. Reasoning is not part
 * of `outputTokens`; cached and audio tokens are not part of `inputTokens`.
 */
export const USAGE_BUCKETS = [
  'inputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWriteLongTokens',
  'outputTokens',
  'reasoningTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'imageTokens',
  'imageOutputTokens',
] as const;
export type UsageBucket = (typeof USAGE_BUCKETS)[number];

/** Buckets that make up the input; price tiers apply to their sum. */
export const INPUT_BUCKETS = [
  'inputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWriteLongTokens',
  'audioInputTokens',
  'imageTokens',
] as const satisfies readonly UsageBucket[];
export const OUTPUT_BUCKETS = [
  'outputTokens',
  'reasoningTokens',
  'audioOutputTokens',
  'imageOutputTokens',
] as const satisfies readonly UsageBucket[];

/**
 * `supplier`: as the supplier reported it. `estimated`: counted here, as nothing usable was reported.
 * `partial`: an interrupted stream, partly reported and partly counted from what was delivered.
 */
export type UsageSource = 'supplier' | 'estimated' | 'partial';

/** Work of one request that the other counts exclude, with a price step of its own. */
export interface UsagePart extends Readonly<Partial<Record<UsageBucket, number>>> {
  /** The supplier's name for the work, such as `compaction` or `advisor_message`. */
  readonly kind: string;
  /** Supplier's name of the model; null for the requested model. */
  readonly model: string | null;
}

/** Quantities are non-negative integers. */
export interface UsageCounts {
  /** Uncached input. For speech the unit is characters, as suppliers price it. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  /** Written to a cache with a lifetime of five minutes or the supplier's default. */
  readonly cacheWriteTokens: number;
  /** Written to a cache with a lifetime of one hour. */
  readonly cacheWriteLongTokens: number;
  /** Visible output, without reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
  /** Image input, if the supplier counts it separately from text. */
  readonly imageTokens: number;
  readonly imageOutputTokens: number;
  /** Billable calls: 1, or the number of search units of a rerank. */
  readonly calls: number;
  readonly audioMilliseconds: number;
  /** Uses of the supplier's own tools; null if there are none. */
  readonly uses: UseCounts | null;
  /** Modes that change the price of every token; null at the usual price. */
  readonly modes: Modes | null;
  /** Images by quality and size, like `hd/1024x1792`; null if there are none. */
  readonly images: Readonly<Record<string, number>> | null;
  /** Each part is priced separately; null if there are none. */
  readonly parts: readonly UsagePart[] | null;
}

/** A side of a report whose count is missing or unusable. */
export type UsageSide = 'input' | 'output' | 'both';

export interface Usage extends UsageCounts {
  readonly source: UsageSource;
  /** Reason why the report looks wrong; its larger figures are charged, up to the hold. */
  readonly doubt?: string;
  /** Names of the details of the report that could not be used. */
  readonly ignored?: readonly string[];
  /** Reported quantities beyond the request or its hold, which are recorded and not charged. */
  readonly excess?: Readonly<Record<string, number>>;
  /** Side that the report does not count and that has to be estimated; its parts are counted already. */
  readonly missing?: UsageSide;
  /** Cache writes for which the report names no lifetime. */
  readonly untimedWrites?: number;
  /** Grand total of the report, if both sides are missing. */
  readonly totalOfBoth?: number;
}

export const NO_USAGE: UsageCounts = Object.freeze({
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
  imageTokens: 0,
  imageOutputTokens: 0,
  calls: 0,
  audioMilliseconds: 0,
  uses: null,
  modes: null,
  images: null,
  parts: null,
});

/** A normaliser's result for a supplier's report. Anything but `ok` must never be priced as zero. */
export type UsageReading =
  | { readonly kind: 'ok'; readonly usage: Usage }
  | { readonly kind: 'absent' }
  /** No figure is usable; `field` names the cause. */
  | { readonly kind: 'invalid'; readonly field: string };

/** Maximum of a report in one bucket; it also keeps every bucket inside a four-byte column. */
export const COUNT_CAP = 1_000_000_000;

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= COUNT_CAP;
}

export function usageOf(counts: Partial<UsageCounts>, source: UsageSource = 'supplier'): Usage {
  // Written out, like the sums below: dynamic property names take the engine ten times as long.
  return {
    inputTokens: counts.inputTokens ?? 0,
    cacheReadTokens: counts.cacheReadTokens ?? 0,
    cacheWriteTokens: counts.cacheWriteTokens ?? 0,
    cacheWriteLongTokens: counts.cacheWriteLongTokens ?? 0,
    outputTokens: counts.outputTokens ?? 0,
    reasoningTokens: counts.reasoningTokens ?? 0,
    audioInputTokens: counts.audioInputTokens ?? 0,
    audioOutputTokens: counts.audioOutputTokens ?? 0,
    imageTokens: counts.imageTokens ?? 0,
    imageOutputTokens: counts.imageOutputTokens ?? 0,
    calls: counts.calls ?? 1,
    audioMilliseconds: counts.audioMilliseconds ?? 0,
    uses: counts.uses ?? null,
    modes: counts.modes ?? null,
    images: counts.images ?? null,
    parts: counts.parts ?? null,
    source,
  };
}

/** All input tokens, which chat reports as `prompt_tokens`. */
export function promptTokens(usage: UsageCounts): number {
  return (
    usage.inputTokens +
    usage.cacheReadTokens +
    usage.cacheWriteTokens +
    usage.cacheWriteLongTokens +
    usage.audioInputTokens +
    usage.imageTokens
  );
}

/** All output tokens, reasoning included, which chat reports as `completion_tokens`. */
export function completionTokens(usage: UsageCounts): number {
  return usage.outputTokens + usage.reasoningTokens + usage.audioOutputTokens + usage.imageOutputTokens;
}

export function totalTokens(usage: UsageCounts): number {
  return promptTokens(usage) + completionTokens(usage);
}

/**
 * Merges two reports of one request: the later one wins, except for a side that it leaves at zero. Sides are never
 * mixed, which could count a token twice.
 */
export function mergeLatest(earlier: Usage, later: Usage): Usage {
  const input = promptTokens(later) > 0 ? later : earlier;
  const output = completionTokens(later) > 0 ? later : earlier;
  const merged = {
    ...NO_USAGE,
    uses: later.uses ?? earlier.uses,
    modes: later.modes ?? earlier.modes,
    images: later.images ?? earlier.images,
    parts: later.parts ?? earlier.parts,
  };
  for (const bucket of INPUT_BUCKETS) merged[bucket] = input[bucket];
  for (const bucket of OUTPUT_BUCKETS) merged[bucket] = output[bucket];
  merged.calls = Math.max(earlier.calls, later.calls);
  merged.audioMilliseconds = later.audioMilliseconds || earlier.audioMilliseconds;
  const source = input.source === output.source ? input.source : 'partial';
  const doubt = later.doubt ?? earlier.doubt;
  return Object.freeze(doubt === undefined ? { ...merged, source } : { ...merged, source, doubt });
}

export interface UsageLimits {
  /** The model's context window; null if unknown. */
  readonly contextTokens: number | null;
  /** All tokens covered by the hold, read or written. */
  readonly heldTokens: number;
}

/** A bound can be lowered by the operator or be too low by mistake; ten times as much is no longer usage. */
const ABSURD_FACTOR = 10;
const UNKNOWN_CONTEXT = 2_000_000;

/** Any call can have used the model's full context. More is plausible only in proportion to the hold. */
export function isPlausible(usage: UsageCounts, { contextTokens, heldTokens }: UsageLimits): boolean {
  return totalTokens(usage) <= Math.max(contextTokens ?? UNKNOWN_CONTEXT, ABSURD_FACTOR * heldTokens);
}
