import { usageOf, type UsageReading } from '../../kernel';
import { CountReader, isRecord, pick, reported, soleInput, unlessRead, unreadable } from '../usage';

/**
 * Usage of a rerank answer: billed units and tokens among the metadata, or a plain usage object. Suppliers that sell by
 * the search unit report tokens beside it.
 */
export function findRerankUsage(body: unknown): unknown {
  const units = pick(body, 'meta', 'billed_units');
  const tokens = pick(body, 'meta', 'tokens');
  if (isRecord(units) && isRecord(tokens)) return { ...tokens, ...units };
  return units ?? pick(body, 'usage');
}

/** Sold by the search unit or by the token; a search unit is a call. */
export function normaliseRerankUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const units = counts.of(raw.search_units, 'search_units') ?? 0;
  const { tokens, doubt } = soleInput(counts, raw);
  const { ignored } = counts;
  const read = { calls: Math.max(1, units), inputTokens: tokens ?? 0 };
  if (units > 0 && ignored === null && doubt === undefined) return { kind: 'ok', usage: usageOf(read) };
  return reported(read, { ignored, doubt, missing: unlessRead(tokens, counts) });
}
