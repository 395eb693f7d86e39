import {
  completionTokens,
  isCount,
  readModes,
  totalTokens,
  USAGE_BUCKETS,
  type UsageBucket,
  type UsageCounts,
  usageOf,
  type UsagePart,
  type UsageReading,
} from '../../kernel';
import { usesIn } from '../fees';
import { CountReader, isRecord, missingSide, pick, readingOf, absentOrInvalid } from '../usage';

/** Marks usage from the start of a stream. Merging with a later report removes the mark. */
const FROM_START = Symbol('begun');

export function findMessagesUsage(event: unknown): unknown {
  const startUsage = pick(event, 'message', 'usage');
  return isRecord(startUsage) ? { ...startUsage, [FROM_START]: true } : (startUsage ?? pick(event, 'usage'));
}

/** Names of fields whose later report was invalid, so that earlier figures apply. */
const INVALID = Symbol('spoiled');

/**
 * Merges the two reports of a stream before normalising, since the cache write total and its parts can be in different
 * events. The latest figure of each field applies; zeros, missing and invalid values do not overwrite earlier ones.
 */
export function mergeMessagesUsage(earlier: unknown, later: unknown): unknown {
  if (!isRecord(later)) return isRecord(earlier) ? withInvalidUsage(earlier, later) : (later ?? earlier);
  if (!isRecord(earlier)) return later;
  const merged = new Map(Object.entries(earlier));
  const invalid = [...invalidIn(earlier)];
  for (const [name, value] of Object.entries(later)) {
    const previous = earlier[name];
    if (isCount(previous) && value !== null && !isCount(value)) invalid.push(name);
    else if (isRecord(value)) {
      const mergedPart = mergeMessagesUsage(previous, value);
      merged.set(name, mergedPart);
      invalid.push(...invalidIn(mergedPart).map((part) => `${name}.${part}`));
    } else if ((value !== null && value !== 0) || !merged.has(name)) merged.set(name, value);
  }
  const result = Object.fromEntries(merged);
  return invalid.length === 0 ? result : { ...result, [INVALID]: invalid };
}

interface UsageWithInvalid {
  readonly [INVALID]?: readonly string[];
}
const NO_NAMES: readonly string[] = [];

const namesIn = ({ [INVALID]: names = NO_NAMES }: UsageWithInvalid): readonly string[] => names;
const invalidIn = (usage: unknown): readonly string[] => (isRecord(usage) ? namesIn(usage) : NO_NAMES);

const withInvalidUsage = (earlier: object, later: unknown) =>
  later === undefined || later === null
    ? earlier
    : { ...earlier, [INVALID]: [...invalidIn(earlier), 'usage'] };

/** In this dialect, input excludes cache reads and writes, so nothing is subtracted. */
export function normaliseMessagesUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  for (const name of invalidIn(raw)) counts.ignore(name);
  const { input, output, untimedWrites, ...buckets } = bucketsIn(counts, raw);
  const iterations = iterationsIn(counts, raw);
  const uses = usesIn(counts, raw);
  const visible = (output ?? 0) - buckets.reasoningTokens;
  const top = { ...buckets, inputTokens: input ?? 0, outputTokens: Math.max(0, visible) };
  const { counts: larger, doubt } = pickLarger(top, iterations.answers);
  const reading = readingOf(
    { ...larger, uses, modes: readModes(raw), parts: iterations.beside },
    {
      ignored: counts.ignored,
      doubt: doubt ?? iterations.doubt ?? (output !== undefined && visible < 0 ? MORE_THOUGHTS : undefined),
      missing: larger === top ? missingSide(input, output) : undefined,
      untimedWrites,
    },
  );
  // Before any output, the output count is meaningless.
  if (reading.kind !== 'ok' || Reflect.get(raw, FROM_START) !== true) return reading;
  return { kind: 'ok', usage: { ...reading.usage, source: 'partial' } };
}

const MORE_THOUGHTS = 'output_tokens_details.thinking_tokens is larger than output_tokens';

function bucketsIn(counts: CountReader, raw: Readonly<Record<string, unknown>>) {
  const writing = counts.detailsIn(raw.cache_creation, 'cache_creation');
  const details = counts.detailsIn(raw.output_tokens_details, 'output_tokens_details');
  const short = counts.of(writing.ephemeral_5m_input_tokens, 'cache_creation.ephemeral_5m_input_tokens') ?? 0;
  const long =
    (counts.of(writing.ephemeral_1h_input_tokens, 'cache_creation.ephemeral_1h_input_tokens') ?? 0) +
    unknownLifetimeWrites(counts, writing);
  const written = counts.of(raw.cache_creation_input_tokens, 'cache_creation_input_tokens') ?? 0;
  return {
    input: counts.of(raw.input_tokens, 'input_tokens'),
    output: counts.of(raw.output_tokens, 'output_tokens'),
    cacheReadTokens: counts.of(raw.cache_read_input_tokens, 'cache_read_input_tokens') ?? 0,
    // The total and its parts describe the same tokens; tokens in no part have the shorter lifetime.
    cacheWriteTokens: Math.max(short, written - long),
    cacheWriteLongTokens: long,
    untimedWrites: Math.max(0, written - short - long),
    reasoningTokens: counts.of(details.thinking_tokens, 'output_tokens_details.thinking_tokens') ?? 0,
  };
}

const KNOWN_LIFETIMES: ReadonlySet<string> = new Set([
  'ephemeral_5m_input_tokens',
  'ephemeral_1h_input_tokens',
]);
const LIFETIME = /^ephemeral_.{1,20}_input_tokens$/;

/** Tokens written for lifetimes without a separate price, charged like the longest known one. */
function unknownLifetimeWrites(counts: CountReader, writing: Readonly<Record<string, unknown>>): number {
  let sum = 0;
  for (const name in writing)
    if (!KNOWN_LIFETIMES.has(name) && LIFETIME.test(name))
      sum += counts.of(writing[name], 'cache_creation') ?? 0;
  return sum;
}

/** More than any request needs; the tail of a longer list is ignored. */
const MAX_ITERATIONS = 1_000;

/**
 * Compactions and advice appear only in the list of iterations and are billed in addition. The response's own tokens
 * are also in the totals.
 */
function iterationsIn(counts: CountReader, { iterations }: Readonly<Record<string, unknown>>) {
  const additional: UsagePart[] = [];
  const responses: Partial<UsageCounts>[] = [];
  if (!Array.isArray(iterations)) return { beside: null, answers: responses, doubt: undefined };
  counts.prefix = 'iterations.';
  for (const iteration of iterations.slice(0, MAX_ITERATIONS) as unknown[]) {
    if (!isRecord(iteration)) continue;
    const {
      input = 0,
      output = 0,
      reasoningTokens,
      untimedWrites: _,
      ...cached
    } = bucketsIn(counts, iteration);
    const tokens = {
      ...cached,
      inputTokens: input,
      outputTokens: Math.max(0, output - reasoningTokens),
      reasoningTokens,
    };
    const kind = typeof iteration.type === 'string' ? iteration.type.slice(0, MAX_NAME_LENGTH) : 'unknown';
    if (RESPONSE_KINDS.has(kind)) responses.push(tokens);
    else additional.push({ kind, model: modelIn(iteration), ...withoutZeros(tokens) });
  }
  counts.prefix = '';
  const doubt = iterations.length > MAX_ITERATIONS ? 'iterations are too many' : undefined;
  return { beside: additional.length === 0 ? null : additional, answers: responses, doubt };
}

const RESPONSE_KINDS: ReadonlySet<string> = new Set(['message', 'fallback_message']);
const MAX_NAME_LENGTH = 64;
const modelIn = ({ model }: Readonly<Record<string, unknown>>): string | null =>
  typeof model === 'string' ? model.slice(0, MAX_NAME_LENGTH) : null;

const withoutZeros = <Counts extends object>(counts: Counts): Partial<Counts> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<Counts>;

/** Both should be equal; otherwise the one with more tokens is charged. */
function pickLarger(
  top: Partial<UsageCounts>,
  responses: readonly Partial<UsageCounts>[],
): { readonly counts: Partial<UsageCounts>; readonly doubt?: string } {
  if (responses.length === 0) return { counts: top };
  const sum: Partial<Record<UsageBucket, number>> = {};
  for (const response of responses)
    for (const bucket of USAGE_BUCKETS) sum[bucket] = (sum[bucket] ?? 0) + (response[bucket] ?? 0);
  const surplus = totalTokens(usageOf(sum)) - totalTokens(usageOf(top));
  if (surplus === 0) return { counts: top };
  return { counts: surplus > 0 ? sum : top, doubt: 'the iterations do not add up to the whole' };
}

/** Writes usage as messages callers expect it: input without the cache, output including reasoning. */
export function renderMessagesUsage(usage: UsageCounts) {
  return {
    input_tokens: usage.inputTokens + usage.audioInputTokens + usage.imageTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens + usage.cacheWriteLongTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWriteTokens,
      ephemeral_1h_input_tokens: usage.cacheWriteLongTokens,
    },
    output_tokens: completionTokens(usage),
  };
}
