import fc from 'fast-check';
import {
  decide,
  emptyState,
  type Explanation,
  learnAll,
  retunedUtility,
  tuningOf,
} from '../../../src/autorouter/engine';
import { policy, prompts, questionOf, taughtExamples } from './traffic';

const state = emptyState();
learnAll(state, taughtExamples());

/** At 10 USD for a million tokens of the reference. */
const usualTokens = new Map([['large', { input: 150, cached: 0, output: 50 }]]);
const REFERENCE_COST = 2_000_000;
const explained = (text: string, dial: number): Explanation => {
  const decision = decide(state, questionOf(text, { policy: { ...policy, dial }, usualTokens }));
  if (decision.kind === 'none') throw new Error(decision.reason);
  return decision.explanation;
};

const dials = fc.integer({ min: 0, max: 10 });

test('an explanation tells what another place of the dial makes of its candidates', () => {
  fc.assert(
    fc.property(prompts, dials, dials, (text, from, to) => {
      const [before, after] = [explained(text, from), explained(text, to)];
      for (const candidate of before.candidates) {
        const told = retunedUtility(candidate, {
          from: tuningOf(from),
          to: tuningOf(to),
          reference: before.ref,
          referenceCost: REFERENCE_COST,
        });
        const found = after.candidates.find(({ model }) => model === candidate.model);
        // Explanations round these to four places.
        expect(Math.abs(told - (found?.u ?? NaN))).toBeLessThan(0.002);
      }
    }),
  );
});

test('a candidate at its own place keeps its utility', () => {
  const { candidates, ref } = explained('Explain the sql join of orders, number 7', 5);
  for (const candidate of candidates)
    expect(retunedUtility(candidate, { from: tuningOf(5), to: tuningOf(5), reference: ref, referenceCost: 1 })).toBe(
      candidate.u,
    );
});
