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

/** Costs 0.002 USD per request at 10 USD per 1M tokens of the default model. */
const usualTokens = new Map([['large', { input: 150, cached: 0, output: 50 }]]);
const REFERENCE_COST = 2_000_000;
const explain = (text: string, dial: number): Explanation => {
  const decision = decide(state, questionOf(text, { policy: { ...policy, dial }, usualTokens }));
  if (decision.kind === 'none') throw new Error(decision.reason);
  return decision.explanation;
};

const dials = fc.integer({ min: 0, max: 10 });

test('explanation can be recomputed for any other dial position', () => {
  fc.assert(
    fc.property(prompts, dials, dials, (text, from, to) => {
      const [before, after] = [explain(text, from), explain(text, to)];
      for (const candidate of before.candidates) {
        const recomputedUtility = retunedUtility(candidate, {
          from: tuningOf(from),
          to: tuningOf(to),
          reference: before.ref,
          referenceCost: REFERENCE_COST,
        });
        const actualCandidate = after.candidates.find(({ model }) => model === candidate.model);
        // Explanations round utilities to four decimal places.
        expect(Math.abs(recomputedUtility - (actualCandidate?.u ?? NaN))).toBeLessThan(0.002);
      }
    }),
  );
});

test('candidate keeps its utility at its own dial position', () => {
  const { candidates, ref } = explain('Explain the sql join of orders, number 7', 5);
  for (const candidate of candidates)
    expect(
      retunedUtility(candidate, { from: tuningOf(5), to: tuningOf(5), reference: ref, referenceCost: 1 }),
    ).toBe(candidate.u);
});
