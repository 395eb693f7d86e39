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
import { CountReader, isRecord, missingSide, pick, reported, unreadable } from '../usage';

/** Marks what only the beginning of a stream said. Joining it with a later report leaves the mark behind. */
const BEGUN = Symbol('begun');

/** The usage object of an answer, of `message_start` or of `message_delta`. */
export function findMessagesUsage(event: unknown): unknown {
  const begun = pick(event, 'message', 'usage');
  return isRecord(begun) ? { ...begun, [BEGUN]: true } : (begun ?? pick(event, 'usage'));
}

/** Names of details that a later report spoiled, whose earlier figures stand. */
const SPOILED = Symbol('spoiled');

/**
 * A stream reports twice: `message_start` what went in, `message_delta` what came out and, with some
 * suppliers, what went in once more. Each field's latest figure stands; a zero, a missing field or a value that is no
 * count does not take back what was said. Joined before normalising, because the cache write total and its two parts
 * may arrive in different events.
 */
export function mergeMessagesUsage(earlier: unknown, later: unknown): unknown {
  if (!isRecord(later)) return isRecord(earlier) ? spoiledBy(earlier, later) : (later ?? earlier);
  if (!isRecord(earlier)) return later;
  const merged = new Map(Object.entries(earlier));
  const spoiled = [...spoiledIn(earlier)];
  for (const [name, value] of Object.entries(later)) {
    const before = earlier[name];
    if (isCount(before) && value !== null && !isCount(value)) spoiled.push(name);
    else if (isRecord(value)) {
      const joined = mergeMessagesUsage(before, value);
      merged.set(name, joined);
      spoiled.push(...spoiledIn(joined).map((part) => `${name}.${part}`));
    } else if ((value !== null && value !== 0) || !merged.has(name)) merged.set(name, value);
  }
  const joined = Object.fromEntries(merged);
  return spoiled.length === 0 ? joined : { ...joined, [SPOILED]: spoiled };
}

interface SpoiledUsage {
  readonly [SPOILED]?: readonly string[];
}
const NO_NAMES: readonly string[] = [];

const namesIn = ({ [SPOILED]: names = NO_NAMES }: SpoiledUsage): readonly string[] => names;
const spoiledIn = (usage: unknown): readonly string[] => (isRecord(usage) ? namesIn(usage) : NO_NAMES);

const spoiledBy = (earlier: object, later: unknown) =>
  later === undefined || later === null
    ? earlier
    : { ...earlier, [SPOILED]: [...spoiledIn(earlier), 'usage'] };

/** Here input excludes what was read from or written to the cache, so nothing is subtracted. */
export function normaliseMessagesUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  for (const name of spoiledIn(raw)) counts.ignore(name);
  const { input, output, ...told } = bucketsIn(counts, raw);
  const iterations = iterationsIn(counts, raw);
  const uses = usesIn(counts, raw);
  const visible = (output ?? 0) - told.reasoningTokens;
  const top = { ...told, inputTokens: input ?? 0, outputTokens: Math.max(0, visible) };
  const { counts: larger, doubt } = largerOf(top, iterations.answers);
  const reading = reported(
    { ...larger, uses, modes: readModes(raw), parts: iterations.beside },
    {
      ignored: counts.ignored,
      doubt: doubt ?? iterations.doubt ?? (output !== undefined && visible < 0 ? MORE_THOUGHTS : undefined),
      missing: larger === top ? missingSide(input, output) : undefined,
    },
  );
  // Before anything is written, its count means nothing.
  if (reading.kind !== 'ok' || Reflect.get(raw, BEGUN) !== true) return reading;
  return { kind: 'ok', usage: { ...reading.usage, source: 'partial' } };
}

const MORE_THOUGHTS = 'output_tokens_details.thinking_tokens is larger than output_tokens';

/** The counts of the whole answer, or of one iteration of it. */
function bucketsIn(counts: CountReader, raw: Readonly<Record<string, unknown>>) {
  const writing = counts.detailsIn(raw.cache_creation, 'cache_creation');
  const details = counts.detailsIn(raw.output_tokens_details, 'output_tokens_details');
  const short = counts.of(writing.ephemeral_5m_input_tokens, 'cache_creation.ephemeral_5m_input_tokens') ?? 0;
  const long =
    (counts.of(writing.ephemeral_1h_input_tokens, 'cache_creation.ephemeral_1h_input_tokens') ?? 0) +
    writtenForUnknown(counts, writing);
  const written = counts.of(raw.cache_creation_input_tokens, 'cache_creation_input_tokens') ?? 0;
  return {
    input: counts.of(raw.input_tokens, 'input_tokens'),
    output: counts.of(raw.output_tokens, 'output_tokens'),
    cacheReadTokens: counts.of(raw.cache_read_input_tokens, 'cache_read_input_tokens') ?? 0,
    // The total and its parts describe the same tokens; what no part claims lives the shorter time.
    cacheWriteTokens: Math.max(short, written - long),
    cacheWriteLongTokens: long,
    reasoningTokens: counts.of(details.thinking_tokens, 'output_tokens_details.thinking_tokens') ?? 0,
  };
}

const KNOWN_LIFETIMES: ReadonlySet<string> = new Set([
  'ephemeral_5m_input_tokens',
  'ephemeral_1h_input_tokens',
]);
const LIFETIME = /^ephemeral_.{1,20}_input_tokens$/;

/** Tokens written for lifetimes without a price of their own, which cost as much as the longest known one. */
function writtenForUnknown(counts: CountReader, writing: Readonly<Record<string, unknown>>): number {
  let sum = 0;
  for (const name in writing)
    if (!KNOWN_LIFETIMES.has(name) && LIFETIME.test(name))
      sum += counts.of(writing[name], 'cache_creation') ?? 0;
  return sum;
}

/** More than any request runs through; a longer list says nothing that can be believed. */
const MAX_ITERATIONS = 1_000;

/**
 * Compactions and advice stand in the list of iterations alone, and are billed beside the answer. The
 * answer's own tokens are in the counts of the whole as well.
 */
function iterationsIn(counts: CountReader, { iterations }: Readonly<Record<string, unknown>>) {
  const beside: UsagePart[] = [];
  const answers: Partial<UsageCounts>[] = [];
  if (!Array.isArray(iterations)) return { beside: null, answers, doubt: undefined };
  counts.prefix = 'iterations.';
  for (const iteration of iterations.slice(0, MAX_ITERATIONS) as unknown[]) {
    if (!isRecord(iteration)) continue;
    const { input = 0, output = 0, reasoningTokens, ...cached } = bucketsIn(counts, iteration);
    const spent = {
      ...cached,
      inputTokens: input,
      outputTokens: Math.max(0, output - reasoningTokens),
      reasoningTokens,
    };
    const kind = typeof iteration.type === 'string' ? iteration.type.slice(0, LONGEST_WORD) : 'unknown';
    if (ANSWERS.has(kind)) answers.push(spent);
    else beside.push({ kind, model: modelIn(iteration), ...withoutZeros(spent) });
  }
  counts.prefix = '';
  const doubt = iterations.length > MAX_ITERATIONS ? 'iterations are too many' : undefined;
  return { beside: beside.length === 0 ? null : beside, answers, doubt };
}

const ANSWERS: ReadonlySet<string> = new Set(['message', 'fallback_message']);
const LONGEST_WORD = 64;
const modelIn = ({ model }: Readonly<Record<string, unknown>>): string | null =>
  typeof model === 'string' ? model.slice(0, LONGEST_WORD) : null;

const withoutZeros = <Counts extends object>(counts: Counts): Partial<Counts> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<Counts>;

/** The two say the same; where they do not, the one with more tokens is charged. */
function largerOf(
  top: Partial<UsageCounts>,
  answers: readonly Partial<UsageCounts>[],
): { readonly counts: Partial<UsageCounts>; readonly doubt?: string } {
  if (answers.length === 0) return { counts: top };
  const sum: Partial<Record<UsageBucket, number>> = {};
  for (const answer of answers)
    for (const bucket of USAGE_BUCKETS) sum[bucket] = (sum[bucket] ?? 0) + (answer[bucket] ?? 0);
  const surplus = totalTokens(usageOf(sum)) - totalTokens(usageOf(top));
  if (surplus === 0) return { counts: top };
  return { counts: surplus > 0 ? sum : top, doubt: 'the iterations do not add up to the whole' };
}

/** It writes usage as a messages caller expects it: input beside the cache, reasoning inside the output. */
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
