import fc from 'fast-check';
import {
  calibrate,
  decay,
  decide,
  emptyState,
  type Example,
  learn,
  learnAll,
  loadedState,
  modelChanged,
  readiness,
  type RouterState,
  storedExamples,
  storedState,
} from '../../../src/autorouter/engine';
import { exampleOf, examples, NOW, prompts, questionOf, taughtExamples } from './traffic';

const DAY_MS = 86_400_000;
const MEMORY_SIZE = 8_192;

const trainedState = (some: readonly Example[]): RouterState => {
  const state = emptyState();
  learnAll(state, some);
  decay(state, NOW);
  return state;
};

/** Returns every sum that decisions are based on. */
const learnedValues = ({ models }: RouterState): { names: string[]; sums: number[] } => {
  const sorted = [...models].sort(([one], [other]) => (one < other ? -1 : 1));
  const buckets = sorted.map(([, one]) =>
    [...one.buckets].sort(([left], [right]) => (left < right ? -1 : 1)),
  );
  return {
    names: sorted.flatMap(([model], at) => [model, ...(buckets[at] ?? []).map(([bucket]) => bucket)]),
    sums: sorted.flatMap(([, { judged, all, linear }], at) => [
      judged,
      ...[all, ...(buckets[at] ?? []).map(([, sums]) => sums)].flatMap((sums) => [
        sums.weight,
        sums.scored,
        sums.tokens,
      ]),
      ...linear.products,
      ...linear.scored,
    ]),
  };
};

/** Sums in a different order differ in their last digits. */
function expectSameState(one: RouterState, other: RouterState): void {
  const [left, right] = [learnedValues(one), learnedValues(other)];
  expect(right.names).toEqual(left.names);
  expect(right.sums).toHaveLength(left.sums.length);
  const differences = left.sums.filter(
    (sum, at) => Math.abs(sum - (right.sums[at] ?? NaN)) > 1e-9 * Math.max(1, sum),
  );
  expect(differences).toEqual([]);
}

const reversed = <T>(some: readonly T[]): T[] => [...some].reverse();

const modelSums = (state: RouterState, model: string): { weight: number; scored: number } => {
  const totals = state.models.get(model)?.all;
  return { weight: totals?.weight ?? 0, scored: totals?.scored ?? 0 };
};

describe('Router learning', () => {
  test('counts an example once even if it is learned twice', () => {
    fc.assert(
      fc.property(examples, (some) => {
        const learnedOnce = trainedState(some);
        const learnedTwice = trainedState([...some, ...some]);
        expectSameState(learnedOnce, learnedTwice);
        expect(learnedTwice.memory.examples).toHaveLength(learnedOnce.memory.examples.length);
        const version = learnedTwice.version;
        for (const example of some) expect(learn(learnedTwice, example)).toBe(false);
        expect(learnedTwice.version).toBe(version);
      }),
      { numRuns: 15 },
    );
  });

  test('does not depend on the order of examples', () => {
    fc.assert(
      fc.property(examples, prompts, (some, text) => {
        const [one, other] = [trainedState(some), trainedState(reversed(some))];
        expectSameState(one, other);
        const decisions = [one, other].map((state) => {
          const decision = decide(state, questionOf(text));
          return decision.kind === 'chosen' && decision.explanation.candidates;
        });
        expect(decisions[1]).toEqual(decisions[0]);
      }),
      { numRuns: 15 },
    );
  });

  test('learning one by one equals learning in bulk', () => {
    const singleState = emptyState();
    for (const example of taughtExamples(200)) learn(singleState, example);
    const bulkState = emptyState();
    learnAll(bulkState, taughtExamples(200));
    expectSameState(bulkState, singleState);
    singleState.memory.reindex();
    expect(decide(singleState, questionOf('explain the borrow checker in rust'))).toEqual(
      decide(bulkState, questionOf('explain the borrow checker in rust')),
    );
  });

  test('adds further models to the example of a request without counting its scores again', () => {
    const state = emptyState();
    expect(learn(state, exampleOf('a', 'poem', { small: 0.5 }))).toBe(true);
    expect(learn(state, exampleOf('a', 'poem', { small: 0.9, large: 1 }))).toBe(true);
    expect(learn(state, exampleOf('a', 'poem', { large: 0 }))).toBe(false);
    expect(modelSums(state, 'small')).toEqual({ weight: 1, scored: 0.5 });
    expect(modelSums(state, 'large')).toEqual({ weight: 1, scored: 1 });
    expect(state.memory.inOrder().map(({ outcomes }) => outcomes.length)).toEqual([2]);
    expect(state.requests.weight).toBe(1);
  });

  test.each([
    ['a score beyond 1', { outcomes: [{ model: 'small', score: 1.1, tokensOut: 1 }] }],
    ['a score that is no number', { outcomes: [{ model: 'small', score: NaN, tokensOut: 1 }] }],
    ['endless tokens', { outcomes: [{ model: 'small', score: 1, tokensOut: Infinity }] }],
    ['no weight', { weight: 0 }],
    ['no time', { at: NaN }],
    ['signals of another algorithm', { structure: new Float32Array(39) }],
    ['fewer counts than hashes', { counts: new Uint8Array(0) }],
  ])('ignores an example with %s', (_, wrong) => {
    const state = emptyState();
    expect(learn(state, exampleOf('a', 'poem about the sea', { small: 1 }, wrong))).toBe(false);
    expect([state.version, state.models.size, state.memory.examples.length]).toEqual([0, 0, 0]);
  });

  test('halves the weight of examples every thirty days', () => {
    const state = trainedState([exampleOf('a', 'poem', { small: 1 })]);
    decay(state, NOW + 30 * DAY_MS);
    expect(modelSums(state, 'small').weight).toBeCloseTo(0.5, 12);
    decay(state, NOW);
    expect(modelSums(state, 'small').weight).toBeCloseTo(0.5, 12);
  });

  test('weighs examples from before a model change at a quarter, in any learning order', () => {
    const earlyExample = exampleOf('early', 'poem', { small: 1, large: 1 }, { at: NOW - 1_000 });
    const lateExample = exampleOf('late', 'poem', { small: 1 }, { at: NOW + 1_000 });
    const state = trainedState([earlyExample]);
    modelChanged(state, 'small', NOW);
    modelChanged(state, 'small', NOW);
    learnAll(state, [lateExample, { ...earlyExample, id: 'early too' }]);
    decay(state, NOW + 1_000);
    expect(modelSums(state, 'small').weight).toBeCloseTo(0.25 + 1 + 0.25, 4);
    expect(modelSums(state, 'large').weight).toBeCloseTo(2, 4);
  });

  test('remembers the last 8,192 requests while the sums cover all', () => {
    const state = emptyState();
    const manyExamples = Array.from({ length: MEMORY_SIZE + 100 }, (_, index) =>
      exampleOf(`example-${index}`, `word${index}`, { small: 1 }),
    );
    expect(learnAll(state, manyExamples)).toBe(MEMORY_SIZE + 100);
    const remembered = state.memory.inOrder();
    expect(remembered).toHaveLength(MEMORY_SIZE);
    expect(remembered[0]?.id).toBe('example-100');
    expect(remembered.at(-1)?.id).toBe(`example-${MEMORY_SIZE + 99}`);
    expect(modelSums(state, 'small').weight).toBeCloseTo(MEMORY_SIZE + 100, 6);
  });

  test('decides the same after it is saved as JSON and loaded', () => {
    fc.assert(
      fc.property(examples, prompts, (some, text) => {
        const state = trainedState(some);
        calibrate(state);
        const [stored, rows] = JSON.parse(JSON.stringify([storedState(state), storedExamples(state)])) as [
          ReturnType<typeof storedState>,
          ReturnType<typeof storedExamples>,
        ];
        const restoredState = loadedState(stored, rows);
        expect(restoredState.version).toBe(state.version);
        expect(decide(restoredState, questionOf(text))).toEqual(decide(state, questionOf(text)));
        const furtherExample = exampleOf('further', text, { small: 1, large: 0 });
        expect([learn(restoredState, furtherExample), learn(state, furtherExample)]).toEqual([true, true]);
        expectSameState(state, restoredState);
      }),
      { numRuns: 15 },
    );
  });

  test('drops sums over signals of another length on load and keeps the rest', () => {
    const state = trainedState(taughtExamples(60));
    const stored = storedState(state);
    const models = Object.fromEntries(
      Object.entries(stored.models).map(([model, one]) => [
        model,
        { ...one, scored: one.scored.slice(0, 32) },
      ]),
    );
    const restoredState = loadedState({ ...stored, models }, storedExamples(state));
    expect(restoredState.models.get('large')?.linear.scored.every((sum) => sum === 0)).toBe(true);
    expect(modelSums(restoredState, 'large')).toEqual(modelSums(state, 'large'));
    const decision = decide(restoredState, questionOf('explain the poem about seas'));
    expect(
      decision.kind === 'chosen' && decision.explanation.candidates.every(({ q }) => q >= 0 && q <= 1),
    ).toBe(true);
  });
});

describe('Nearest remembered requests', () => {
  test('have the highest cosine similarity, most similar first', () => {
    fc.assert(
      fc.property(examples, prompts, (some, text) => {
        const { memory } = trainedState(some);
        const queryExample = exampleOf('asked', text, {});
        const nearest = memory.nearest(queryExample);
        const expectedIds = memory.examples
          .map((example, slot) => ({ slot, similarity: exactCosine(example, queryExample, memory.examples) }))
          .filter(({ similarity }) => similarity >= 0.03);
        expect(nearest).toHaveLength(expectedIds.length);
        for (const { slot, similarity } of nearest)
          expect(similarity).toBeCloseTo(expectedIds.find((one) => one.slot === slot)?.similarity ?? NaN, 4);
        const order = nearest.map(({ similarity }) => similarity);
        expect(order).toEqual([...order].sort((one, other) => other - one));
      }),
      { numRuns: 15 },
    );
  });

  test('include examples learned since the index was built and exclude evicted ones', () => {
    const state = emptyState();
    learnAll(
      state,
      Array.from({ length: MEMORY_SIZE }, (_, index) =>
        exampleOf(`old-${index}`, `lighthouse keeper ${index % 7}`, { small: 1 }),
      ),
    );
    for (let index = 0; index < 20; index += 1)
      learn(state, exampleOf(`new-${index}`, `violin concerto ${index}`, { small: 1 }));
    const recentMatches = state.memory.nearest(exampleOf('asked', 'violin concerto', {}));
    expect(recentMatches.map(({ slot }) => state.memory.examples[slot]?.id.slice(0, 3))).toEqual(
      Array(20).fill('new'),
    );
    const evictedMatches = state.memory.nearest(exampleOf('asked', 'lighthouse keeper', {}));
    expect(evictedMatches.every(({ slot }) => slot >= 20)).toBe(true);
  });
});

/** Reference implementation over all words. */
function exactCosine(one: Example, other: Example, all: readonly Example[]): number {
  const idf = (hash: number): number => {
    const documentCount = all.filter(({ hashes }) => hashes.includes(hash)).length;
    return documentCount > Math.max(40, 0.2 * all.length)
      ? 0
      : Math.log((all.length + 1) / (documentCount + 1));
  };
  const vector = ({ hashes, counts }: Example): Map<number, number> =>
    new Map([...hashes].map((hash, at) => [hash, idf(hash) * Math.log1p(counts[at] ?? 0)]));
  const [left, right] = [vector(one), vector(other)];
  const norm = (of: Map<number, number>): number => Math.hypot(...of.values());
  const dot = [...left].reduce((sum, [hash, value]) => sum + value * (right.get(hash) ?? 0), 0);
  return dot / (norm(left) * norm(right) || 1);
}

describe('Minimum training data', () => {
  test('requires 500 judged responses and 30 per model', () => {
    const state = trainedState(taughtExamples(160));
    expect(readiness(state, ['small', 'large'])).toMatchObject({ ready: false, judged: 480, needed: 500 });
    for (let index = 0; index < 20; index += 1)
      learn(state, exampleOf(`more-${index}`, 'poem', { newest: 1 }));
    expect(readiness(state, ['small', 'large', 'newest'])).toMatchObject({
      ready: true,
      judged: 500,
      models: [{ ready: true }, { ready: true }, { model: 'newest', judged: 20, ready: false }],
    });
    expect(readiness(state, ['large', 'newest']).ready).toBe(false);
  });
});
