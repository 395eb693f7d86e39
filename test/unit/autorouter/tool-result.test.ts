import {
  type ChosenDecision,
  decide,
  emptyState,
  learnAll,
  type RoutingQuery,
  type SessionView,
} from '../../../src/autorouter/engine';
import { candidates, questionOf, taughtExamples } from './traffic';

const familiarText = 'Explain the sql join of orders, number 7';
const state = emptyState();
beforeAll(() => learnAll(state, taughtExamples()));

const session = (more: Partial<SessionView>): { session: SessionView } => ({
  session: { source: 'header', betweenToolCallAndResult: false, cachedTokens: 0, ...more },
});

function choose(text: string, rest: Partial<RoutingQuery> = {}): ChosenDecision {
  const decision = decide(state, questionOf(text, rest));
  if (decision.kind === 'none') throw new Error(decision.reason);
  return decision;
}

describe('Default model for a tool result', () => {
  const result = session({ model: 'small', betweenToolCallAndResult: true });

  test('is the same as without the tool result, although it cannot answer', () => {
    const explanationWithoutResult = choose(familiarText).explanation;
    const { chosen: model, fallbackOrder, explanation } = choose(familiarText, result);
    expect([model, fallbackOrder]).toEqual(['small', []]);
    expect(explanation).toMatchObject({ ref: 'large', chosen: 'small', reason: 'tool_result' });
    expect(explanation.ref_cost).toBe(explanationWithoutResult.ref_cost);
    const costOf = (name: string) =>
      explanation.candidates.find((one) => one.model === name)?.cost_est ?? NaN;
    expect(explanation.candidates.map((one) => one.model).sort()).toEqual(['large', 'small']);
    expect(explanation.cost_ratio).toBeCloseTo(costOf('small') / costOf('large'), 3);
    expect(explanation.cost_ratio).toBeLessThan(0.1);
    expect(explanation.quality_difference).toBe(explanationWithoutResult.quality_difference);
  });

  test('is the calling model only if that is the default model anyway', () => {
    const defaultModelSession = session({ model: 'large', betweenToolCallAndResult: true });
    expect(choose(familiarText, defaultModelSession).explanation).toMatchObject({
      ref: 'large',
      chosen: 'large',
      cost_ratio: 1,
    });
    const onlyCandidate = choose(familiarText, {
      ...result,
      candidates: candidates.filter((one) => one.model === 'small'),
    });
    expect(onlyCandidate.explanation).toMatchObject({ ref: 'small', reason: 'tool_result', cost_ratio: 1 });
  });
});
