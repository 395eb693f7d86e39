import type { UsageReading } from '../../kernel';
import { CountReader, isRecord, pick, splitTotals, absentOrInvalid } from '../usage';

export function findImageUsage(body: unknown): unknown {
  return pick(body, 'usage');
}

/** Usage of images sold by tokens: text and images as input, images as output unless the details say otherwise. */
export function normaliseImageUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  const inputDetails = counts.detailsIn(raw.input_tokens_details, 'input_tokens_details');
  const outputDetails = counts.detailsIn(raw.output_tokens_details, 'output_tokens_details');
  const text = counts.of(outputDetails.text_tokens, 'output_tokens_details.text_tokens') ?? 0;
  const output = counts.of(raw.output_tokens, 'output_tokens');
  const total = counts.of(raw.total_tokens, 'total_tokens');
  // A report of images generated from text alone can omit the input.
  const defaultInput = total === undefined && output !== undefined ? 0 : undefined;
  const reading = splitTotals(
    {
      input: counts.of(raw.input_tokens ?? defaultInput, 'input_tokens'),
      output: output === undefined ? undefined : Math.max(output, text),
      total,
      cacheRead: counts.of(inputDetails.cached_tokens, 'input_tokens_details.cached_tokens'),
      cacheWrite: undefined,
      audioInput: undefined,
      image: counts.of(inputDetails.image_tokens, 'input_tokens_details.image_tokens'),
      reasoning: undefined,
      audioOutput: undefined,
    },
    counts,
  );
  if (reading.kind !== 'ok') return reading;
  const { outputTokens, reasoningTokens } = reading.usage;
  const textTokens = Math.min(text, outputTokens);
  return {
    kind: 'ok',
    usage: {
      ...reading.usage,
      outputTokens: textTokens,
      reasoningTokens: 0,
      imageOutputTokens: outputTokens + reasoningTokens - textTokens,
    },
  };
}
