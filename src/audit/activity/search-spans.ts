import type { Span } from '../span';

const DAY_MS = 86_400_000;
const FIRST_MS = 2 * DAY_MS;
/** So many times as long as the span before it, at most. */
const MOST_GROWTH = 16;

/**
 * A period in spans, one after the other from where a search begins, each as long as the time that is left seems to
 * allow. When the time is over it ends early and answers where; null at the end.
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
