import fc from 'fast-check';
import { searchSpans } from '../../../src/audit/activity/search-spans';

const periodStart = Date.parse('2024-01-01T00:00:00Z');
const day = 86_400_000;

/** Runs a search whose spans take the given times; returns its spans and where it broke off. */
function runSearch(days: number, isDown: boolean, budget: number, costs: readonly number[]) {
  const period = { from: new Date(periodStart), to: new Date(periodStart + days * day) };
  let now = 0;
  const spans = [];
  const search = searchSpans(period, isDown, budget, () => now);
  for (;;) {
    const { done, value } = search.next();
    if (done === true) return { period, spans, brokenOffAt: value };
    spans.push(value);
    now += costs[spans.length % costs.length] ?? 1;
  }
}

const costs = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 });

test('spans are contiguous from the start of the search to the position where it stops', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4_000 }),
      fc.boolean(),
      fc.nat(200),
      costs,
      (days, isDown, budget, cost) => {
        const { period, spans, brokenOffAt } = runSearch(days, isDown, budget, cost);
        const spansInOrder = isDown ? spans.toReversed() : spans;
        for (const [place, { from, to }] of spansInOrder.entries()) {
          expect(from.getTime()).toBeLessThan(to.getTime());
          if (place > 0) expect(spansInOrder[place - 1]?.to).toEqual(from);
        }
        expect(isDown ? spansInOrder.at(-1)?.to : spansInOrder[0]?.from).toEqual(
          isDown ? period.to : period.from,
        );
        const end = isDown ? spansInOrder[0]?.from : spansInOrder.at(-1)?.to;
        expect(end).toEqual(brokenOffAt ?? (isDown ? period.from : period.to));
      },
    ),
  );
});

test('search widens its spans while it is cheap, and reads a single span without a time budget', () => {
  const { spans, brokenOffAt } = runSearch(4_000, true, 40, [1]);
  expect([spans.length < 6, brokenOffAt]).toEqual([true, null]);
  expect(runSearch(4_000, true, 0, [1]).spans).toHaveLength(1);
  expect(runSearch(0, true, 0, [1])).toMatchObject({ spans: [], brokenOffAt: null });
});
