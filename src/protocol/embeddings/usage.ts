import { totalTokens, type UsageCounts, type UsageReading } from '../../kernel';
import { CountReader, inputOf, invalid, isRecord, okUnlessEmpty, pick, unreadable } from '../usage';

/** Usage of an embeddings answer; some suppliers report billed units among their metadata instead. */
export function findEmbeddingsUsage(body: unknown): unknown {
  return pick(body, 'usage') ?? pick(body, 'meta', 'billed_units');
}

export function normaliseEmbeddingsUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const units = isRecord(raw.billed_units) ? raw.billed_units : raw;
  const input = inputOf(counts, units);
  const image = counts.of(units.image_tokens, 'image_tokens');
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (input === undefined && image === undefined) return { kind: 'absent' };
  return okUnlessEmpty({ inputTokens: input ?? 0, imageTokens: image ?? 0 });
}

/** Both figures are equal: an embedding has no output tokens. */
export function renderEmbeddingsUsage(usage: UsageCounts) {
  return { prompt_tokens: totalTokens(usage), total_tokens: totalTokens(usage) };
}
