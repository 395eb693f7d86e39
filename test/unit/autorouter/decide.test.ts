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

const taught = (): RouterState => {
  const state = emptyState();
  learnAll(state, taughtExamples());
  calibrate(state);
  return state;
};

const state = taught();
const familiar = 'Explain the sql join of orders, number 7';
const rust = 'Explain the borrow checker in rust, number 5';
const foreign = 'Quelle heure est-il donc à Genève ce soir';

function chosen(decision: Decision): ChosenDecision {
  if (decision.kind === 'none') throw new Error(decision.reason);
  return decision;
}

const ask = (text: string, rest: Partial<RoutingQuery> = {}, on = state): ChosenDecision =>
  chosen(decide(on, questionOf(text, rest)));

const withPolicy = (more: Partial<RoutingPolicy>): { policy: RoutingPolicy } => ({ policy: { ...policy, ...more } });

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

describe('never', () => {
  test('a model outside the candidate set, whatever was learned and is asked', () => {
    fc.assert(
      fc.property(
        examples,
        questions,
        fc.boolean(),
        (some, { text, subset, drift, model, ...more }, experienced) => {
          const known = experienced ? state : emptyState();
          if (!experienced) learnAll(known, some);
          const decision = decide(
            known,
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
          const { fallbackOrder, explanation, ...rest } = chosen(decision);
          const answering = [rest.chosen, ...fallbackOrder];
          expect(allowed).toEqual(expect.arrayContaining(answering));
          expect(new Set(answering).size).toBe(subset.length);
          expect(allowed).toEqual(
            expect.arrayContaining([explanation.ref, explanation.would_have ?? explanation.ref]),
          );
        },
      ),
    );
  });

  test('a dearer model because a budget presses more, nor one outside the candidate set', () => {
    const raises = fc.uniqueArray(fc.double({ min: 0, max: 0.5, noNaN: true }), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(questions, raises, ({ text, subset, drift, model: _model, ...more }, some) => {
        if (subset.length === 0) return;
        const asked = { candidates: subset, drift, ...withPolicy({ ...more, mode: 'on' }) };
        const costs = some
          .sort((one, other) => one - other)
          .map((raise) => {
            const { chosen: model, explanation } = ask(text, { ...asked, pressure: pressureOf(raise) });
            expect(subset.map((one) => one.model)).toContain(model);
            return explanation.candidates.find((one) => one.model === model)?.cost_est ?? NaN;
          });
        expect(costs).toEqual([...costs].sort((one, other) => other - one));
      }),
    );
  });

  test('another model between a tool call and its result: rather none', () => {
    fc.assert(
      fc.property(questions, ({ text, subset, drift, model, ...more }) => {
        const held = model ?? 'small';
        const decision = decide(
          state,
          questionOf(text, {
            candidates: subset,
            drift,
            ...withPolicy(more),
            ...session({ model: held, betweenToolCallAndResult: true }),
          }),
        );
        if (subset.some((one) => one.model === held))
          expect(decision).toMatchObject({ kind: 'chosen', chosen: held, fallbackOrder: [] });
        else
          expect(decision).toMatchObject({
            kind: 'none',
            reason: subset.length === 0 ? 'no_candidate' : 'tool_call_model_gone',
          });
      }),
    );
  });

  test('another model than the reference in shadow, where nobody knows who made the tool call', () => {
    const asked = { ...withPolicy({ mode: 'shadow' }), ...session({ betweenToolCallAndResult: true }) };
    expect(ask(familiar, asked).chosen).toBe('large');
    const held = { ...asked, ...session({ model: 'small', betweenToolCallAndResult: true }) };
    expect(ask(familiar, held).explanation).toMatchObject({
      chosen: 'small',
      mode: 'shadow',
      reason: 'tool_result',
    });
  });

  test('a model that costs more than a request may', () => {
    const cheap = ask(familiar, withPolicy({ maxCostPerRequest: 1_000_000, algorithm: 'static' }));
    expect(cheap.chosen).not.toBe('large');
    expect(cheap.fallbackOrder).not.toContain('large');
    expect(cheap.explanation.excluded).toEqual({ max_cost: 1 });
    expect(decide(state, questionOf(familiar, withPolicy({ maxCostPerRequest: 1 })))).toEqual({
      kind: 'none',
      reason: 'no_candidate',
      excluded: { max_cost: 3 },
    });
  });
});

describe('the choice', () => {
  test('is the cheap model where it is as good, the reference where it is not, and says why', () => {
    expect(ask(familiar)).toMatchObject({ chosen: 'small', unfamiliar: false });
    expect(ask(familiar).explanation).toMatchObject({
      reason: 'better_quality_cheaper',
      ref: 'large',
      chosen: 'small',
      mode: 'on',
      would_have: null,
      bucket: expect.stringMatching(/^\w+\/short$/) as string,
    });
    expect(ask(familiar).explanation.cost_ratio).toBeLessThan(0.05);
    expect(ask(rust).chosen).not.toBe('small');
  });

  test('never costs more when the dial goes towards savings', () => {
    const costs = [0, 2, 4, 5, 7, 10].map((dial) => {
      const tuning = { ...withPolicy({ dial }) };
      const { explanation } = ask(rust, tuning);
      return explanation.policy.kappa;
    });
    expect(costs).toEqual([0, 0.01, 0.03, 0.06, 0.1, 0.2]);
    const spent = costs.map((kappa) => {
      const tuning = { kappa, z: 0, novelty: 'off' as const };
      return ask(rust, withPolicy({ tuning })).explanation.cost_ratio;
    });
    expect(spent).toEqual([...spent].sort((one, other) => other - one));
  });

  test('is the reference for what is unlike everything learned, unless the dial says to save all', () => {
    expect(ask(foreign)).toMatchObject({ chosen: 'large', unfamiliar: true });
    expect(ask(foreign).explanation.reason).toBe('unfamiliar_request');
    expect(ask(foreign, withPolicy({ dial: 10 })).explanation.reason).not.toBe('unfamiliar_request');
  });

  test('is the reference when the traffic changed', () => {
    expect(ask(familiar, { drift: 'reference' }).explanation).toMatchObject({
      chosen: 'large',
      reason: 'traffic_changed',
    });
    expect(ask(familiar, { drift: 'raised' }).explanation.policy.z).toBe(1.5);
  });

  test('is the reference in shadow and while too little is known; what it would have been is noted', () => {
    expect(ask(familiar, withPolicy({ mode: 'shadow' })).explanation).toMatchObject({
      chosen: 'large',
      would_have: 'small',
      reason: 'shadow_mode',
      mode: 'shadow',
    });
    expect(ask(familiar, {}, emptyState()).explanation).toMatchObject({
      chosen: 'large',
      reason: 'still_learning',
    });
  });

  test('passes a model over that is on trial', () => {
    const newest = { model: 'newest', provider: 'supplier-9', inputRate: 1, outputRate: 1, prior: 1 };
    const asked = { candidates: [...candidates, newest] };
    expect(ask(familiar, asked).chosen).toBe('small');
    expect(ask(familiar, asked).explanation.excluded).toEqual({ on_trial: 1 });
    const further = taught();
    for (let index = 0; index < 31; index += 1)
      learn(further, exampleOf(`n-${index}`, familiar, { newest: 1 }));
    expect(ask(familiar, asked, further).chosen).toBe('newest');
  });

  test('keeps to the floor of quality, and takes the surest model when none reaches it', () => {
    expect(ask(rust, withPolicy({ minQuality: 0.7, dial: 10 })).explanation.excluded).toEqual({
      min_quality: 1,
    });
    expect(ask(familiar, withPolicy({ minQuality: 1 })).explanation).toMatchObject({
      reason: 'quality_floor',
      excluded: { min_quality: 3 },
    });
  });

  test.each([
    ['static', 'large'],
    ['cheapest', 'small'],
  ] as const)('%s is %s, untaught too', (algorithm, model) => {
    expect(ask(rust, withPolicy({ algorithm }), emptyState()).chosen).toBe(model);
  });

  test('without a reference model it is the best by score', () => {
    const { referenceModel: _, ...open } = policy;
    expect(ask(foreign, { policy: open }).explanation.ref).toBe('large');
    const cheap = emptyState();
    learnAll(
      cheap,
      taughtExamples().map((example) => ({
        ...example,
        outcomes: example.outcomes.map((one) => ({ ...one, score: one.model === 'middle' ? 1 : 0.2 })),
      })),
    );
    expect(ask(familiar, { policy: open }, cheap).explanation.ref).toBe('middle');
  });

  test('heeds bad answers, a latency target and the budget', () => {
    const reliability = new Map();
    const bad = { failed: 1, answered: 0 };
    for (let call = 0; call < 8; call += 1) noteSignal(reliability, 'small', bad, NOW);
    expect(ask(familiar, { reliability: [reliability] }).chosen).not.toBe('small');
    expect(ask(familiar, { reliability: [reliability], now: NOW + 6 * 3_600_000 }).chosen).toBe('small');
    const slow = emptyState();
    learnAll(
      slow,
      taughtExamples().map((example) => ({
        ...example,
        outcomes: example.outcomes.map((one) => ({
          ...one,
          latencyMs: one.model === 'small' ? 20_000 : 500,
        })),
      })),
    );
    expect(ask(familiar, {}, slow).chosen).toBe('small');
    expect(ask(familiar, withPolicy({ latencyTargetMs: 1_000 }), slow).chosen).not.toBe('small');
    const careful = withPolicy({ dial: 0 });
    const [usual, pressed] = [ask(rust, careful), ask(rust, { ...careful, pressure: pressureOf(0.5) })];
    expect(pressed.explanation).toMatchObject({ policy: { kappa: 0.5 }, pacing: { raise: 0.5 } });
    expect(usual.explanation.pacing).toBeNull();
    expect(pressed.explanation.cost_ratio).toBeLessThan(usual.explanation.cost_ratio);
  });
});

describe('a conversation', () => {
  test('stays with its model when another is only a little better', () => {
    const two = { candidates: candidates.slice(1) };
    expect(ask(familiar, two).chosen).toBe('middle');
    const kept = ask(familiar, { ...two, ...session({ model: 'large', since: NOW - 1_000 }) });
    expect(kept).toMatchObject({ chosen: 'large' });
    expect(kept.explanation).toMatchObject({
      reason: 'session_kept',
      session: { source: 'header', sticky: 'kept', since: NOW - 1_000 },
    });
  });

  test('leaves it when another is much better, or when it is gone', () => {
    expect(ask(rust, session({ model: 'small' })).explanation.session?.sticky).toBe('broken:better_model');
    expect(ask(familiar, session({ model: 'gone' })).explanation.session?.sticky).toBe('broken:no_candidate');
    expect(ask(familiar, session({})).explanation.session?.sticky).toBe('new');
  });

  test('leaves one that is below the floor of quality or on trial; a held result stays with it', () => {
    const newest = { model: 'newest', provider: 'supplier-9', inputRate: 1, outputRate: 1, prior: 1 };
    const asked = { candidates: [...candidates, newest], ...withPolicy({ minQuality: 0.7 }) };
    const of = (text: string, more: Partial<SessionView>) => ask(text, { ...asked, ...session(more) });
    for (const [text, model] of [
      [familiar, 'newest'],
      [rust, 'small'],
    ] as const) {
      const { chosen: other, explanation } = of(text, { model });
      expect([other === model, explanation.session?.sticky]).toEqual([false, 'broken:not_good']);
      expect(of(text, { model, betweenToolCallAndResult: true }).chosen).toBe(model);
    }
  });
});

describe('failover', () => {
  test('asks other suppliers first, and the better before the worse', () => {
    const two = candidates.map((one) => ({
      ...one,
      provider: one.model === 'middle' ? 'supplier-0' : one.provider,
    }));
    const decision = ask(familiar, { candidates: two });
    expect(decision.chosen).toBe('small');
    expect(decision.fallbackOrder).toEqual(['large', 'middle']);
    expect(decision.explanation).not.toHaveProperty('last_resort');
  });

  test('asks a model below the floor of quality, or on trial, after all others, and says so', () => {
    const newest = { model: 'newest', provider: 'supplier-9', inputRate: 1, outputRate: 1, prior: 1 };
    const asked = [...candidates, newest].map((one) => ({
      ...one,
      provider: one.model === 'middle' ? 'supplier-2' : one.provider,
    }));
    const { explanation, ...decision } = ask(rust, { candidates: asked, ...withPolicy({ minQuality: 0.7 }) });
    expect(['middle', 'large']).toContain(decision.chosen);
    expect(decision.fallbackOrder[0]).toBe(decision.chosen === 'large' ? 'middle' : 'large');
    expect(new Set(decision.fallbackOrder.slice(1))).toEqual(new Set(['small', 'newest']));
    expect(explanation).toMatchObject({ fallback_order: decision.fallbackOrder, last_resort: 2 });
  });

  test('has none where the result of a tool call is brought, whoever made the call', () => {
    const between = { betweenToolCallAndResult: true };
    expect(ask(familiar, session(between))).toMatchObject({ chosen: 'small', fallbackOrder: [] });
    expect(ask(familiar, session({ ...between, model: 'large' }))).toMatchObject({
      chosen: 'large',
      fallbackOrder: [],
    });
  });
});

test('an explanation is plain JSON of at most two kilobytes', () => {
  const many = Array.from({ length: 40 }, (_, index) => ({
    ...(candidates[index % models.length] ?? { inputRate: 1, outputRate: 1, provider: '' }),
    model: `a-model-of-usual-name-${index}`,
  }));
  const { explanation } = ask(familiar, {
    candidates: many,
    excluded: { region: 2, capability: 1 },
    ...session({}),
  });
  const text = JSON.stringify(explanation);
  expect(JSON.parse(text)).toEqual(explanation);
  expect(text.length).toBeLessThan(2_048);
  expect(explanation.candidates).toHaveLength(8);
  expect(explanation.excluded).toMatchObject({ region: 2, capability: 1 });
});
