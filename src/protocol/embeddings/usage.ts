import { totalTokens, type UsageCounts, type UsageReading } from '../../kernel';
import { CountReader, isRecord, pick, reported, soleInput, unlessRead, unreadable } from '../usage';

/** Usage of an embeddings answer; some suppliers report billed units among their metadata instead. */
export function findEmbeddingsUsage(body: unknown): unknown {
  return pick(body, 'usage') ?? pick(body, 'meta', 'billed_units');
}

export function normaliseEmbeddingsUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const units = isRecord(raw.billed_units) ? raw.billed_units : raw;
  const image = counts.of(units.image_tokens, 'image_tokens') ?? 0;
  const { tokens, doubt } = soleInput(counts, units, image);
  return reported(
    { inputTokens: tokens ?? 0, imageTokens: image },
    { ignored: counts.ignored, doubt, missing: unlessRead(tokens, counts) },
  );
}

/** Both figures are equal: an embedding has no output tokens. */
export function renderEmbeddingsUsage(usage: UsageCounts) {
  return { prompt_tokens: totalTokens(usage), total_tokens: totalTokens(usage) };
}
