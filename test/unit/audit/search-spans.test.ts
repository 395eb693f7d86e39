import fc from 'fast-check';
import { searchSpans } from '../../../src/audit/activity/search-spans';

const begin = Date.parse('2024-01-01T00:00:00Z');
const day = 86_400_000;

/** A search of which each span takes so long; what came of it. */
function searched(days: number, isDown: boolean, budget: number, costs: readonly number[]) {
  const period = { from: new Date(begin), to: new Date(begin + days * day) };
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

test('spans follow one another without gaps, from where the search begins to where it says', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4_000 }),
      fc.boolean(),
      fc.nat(200),
      costs,
      (days, isDown, budget, cost) => {
        const { period, spans, brokenOffAt } = searched(days, isDown, budget, cost);
        const ordered = isDown ? spans.toReversed() : spans;
        for (const [place, { from, to }] of ordered.entries()) {
          expect(from.getTime()).toBeLessThan(to.getTime());
          if (place > 0) expect(ordered[place - 1]?.to).toEqual(from);
        }
        expect(isDown ? ordered.at(-1)?.to : ordered[0]?.from).toEqual(isDown ? period.to : period.from);
        const end = isDown ? ordered[0]?.from : ordered.at(-1)?.to;
        expect(end).toEqual(brokenOffAt ?? (isDown ? period.from : period.to));
      },
    ),
  );
});

test('a search that costs nothing reaches years in a few spans; one without time looks into one', () => {
  const { spans, brokenOffAt } = searched(4_000, true, 40, [1]);
  expect([spans.length < 6, brokenOffAt]).toEqual([true, null]);
  expect(searched(4_000, true, 0, [1]).spans).toHaveLength(1);
  expect(searched(0, true, 0, [1])).toMatchObject({ spans: [], brokenOffAt: null });
});
