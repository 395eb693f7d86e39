import { DAY_MS } from '../../kernel';
import type { TimeSpan } from '../span';

const FIRST_SPAN_MS = 2 * DAY_MS;
/** Maximum growth factor from one span to the next. */
const MAX_GROWTH = 16;

/** Yields consecutive spans of a period in search order, each sized to fit the remaining time. */
export function* searchSpans(
  period: TimeSpan,
  isDescending: boolean,
  budgetMs: number,
  clock: () => number = () => performance.now(),
): Generator<TimeSpan, Date | null> {
  const startedMs = clock();
  let [position, length] = [isDescending ? period.to.getTime() : period.from.getTime(), FIRST_SPAN_MS];
  const end = isDescending ? period.from.getTime() : period.to.getTime();
  while (isDescending ? position > end : position < end) {
    const edge = isDescending ? Math.max(end, position - length) : Math.min(end, position + length);
    const spanStartedMs = clock();
    yield isDescending
      ? { from: new Date(edge), to: new Date(position) }
      : { from: new Date(position), to: new Date(edge) };
    position = edge;
    const remainingMs = budgetMs - (clock() - startedMs);
    if (remainingMs <= 0) return position === end ? null : new Date(position);
    length *= Math.min(MAX_GROWTH, Math.max(0.1, remainingMs / Math.max(0.5, clock() - spanStartedMs)));
  }
  return null;
}
