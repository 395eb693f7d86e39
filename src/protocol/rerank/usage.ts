import { usageOf, type UsageReading } from '../../kernel';
import { CountReader, isRecord, pick, readingOf, soleInput, missingInput, absentOrInvalid } from '../usage';

/**
 * Usage of a rerank response: billed units and tokens in the metadata, or a plain usage object. Suppliers that sell by
 * search unit report tokens in addition.
 */
export function findRerankUsage(body: unknown): unknown {
  const units = pick(body, 'meta', 'billed_units');
  const tokens = pick(body, 'meta', 'tokens');
  if (isRecord(units) && isRecord(tokens)) return { ...tokens, ...units };
  return units ?? pick(body, 'usage');
}

/** Rerank is sold by search unit or by token; a search unit counts as a call. */
export function normaliseRerankUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  const units = counts.of(raw.search_units, 'search_units') ?? 0;
  const { tokens, doubt } = soleInput(counts, raw);
  const { ignored } = counts;
  const counted = { calls: Math.max(1, units), inputTokens: tokens ?? 0 };
  if (units > 0 && ignored === null && doubt === undefined) return { kind: 'ok', usage: usageOf(counted) };
  return readingOf(counted, { ignored, doubt, missing: missingInput(tokens, counts) });
}
