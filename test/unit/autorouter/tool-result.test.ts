import {
  type ChosenDecision,
  decide,
  emptyState,
  learnAll,
  type RoutingQuery,
  type SessionView,
} from '../../../src/autorouter/engine';
import { candidates, questionOf, taughtExamples } from './traffic';

const familiar = 'Explain the sql join of orders, number 7';
const state = emptyState();
beforeAll(() => learnAll(state, taughtExamples()));

const session = (more: Partial<SessionView>): { session: SessionView } => ({
  session: { source: 'header', betweenToolCallAndResult: false, cachedTokens: 0, ...more },
});

function ask(text: string, rest: Partial<RoutingQuery> = {}): ChosenDecision {
  const decision = decide(state, questionOf(text, rest));
  if (decision.kind === 'none') throw new Error(decision.reason);
  return decision;
}

describe('the reference of a tool result', () => {
  const result = session({ model: 'small', betweenToolCallAndResult: true });

  test('is the one that the request would have without it, though it could not answer', () => {
    const free = ask(familiar).explanation;
    const { chosen: model, fallbackOrder, explanation } = ask(familiar, result);
    expect([model, fallbackOrder]).toEqual(['small', []]);
    expect(explanation).toMatchObject({ ref: 'large', chosen: 'small', reason: 'tool_result' });
    expect(explanation.ref_cost).toBe(free.ref_cost);
    const costOf = (name: string) =>
      explanation.candidates.find((one) => one.model === name)?.cost_est ?? NaN;
    expect(explanation.candidates.map((one) => one.model).sort()).toEqual(['large', 'small']);
    expect(explanation.cost_ratio).toBeCloseTo(costOf('small') / costOf('large'), 3);
    expect(explanation.cost_ratio).toBeLessThan(0.1);
    expect(explanation.quality_difference).toBe(free.quality_difference);
  });

  test('is the model that made the call only where that is the reference anyway', () => {
    const own = session({ model: 'large', betweenToolCallAndResult: true });
    expect(ask(familiar, own).explanation).toMatchObject({ ref: 'large', chosen: 'large', cost_ratio: 1 });
    const alone = ask(familiar, { ...result, candidates: candidates.filter((one) => one.model === 'small') });
    expect(alone.explanation).toMatchObject({ ref: 'small', reason: 'tool_result', cost_ratio: 1 });
  });
});
