import { isRecord } from '../usage';

/** Suppliers name the list `results` or `data`. */
export function resultsIn({
  results,
  data,
}: Readonly<Record<string, unknown>>): readonly unknown[] | undefined {
  const list = results ?? data;
  return Array.isArray(list) ? list : undefined;
}

/** Suppliers name the score `relevance_score` or `score`. */
export function scoreOf(result: unknown): number | undefined {
  if (!isRecord(result)) return undefined;
  const score = result.relevance_score ?? result.score;
  return typeof score === 'number' ? score : undefined;
}
