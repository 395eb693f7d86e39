import { isRecord } from '../usage';

/** Suppliers call the list by one of two names. */
export function resultsIn({
  results,
  data,
}: Readonly<Record<string, unknown>>): readonly unknown[] | undefined {
  const list = results ?? data;
  return Array.isArray(list) ? list : undefined;
}

/** And so they do the score. */
export function scoreOf(result: unknown): number | undefined {
  if (!isRecord(result)) return undefined;
  const score = result.relevance_score ?? result.score;
  return typeof score === 'number' ? score : undefined;
}
