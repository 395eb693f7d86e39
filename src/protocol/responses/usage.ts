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

export function findResponsesUsage(event: unknown): unknown {
  const response = pick(event, 'response');
  return withModes(pick(response, 'usage') ?? pick(event, 'usage'), response ?? event);
}

export function normaliseResponsesUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  const input = counts.detailsIn(raw.input_tokens_details, 'input_tokens_details');
  const output = counts.detailsIn(raw.output_tokens_details, 'output_tokens_details');
  return splitTotals(
    {
      input: counts.of(raw.input_tokens, 'input_tokens'),
      output: counts.of(raw.output_tokens, 'output_tokens'),
      total: counts.of(raw.total_tokens, 'total_tokens'),
      cacheRead: counts.of(input.cached_tokens, 'input_tokens_details.cached_tokens'),
      cacheWrite: counts.of(input.cache_write_tokens, 'input_tokens_details.cache_write_tokens'),
      timedWrites: counts.timedWrites(input, 'input_tokens_details'),
      audioInput: counts.of(input.audio_tokens, 'input_tokens_details.audio_tokens'),
      image: counts.of(input.image_tokens, 'input_tokens_details.image_tokens'),
      reasoning: counts.of(output.reasoning_tokens, 'output_tokens_details.reasoning_tokens'),
      audioOutput: counts.of(output.audio_tokens, 'output_tokens_details.audio_tokens'),
      imageOutput: counts.of(output.image_tokens, 'output_tokens_details.image_tokens'),
      uses: usesIn(counts, raw),
      modes: readModes(raw),
    },
    counts,
  );
}

export function renderResponsesUsage(usage: UsageCounts) {
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
