import {
  completionTokens,
  promptTokens,
  readModes,
  totalTokens,
  type UsageCounts,
  type UsageReading,
} from '../../kernel';
import { usesIn, withModes } from '../fees';
import { CountReader, isRecord, pick, splitTotals, absentOrInvalid } from '../usage';

/** The usage object of a chat response or chunk; Groq wraps it in `x_groq`. */
export function findChatUsage(body: unknown): unknown {
  return withModes(pick(body, 'usage') ?? pick(body, 'x_groq', 'usage'), body);
}

/** Reads usage of chat and legacy completions, with the field names of compatible suppliers. */
export function normaliseChatUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  const prompt = counts.detailsIn(raw.prompt_tokens_details, 'prompt_tokens_details');
  const completion = counts.detailsIn(raw.completion_tokens_details, 'completion_tokens_details');
  const miss = counts.of(raw.prompt_cache_miss_tokens, 'prompt_cache_miss_tokens');
  const cacheRead =
    counts.of(prompt.cached_tokens, 'prompt_tokens_details.cached_tokens') ??
    counts.of(raw.prompt_cache_hit_tokens, 'prompt_cache_hit_tokens') ??
    counts.of(raw.cache_read_input_tokens, 'cache_read_input_tokens') ??
    counts.of(raw.cached_tokens, 'cached_tokens') ??
    counts.of(raw.num_cached_tokens, 'num_cached_tokens');
  const promptTotal =
    counts.of(raw.prompt_tokens, 'prompt_tokens') ??
    (miss === undefined ? undefined : miss + (cacheRead ?? 0));
  // Tokens of search results are billed as input, and no total includes them.
  const citationTokens = counts.of(raw.citation_tokens, 'citation_tokens') ?? 0;
  const total = counts.of(raw.total_tokens, 'total_tokens');
  const output = counts.of(raw.completion_tokens, 'completion_tokens');
  return splitTotals(
    {
      input: promptTotal === undefined ? undefined : promptTotal + citationTokens,
      output,
      total: total === undefined ? undefined : total + citationTokens,
      cacheRead,
      cacheWrite:
        counts.of(prompt.cache_write_tokens, 'prompt_tokens_details.cache_write_tokens') ??
        counts.of(raw.cache_creation_input_tokens, 'cache_creation_input_tokens'),
      timedWrites: counts.timedWrites(prompt, 'prompt_tokens_details'),
      audioInput: counts.of(prompt.audio_tokens, 'prompt_tokens_details.audio_tokens'),
      image: counts.of(prompt.image_tokens, 'prompt_tokens_details.image_tokens'),
      reasoning:
        counts.of(completion.reasoning_tokens, 'completion_tokens_details.reasoning_tokens') ??
        counts.of(raw.reasoning_tokens, 'reasoning_tokens'),
      audioOutput: counts.of(completion.audio_tokens, 'completion_tokens_details.audio_tokens'),
      imageOutput: counts.of(completion.image_tokens, 'completion_tokens_details.image_tokens'),
      uses: usesIn(counts, raw),
      modes: readModes(raw),
    },
    counts,
  );
}

export function renderChatUsage(usage: UsageCounts) {
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
      image_tokens: usage.imageOutputTokens,
    },
  };
}
