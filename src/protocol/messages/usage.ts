import { completionTokens, readModes, type UsageCounts, type UsageReading } from '../../kernel';
import { usesIn } from '../fees';
import { CountReader, detailsIn, invalid, isRecord, okUnlessEmpty, pick, unreadable } from '../usage';

/** Marks what only the beginning of a stream said. Joining it with a later report leaves the mark behind. */
const BEGUN = Symbol('begun');

/** The usage object of an answer, of `message_start` or of `message_delta`. */
export function findMessagesUsage(event: unknown): unknown {
  const begun = pick(event, 'message', 'usage');
  return isRecord(begun) ? { ...begun, [BEGUN]: true } : (begun ?? pick(event, 'usage'));
}

/**
 * A stream reports twice: `message_start` what went in, `message_delta` what came out and, with some
 * suppliers, what went in once more. Each field's latest figure stands; a zero or a missing field does not
 * take back what was said. Joined before normalising, because the cache write total and its two parts may
 * arrive in different events.
 */
export function mergeMessagesUsage(earlier: unknown, later: unknown): unknown {
  if (!isRecord(later)) return later ?? earlier;
  if (!isRecord(earlier)) return earlier === undefined || earlier === null ? later : earlier;
  const merged = new Map(Object.entries(earlier));
  for (const [name, value] of Object.entries(later)) {
    if (isRecord(value)) merged.set(name, mergeMessagesUsage(earlier[name], value));
    else if ((value !== null && value !== 0) || !merged.has(name)) merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** Here input excludes what was read from or written to the cache, so nothing is subtracted. */
export function normaliseMessagesUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const writing = detailsIn(raw.cache_creation);
  const details = detailsIn(raw.output_tokens_details);
  const input = counts.of(raw.input_tokens, 'input_tokens');
  const output = counts.of(raw.output_tokens, 'output_tokens');
  const cacheRead = counts.of(raw.cache_read_input_tokens, 'cache_read_input_tokens') ?? 0;
  const short = counts.of(writing.ephemeral_5m_input_tokens, 'cache_creation.ephemeral_5m_input_tokens') ?? 0;
  const long = counts.of(writing.ephemeral_1h_input_tokens, 'cache_creation.ephemeral_1h_input_tokens') ?? 0;
  const written = counts.of(raw.cache_creation_input_tokens, 'cache_creation_input_tokens') ?? 0;
  const reasoning = counts.of(details.thinking_tokens, 'output_tokens_details.thinking_tokens') ?? 0;
  const uses = usesIn(counts, raw);
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (input === undefined && output === undefined) return { kind: 'absent' };
  if (input === undefined) return invalid('input_tokens is missing');
  if (output === undefined) return invalid('output_tokens is missing');
  if (reasoning > output) return invalid('thinking_tokens exceed output_tokens');
  const reading = okUnlessEmpty({
    inputTokens: input,
    cacheReadTokens: cacheRead,
    // The total and its parts describe the same tokens; what no part claims lives the shorter time.
    cacheWriteTokens: Math.max(short, written - long),
    cacheWriteLongTokens: long,
    outputTokens: output - reasoning,
    reasoningTokens: reasoning,
    uses,
    modes: readModes(raw),
  });
  // Before anything is written, its count means nothing.
  const isBegun = reading.kind === 'ok' && Reflect.get(raw, BEGUN) === true;
  return isBegun ? { kind: 'ok', usage: { ...reading.usage, source: 'partial' } } : reading;
}

/** Usage as a messages caller expects it: input beside the cache, reasoning inside the output. */
export function renderMessagesUsage(usage: UsageCounts): object {
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
