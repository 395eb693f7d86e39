import { usageOf, type UsageReading } from '../../kernel';
import { CountReader, inputOf, invalid, isRecord, okUnlessEmpty, pick, unreadable } from '../usage';

/** Usage of a rerank answer: billed units among the metadata, or a plain usage object. */
export function findRerankUsage(body: unknown): unknown {
  return pick(body, 'meta', 'billed_units') ?? pick(body, 'usage');
}

/** Sold by the search unit or by the token; a search unit is a call. */
export function normaliseRerankUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const units = counts.of(raw.search_units, 'search_units');
  const tokens = inputOf(counts, raw);
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (units !== undefined && units > 0) {
    return { kind: 'ok', usage: usageOf({ calls: units, inputTokens: tokens ?? 0 }) };
  }
  return tokens === undefined ? { kind: 'absent' } : okUnlessEmpty({ inputTokens: tokens });
}
