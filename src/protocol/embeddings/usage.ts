import { totalTokens, type UsageCounts, type UsageReading } from '../../kernel';
import { CountReader, isRecord, pick, readingOf, soleInput, missingInput, absentOrInvalid } from '../usage';

/** Usage of an embeddings response; some suppliers report billed units in their metadata instead. */
export function findEmbeddingsUsage(body: unknown): unknown {
  return pick(body, 'usage') ?? pick(body, 'meta', 'billed_units');
}

export function normaliseEmbeddingsUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  const units = isRecord(raw.billed_units) ? raw.billed_units : raw;
  const image = counts.of(units.image_tokens, 'image_tokens') ?? 0;
  const { tokens, doubt } = soleInput(counts, units, image);
  return readingOf(
    { inputTokens: tokens ?? 0, imageTokens: image },
    { ignored: counts.ignored, doubt, missing: missingInput(tokens, counts) },
  );
}

/** Both figures are equal: an embedding has no output tokens. */
export function renderEmbeddingsUsage(usage: UsageCounts) {
  return { prompt_tokens: totalTokens(usage), total_tokens: totalTokens(usage) };
}
