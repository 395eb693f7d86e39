import fc from 'fast-check';
import {
  calibrate,
  type ChosenDecision,
  type Decision,
  decide,
  emptyState,
  learn,
  learnAll,
  noteSignal,
  type RoutingPolicy,
  type RoutingQuery,
  ROUTER_ALGORITHMS,
  type RouterState,
  type SessionView,
} from '../../../src/autorouter/engine';
import {
  candidates,
  exampleOf,
  examples,
  models,
  NOW,
  policy,
  prompts,
  questionOf,
  taughtExamples,
} from './traffic';

const trainedState = (): RouterState => {
  const state = emptyState();
  learnAll(state, taughtExamples());
  calibrate(state);
  return state;
};

const state = trainedState();
const familiarText = 'Explain the sql join of orders, number 7';
const rustText = 'Explain the borrow checker in rust, number 5';
const foreignText = 'Quelle heure est-il donc à Genève ce soir';
const newModel = { model: 'newest', provider: 'supplier-9', inputRate: 1, outputRate: 1, prior: 1 };

function expectChosen(decision: Decision): ChosenDecision {
  if (decision.kind === 'none') throw new Error(decision.reason);
  return decision;
}

const choose = (text: string, rest: Partial<RoutingQuery> = {}, on = state): ChosenDecision =>
  expectChosen(decide(on, questionOf(text, rest)));

const withPolicy = (more: Partial<RoutingPolicy>): { policy: RoutingPolicy } => ({
  policy: { ...policy, ...more },
});

const session = (more: Partial<SessionView>): { session: SessionView } => ({
  session: { source: 'header', betweenToolCallAndResult: false, cachedTokens: 0, ...more },
});

const pressureOf = (raise: number) => ({ budget: 'key', period: 'daily', projected: 1.5, raise });

const questions = fc.record({
  text: prompts,
  subset: fc.subarray([...candidates]),
  algorithm: fc.constantFrom(...ROUTER_ALGORITHMS),
  mode: fc.constantFrom('on' as const, 'shadow' as const),
  dial: fc.double({ min: 0, max: 10, noNaN: true }),
  referenceModel: fc.constantFrom('large', 'small', 'gone'),
  minQuality: fc.constantFrom(0, 0.5, 0.99),
  drift: fc.constantFrom('calm' as const, 'raised' as const, 'reference' as const),
  model: fc.constantFrom('small', 'middle', 'large', 'gone', undefined),
});

describe('Routing invariants', () => {
  test('never chooses a model outside the candidate set', () => {
    fc.assert(
      fc.property(
        examples,
        questions,
        fc.boolean(),
        (some, { text, subset, drift, model, ...more }, experienced) => {
          const routerState = experienced ? state : emptyState();
          if (!experienced) learnAll(routerState, some);
          const decision = decide(
            routerState,
            questionOf(text, {
              candidates: subset,
              drift,
              ...withPolicy(more),
              ...session(model === undefined ? {} : { model }),
            }),
          );
          if (subset.length === 0)
            return void expect(decision).toMatchObject({ kind: 'none', reason: 'no_candidate' });
          const allowed = subset.map((one) => one.model);
          const { fallbackOrder, explanation, ...rest } = expectChosen(decision);
          const modelsInOrder = [rest.chosen, ...fallbackOrder];
          expect(allowed).toEqual(expect.arrayContaining(modelsInOrder));
          expect(new Set(modelsInOrder).size).toBe(subset.length);
          expect(allowed).toEqual(
            expect.arrayContaining([explanation.ref, explanation.would_have ?? explanation.ref]),
          );
        },
      ),
    );
  });

  test('higher budget pressure never chooses a more expensive model or one outside the candidate set', () => {
    const raises = fc.uniqueArray(fc.double({ min: 0, max: 0.5, noNaN: true }), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(questions, raises, ({ text, subset, drift, model: _model, ...more }, some) => {
        if (subset.length === 0) return;
        const question = { candidates: subset, drift, ...withPolicy({ ...more, mode: 'on' }) };
        const costs = some
          .sort((one, other) => one - other)
          .map((raise) => {
            const { chosen: model, explanation } = choose(text, { ...question, pressure: pressureOf(raise) });
            expect(subset.map((one) => one.model)).toContain(model);
            return explanation.candidates.find((one) => one.model === model)?.cost_est ?? NaN;
          });
        expect(costs).toEqual([...costs].sort((one, other) => other - one));
      }),
    );
  });

  test('never changes the model between a tool call and its result', () => {
    fc.assert(
      fc.property(questions, ({ text, subset, drift, model, ...more }) => {
        const callingModel = model ?? 'small';
        const decision = decide(
          state,
          questionOf(text, {
            candidates: subset,
            drift,
            ...withPolicy(more),
            ...session({ model: callingModel, betweenToolCallAndResult: true }),
          }),
        );
        if (subset.some((one) => one.model === callingModel))
          expect(decision).toMatchObject({ kind: 'chosen', chosen: callingModel, fallbackOrder: [] });
        else
          expect(decision).toMatchObject({
            kind: 'none',
            reason: subset.length === 0 ? 'no_candidate' : 'tool_call_model_gone',
          });
      }),
    );
  });

  test('shadow mode uses the default model when the model that made the tool call is unknown', () => {
    const question = { ...withPolicy({ mode: 'shadow' }), ...session({ betweenToolCallAndResult: true }) };
    expect(choose(familiarText, question).chosen).toBe('large');
    const questionWithModel = { ...question, ...session({ model: 'small', betweenToolCallAndResult: true }) };
    expect(choose(familiarText, questionWithModel).explanation).toMatchObject({
      chosen: 'small',
      mode: 'shadow',
      reason: 'tool_result',
    });
  });

  test('never chooses a model above the maximum cost per request', () => {
    const cheapChoice = choose(
      familiarText,
      withPolicy({ maxCostPerRequest: 1_000_000, algorithm: 'static' }),
    );
    expect(cheapChoice.chosen).not.toBe('large');
    expect(cheapChoice.fallbackOrder).not.toContain('large');
    expect(cheapChoice.explanation.excluded).toEqual({ max_cost: 1 });
    expect(decide(state, questionOf(familiarText, withPolicy({ maxCostPerRequest: 1 })))).toEqual({
      kind: 'none',
      reason: 'no_candidate',
      excluded: { max_cost: 3 },
    });
  });
});

describe('Model choice', () => {
  test('is the cheap model when quality is equal, otherwise the default model, with a reason', () => {
    expect(choose(familiarText)).toMatchObject({ chosen: 'small', unfamiliar: false });
    expect(choose(familiarText).explanation).toMatchObject({
      reason: 'better_quality_cheaper',
      ref: 'large',
      chosen: 'small',
      mode: 'on',
      would_have: null,
      bucket: expect.stringMatching(/^\w+\/short$/) as string,
    });
    expect(choose(familiarText).explanation.cost_ratio).toBeLessThan(0.05);
    expect(choose(rustText).chosen).not.toBe('small');
  });

  test('never costs more when the dial moves towards savings', () => {
    const costs = [0, 2, 4, 5, 7, 10].map((dial) => {
      const tuning = { ...withPolicy({ dial }) };
      const { explanation } = choose(rustText, tuning);
      return explanation.policy.kappa;
    });
    expect(costs).toEqual([0, 0.01, 0.03, 0.06, 0.1, 0.2]);
    const costsByKappa = costs.map((kappa) => {
      const tuning = { kappa, z: 0, novelty: 'off' as const };
      return choose(rustText, withPolicy({ tuning })).explanation.cost_ratio;
    });
    expect(costsByKappa).toEqual([...costsByKappa].sort((one, other) => other - one));
  });

  test('is the default model for unfamiliar requests unless the dial is at maximum savings', () => {
    expect(choose(foreignText)).toMatchObject({ chosen: 'large', unfamiliar: true });
    expect(choose(foreignText).explanation.reason).toBe('unfamiliar_request');
    expect(choose(foreignText, withPolicy({ dial: 10 })).explanation.reason).not.toBe('unfamiliar_request');
  });

  test('is the default model when traffic has drifted', () => {
    expect(choose(familiarText, { drift: 'reference' }).explanation).toMatchObject({
      chosen: 'large',
      reason: 'traffic_changed',
    });
    expect(choose(familiarText, { drift: 'raised' }).explanation.policy.z).toBe(1.5);
  });

  test('is the default model in shadow mode or without enough data, and notes the would-be choice', () => {
    expect(choose(familiarText, withPolicy({ mode: 'shadow' })).explanation).toMatchObject({
      chosen: 'large',
      would_have: 'small',
      reason: 'shadow_mode',
      mode: 'shadow',
    });
    expect(choose(familiarText, {}, emptyState()).explanation).toMatchObject({
      chosen: 'large',
      reason: 'still_learning',
    });
  });

  test('skips a model that is on trial', () => {
    const question = { candidates: [...candidates, newModel] };
    expect(choose(familiarText, question).chosen).toBe('small');
    expect(choose(familiarText, question).explanation.excluded).toEqual({ on_trial: 1 });
    const otherState = trainedState();
    for (let index = 0; index < 31; index += 1)
      learn(otherState, exampleOf(`n-${index}`, familiarText, { newest: 1 }));
    expect(choose(familiarText, question, otherState).chosen).toBe('newest');
  });

  test('respects the minimum quality, and takes the most certain model when none reaches it', () => {
    expect(choose(rustText, withPolicy({ minQuality: 0.7, dial: 10 })).explanation.excluded).toEqual({
      min_quality: 1,
    });
    expect(choose(familiarText, withPolicy({ minQuality: 1 })).explanation).toMatchObject({
      reason: 'quality_floor',
      excluded: { min_quality: 3 },
    });
  });

  test.each([
    ['static', 'large'],
    ['cheapest', 'small'],
  ] as const)('%s is %s without training too', (algorithm, model) => {
    expect(choose(rustText, withPolicy({ algorithm }), emptyState()).chosen).toBe(model);
  });

  test('is the highest-scoring model when there is no default model', () => {
    const { referenceModel: _, ...open } = policy;
    expect(choose(foreignText, { policy: open }).explanation.ref).toBe('large');
    const emptyRouterState = emptyState();
    learnAll(
      emptyRouterState,
      taughtExamples().map((example) => ({
        ...example,
        outcomes: example.outcomes.map((one) => ({ ...one, score: one.model === 'middle' ? 1 : 0.2 })),
      })),
    );
    expect(choose(familiarText, { policy: open }, emptyRouterState).explanation.ref).toBe('middle');
  });

  test('considers bad responses, a latency target and the budget', () => {
    const reliability = new Map();
    const badOutcome = { failed: 1, answered: 0 };
    for (let call = 0; call < 8; call += 1) noteSignal(reliability, 'small', badOutcome, NOW);
    expect(choose(familiarText, { reliability: [reliability] }).chosen).not.toBe('small');
    expect(choose(familiarText, { reliability: [reliability], now: NOW + 6 * 3_600_000 }).chosen).toBe(
      'small',
    );
    const slowState = emptyState();
    learnAll(
      slowState,
      taughtExamples().map((example) => ({
        ...example,
        outcomes: example.outcomes.map((one) => ({
          ...one,
          latencyMs: one.model === 'small' ? 20_000 : 500,
        })),
      })),
    );
    expect(choose(familiarText, {}, slowState).chosen).toBe('small');
    expect(choose(familiarText, withPolicy({ latencyTargetMs: 1_000 }), slowState).chosen).not.toBe('small');
    const qualityFirst = withPolicy({ dial: 0 });
    const [choiceWithoutPressure, pressed] = [
      choose(rustText, qualityFirst),
      choose(rustText, { ...qualityFirst, pressure: pressureOf(0.5) }),
    ];
    expect(pressed.explanation).toMatchObject({ policy: { kappa: 0.5 }, pacing: { raise: 0.5 } });
    expect(choiceWithoutPressure.explanation.pacing).toBeNull();
    expect(pressed.explanation.cost_ratio).toBeLessThan(choiceWithoutPressure.explanation.cost_ratio);
  });
});

describe('Session affinity', () => {
  test('keeps its model when another is only slightly better', () => {
    const twoCandidates = { candidates: candidates.slice(1) };
    expect(choose(familiarText, twoCandidates).chosen).toBe('middle');
    const keptChoice = choose(familiarText, {
      ...twoCandidates,
      ...session({ model: 'large', since: NOW - 1_000 }),
    });
    expect(keptChoice).toMatchObject({ chosen: 'large' });
    expect(keptChoice.explanation).toMatchObject({
      reason: 'session_kept',
      session: { source: 'header', sticky: 'kept', since: NOW - 1_000 },
    });
  });

  test('changes model when another is much better or its model is gone', () => {
    expect(choose(rustText, session({ model: 'small' })).explanation.session?.sticky).toBe(
      'broken:better_model',
    );
    expect(choose(familiarText, session({ model: 'gone' })).explanation.session?.sticky).toBe(
      'broken:no_candidate',
    );
    expect(choose(familiarText, session({})).explanation.session?.sticky).toBe('new');
  });

  test('leaves a model below the minimum quality or on trial, except for a pending tool result', () => {
    const question = { candidates: [...candidates, newModel], ...withPolicy({ minQuality: 0.7 }) };
    const chooseInSession = (text: string, more: Partial<SessionView>) =>
      choose(text, { ...question, ...session(more) });
    for (const [text, model] of [
      [familiarText, 'newest'],
      [rustText, 'small'],
    ] as const) {
      const { chosen: other, explanation } = chooseInSession(text, { model });
      expect([other === model, explanation.session?.sticky]).toEqual([false, 'broken:not_good']);
      expect(chooseInSession(text, { model, betweenToolCallAndResult: true }).chosen).toBe(model);
    }
  });
});

describe('Failover order', () => {
  test('tries other suppliers of the model first, then better models before worse ones', () => {
    const twoSuppliers = candidates.map((one) => ({
      ...one,
      provider: one.model === 'middle' ? 'supplier-0' : one.provider,
    }));
    const decision = choose(familiarText, { candidates: twoSuppliers });
    expect(decision.chosen).toBe('small');
    expect(decision.fallbackOrder).toEqual(['large', 'middle']);
    expect(decision.explanation).not.toHaveProperty('last_resort');
  });

  test('tries models below the minimum quality or on trial last, and says so', () => {
    const candidateSet = [...candidates, newModel].map((one) => ({
      ...one,
      provider: one.model === 'middle' ? 'supplier-2' : one.provider,
    }));
    const { explanation, ...decision } = choose(rustText, {
      candidates: candidateSet,
      ...withPolicy({ minQuality: 0.7 }),
    });
    expect(['middle', 'large']).toContain(decision.chosen);
    expect(decision.fallbackOrder[0]).toBe(decision.chosen === 'large' ? 'middle' : 'large');
    expect(new Set(decision.fallbackOrder.slice(1))).toEqual(new Set(['small', 'newest']));
    expect(explanation).toMatchObject({ fallback_order: decision.fallbackOrder, last_resort: 2 });
  });

  test('is empty for the result of a tool call', () => {
    const toolResult = { betweenToolCallAndResult: true };
    expect(choose(familiarText, session(toolResult))).toMatchObject({ chosen: 'small', fallbackOrder: [] });
    expect(choose(familiarText, session({ ...toolResult, model: 'large' }))).toMatchObject({
      chosen: 'large',
      fallbackOrder: [],
    });
  });
});

test('explanation is plain JSON of at most 2 kB', () => {
  const manyCandidates = Array.from({ length: 40 }, (_, index) => ({
    ...(candidates[index % models.length] ?? { inputRate: 1, outputRate: 1, provider: '' }),
    model: `a-model-of-usual-name-${index}`,
  }));
  const { explanation } = choose(familiarText, {
    candidates: manyCandidates,
    excluded: { region: 2, capability: 1 },
    ...session({}),
  });
  const text = JSON.stringify(explanation);
  expect(JSON.parse(text)).toEqual(explanation);
  expect(text.length).toBeLessThan(2_048);
  expect(explanation.candidates).toHaveLength(8);
  expect(explanation.excluded).toMatchObject({ region: 2, capability: 1 });
});
