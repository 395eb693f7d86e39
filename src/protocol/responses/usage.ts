import {
  completionTokens,
  promptTokens,
  totalTokens,
  type UsageCounts,
  type UsageReading,
} from '../../kernel';
import { CountReader, invalid, pick, splitTotals, unreadable } from '../usage';

/** The usage object of an answer or of the closing events of a stream. */
export function findResponsesUsage(event: unknown): unknown {
  return pick(event, 'response', 'usage') ?? pick(event, 'usage');
}

export function normaliseResponsesUsage(raw: unknown): UsageReading {
  const early = unreadable(raw);
  if (early !== undefined) return early;
  const counts = new CountReader(raw);
  const totals = {
    input: counts.first('input_tokens'),
    output: counts.first('output_tokens'),
    total: counts.first('total_tokens'),
    cacheRead: counts.first('input_tokens_details.cached_tokens'),
    cacheWrite: counts.first('input_tokens_details.cache_write_tokens'),
    audioInput: counts.first('input_tokens_details.audio_tokens'),
    image: counts.first('input_tokens_details.image_tokens'),
    reasoning: counts.first('output_tokens_details.reasoning_tokens'),
    audioOutput: counts.first('output_tokens_details.audio_tokens'),
  };
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (totals.input === undefined && totals.output === undefined) return { kind: 'absent' };
  if (totals.output === undefined) return invalid('output_tokens is missing');
  return splitTotals(totals);
}

export function renderResponsesUsage(usage: UsageCounts): object {
  return {
    input_tokens: promptTokens(usage),
    input_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens + usage.cacheWriteLongTokens,
    },
    output_tokens: completionTokens(usage),
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: totalTokens(usage),
  };
}
