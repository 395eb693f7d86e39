import type { UsageReading } from '../../kernel';
import { CountReader, detailsIn, invalid, isRecord, okUnlessEmpty, pick, unreadable } from '../usage';

export function findImageUsage(body: unknown): unknown {
  return pick(body, 'usage');
}

/** Pictures sold by tokens: text and pictures went in, pictures came out unless the details say otherwise. */
export function normaliseImageUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const given = detailsIn(raw.input_tokens_details);
  const made = detailsIn(raw.output_tokens_details);
  const input = counts.of(raw.input_tokens, 'input_tokens');
  const output = counts.of(raw.output_tokens, 'output_tokens');
  const image = counts.of(given.image_tokens, 'input_tokens_details.image_tokens') ?? 0;
  const cached = counts.of(given.cached_tokens, 'input_tokens_details.cached_tokens') ?? 0;
  const text = counts.of(made.text_tokens, 'output_tokens_details.text_tokens') ?? 0;
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (input === undefined && output === undefined) return { kind: 'absent' };
  if (output === undefined) return invalid('output_tokens is missing');
  if (image + cached > (input ?? 0)) return invalid('image_tokens exceed the input');
  if (text > output) return invalid('text_tokens exceed the output');
  return okUnlessEmpty({
    inputTokens: (input ?? 0) - image - cached,
    cacheReadTokens: cached,
    imageTokens: image,
    outputTokens: text,
    imageOutputTokens: output - text,
  });
}
