import { totalTokens, type UsageCounts, type UsageReading } from '../../kernel';
import { CountReader, invalid, isRecord, okUnlessEmpty, pick, unreadable } from '../usage';

/** Usage of an embeddings answer; some suppliers report billed units among their metadata instead. */
export function findEmbeddingsUsage(body: unknown): unknown {
  return pick(body, 'usage') ?? pick(body, 'meta', 'billed_units');
}

export function normaliseEmbeddingsUsage(raw: unknown): UsageReading {
  const early = unreadable(raw);
  if (early !== undefined) return early;
  const counts = new CountReader(isRecord(pick(raw, 'billed_units')) ? pick(raw, 'billed_units') : raw);
  const input = counts.first('prompt_tokens', 'input_tokens', 'total_tokens');
  const image = counts.first('image_tokens');
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (input === undefined && image === undefined) return { kind: 'absent' };
  return okUnlessEmpty({ inputTokens: input ?? 0, imageTokens: image ?? 0 });
}

/** Both figures are equal: an embedding has no output tokens. */
export function renderEmbeddingsUsage(usage: UsageCounts): object {
  return { prompt_tokens: totalTokens(usage), total_tokens: totalTokens(usage) };
}
