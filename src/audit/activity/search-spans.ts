import { DAY_MS } from '../../kernel';
import type { Span } from '../span';

const FIRST_MS = 2 * DAY_MS;
/** The largest factor by which a span is longer than the one before it. */
const MOST_GROWTH = 16;

/**
 * Splits a period into spans, from where a search begins, each sized by the time that is left. Returns the position
 * where time ran out; null when the period was searched whole.
 */
export function* searchSpans(
  period: Span,
  isDown: boolean,
  budgetMs: number,
  clock: () => number = () => performance.now(),
): Generator<Span, Date | null> {
  const began = clock();
  let [begin, length] = [isDown ? period.to.getTime() : period.from.getTime(), FIRST_MS];
  const end = isDown ? period.from.getTime() : period.to.getTime();
  while (isDown ? begin > end : begin < end) {
    const edge = isDown ? Math.max(end, begin - length) : Math.min(end, begin + length);
    const started = clock();
    yield isDown
      ? { from: new Date(edge), to: new Date(begin) }
      : { from: new Date(begin), to: new Date(edge) };
    begin = edge;
    const left = budgetMs - (clock() - began);
    if (left <= 0) return begin === end ? null : new Date(begin);
    length *= Math.min(MOST_GROWTH, Math.max(0.1, left / Math.max(0.5, clock() - started)));
  }
  return null;
}
