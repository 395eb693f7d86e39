import type { UsageReading } from '../../kernel';
import { CountReader, isRecord, pick, splitTotals, unreadable } from '../usage';

export function findImageUsage(body: unknown): unknown {
  return pick(body, 'usage');
}

/** Pictures sold by tokens: text and pictures went in, pictures came out unless the details say otherwise. */
export function normaliseImageUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const given = counts.detailsIn(raw.input_tokens_details, 'input_tokens_details');
  const made = counts.detailsIn(raw.output_tokens_details, 'output_tokens_details');
  const text = counts.of(made.text_tokens, 'output_tokens_details.text_tokens') ?? 0;
  const output = counts.of(raw.output_tokens, 'output_tokens');
  const total = counts.of(raw.total_tokens, 'total_tokens');
  // A report of pictures that were made from nothing but text may leave the input out.
  const unread = total === undefined && output !== undefined ? 0 : undefined;
  const reading = splitTotals(
    {
      input: counts.of(raw.input_tokens ?? unread, 'input_tokens'),
      output: output === undefined ? undefined : Math.max(output, text),
      total,
      cacheRead: counts.of(given.cached_tokens, 'input_tokens_details.cached_tokens'),
      cacheWrite: undefined,
      audioInput: undefined,
      image: counts.of(given.image_tokens, 'input_tokens_details.image_tokens'),
      reasoning: undefined,
      audioOutput: undefined,
    },
    counts,
  );
  if (reading.kind !== 'ok') return reading;
  const { outputTokens, reasoningTokens } = reading.usage;
  const written = Math.min(text, outputTokens);
  return {
    kind: 'ok',
    usage: {
      ...reading.usage,
      outputTokens: written,
      reasoningTokens: 0,
      imageOutputTokens: outputTokens + reasoningTokens - written,
    },
  };
}
