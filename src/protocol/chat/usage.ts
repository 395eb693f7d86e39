import {
  completionTokens,
  promptTokens,
  totalTokens,
  type UsageCounts,
  type UsageReading,
} from '../../kernel';
import { CountReader, invalid, pick, splitTotals, unreadable } from '../usage';

/** The usage object of a chat answer or chunk; one supplier puts it in an envelope of its own. */
export function findChatUsage(body: unknown): unknown {
  return pick(body, 'usage') ?? pick(body, 'x_groq', 'usage');
}

/** Chat and legacy completions, with the names that compatible suppliers use for the same facts. */
export function normaliseChatUsage(raw: unknown): UsageReading {
  const early = unreadable(raw);
  if (early !== undefined) return early;
  const counts = new CountReader(raw);
  const miss = counts.first('prompt_cache_miss_tokens');
  const cacheRead = counts.first(
    'prompt_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cache_read_input_tokens',
    'cached_tokens',
    'num_cached_tokens',
  );
  const input = counts.first('prompt_tokens') ?? (miss === undefined ? undefined : miss + (cacheRead ?? 0));
  const output = counts.first('completion_tokens');
  const totals = {
    input,
    output,
    total: counts.first('total_tokens'),
    cacheRead,
    cacheWrite: counts.first('prompt_tokens_details.cache_write_tokens', 'cache_creation_input_tokens'),
    audioInput: counts.first('prompt_tokens_details.audio_tokens'),
    image: counts.first('prompt_tokens_details.image_tokens'),
    reasoning: counts.first('completion_tokens_details.reasoning_tokens', 'reasoning_tokens'),
    audioOutput: counts.first('completion_tokens_details.audio_tokens'),
  };
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (input === undefined && output === undefined) return { kind: 'absent' };
  if (output === undefined) return invalid('completion_tokens is missing');
  return splitTotals(totals);
}

/** Usage as a chat caller expects it: totals with the parts inside them. */
export function renderChatUsage(usage: UsageCounts): object {
  return {
    prompt_tokens: promptTokens(usage),
    completion_tokens: completionTokens(usage),
    total_tokens: totalTokens(usage),
    prompt_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens + usage.cacheWriteLongTokens,
      audio_tokens: usage.audioInputTokens,
      image_tokens: usage.imageTokens,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: usage.audioOutputTokens,
    },
  };
}
