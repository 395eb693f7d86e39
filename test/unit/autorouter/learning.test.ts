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
const MEMORY = 8_192;

const taught = (some: readonly Example[]): RouterState => {
  const state = emptyState();
  learnAll(state, some);
  decay(state, NOW);
  return state;
};

/** Everything that is decided on. */
const known = ({ models }: RouterState): { names: string[]; sums: number[] } => {
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

/** Sums in another order differ in their last digits. */
function expectSame(one: RouterState, other: RouterState): void {
  const [left, right] = [known(one), known(other)];
  expect(right.names).toEqual(left.names);
  expect(right.sums).toHaveLength(left.sums.length);
  const apart = left.sums.filter(
    (sum, at) => Math.abs(sum - (right.sums[at] ?? NaN)) > 1e-9 * Math.max(1, sum),
  );
  expect(apart).toEqual([]);
}

const reversed = <T>(some: readonly T[]): T[] => [...some].reverse();

const sumsOf = (state: RouterState, model: string): { weight: number; scored: number } => {
  const all = state.models.get(model)?.all;
  return { weight: all?.weight ?? 0, scored: all?.scored ?? 0 };
};

describe('the router learns', () => {
  test('an example learned twice counts once', () => {
    fc.assert(
      fc.property(examples, (some) => {
        const once = taught(some);
        const twice = taught([...some, ...some]);
        expectSame(once, twice);
        expect(twice.memory.examples).toHaveLength(once.memory.examples.length);
        const before = twice.version;
        for (const example of some) expect(learn(twice, example)).toBe(false);
        expect(twice.version).toBe(before);
      }),
      { numRuns: 15 },
    );
  });

  test('the order does not matter', () => {
    fc.assert(
      fc.property(examples, prompts, (some, text) => {
        const [one, other] = [taught(some), taught(reversed(some))];
        expectSame(one, other);
        const decided = [one, other].map((state) => {
          const decision = decide(state, questionOf(text));
          return decision.kind === 'chosen' && decision.explanation.candidates;
        });
        expect(decided[1]).toEqual(decided[0]);
      }),
      { numRuns: 15 },
    );
  });

  test('one by one is the same as all at once', () => {
    const single = emptyState();
    for (const example of taughtExamples(200)) learn(single, example);
    const bulk = emptyState();
    learnAll(bulk, taughtExamples(200));
    expectSame(bulk, single);
    single.memory.reindex();
    expect(decide(single, questionOf('explain the borrow checker in rust'))).toEqual(
      decide(bulk, questionOf('explain the borrow checker in rust')),
    );
  });

  test('further models join the example of the same request; their scores are not counted again', () => {
    const state = emptyState();
    expect(learn(state, exampleOf('a', 'poem', { small: 0.5 }))).toBe(true);
    expect(learn(state, exampleOf('a', 'poem', { small: 0.9, large: 1 }))).toBe(true);
    expect(learn(state, exampleOf('a', 'poem', { large: 0 }))).toBe(false);
    expect(sumsOf(state, 'small')).toEqual({ weight: 1, scored: 0.5 });
    expect(sumsOf(state, 'large')).toEqual({ weight: 1, scored: 1 });
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
  ])('an example with %s teaches nothing', (_, wrong) => {
    const state = emptyState();
    expect(learn(state, exampleOf('a', 'poem about the sea', { small: 1 }, wrong))).toBe(false);
    expect([state.version, state.models.size, state.memory.examples.length]).toEqual([0, 0, 0]);
  });

  test('halves in thirty days', () => {
    const state = taught([exampleOf('a', 'poem', { small: 1 })]);
    decay(state, NOW + 30 * DAY_MS);
    expect(sumsOf(state, 'small').weight).toBeCloseTo(0.5, 12);
    decay(state, NOW);
    expect(sumsOf(state, 'small').weight).toBeCloseTo(0.5, 12);
  });

  test('of a model that was changed what came before counts a quarter, whenever it is learned', () => {
    const early = exampleOf('early', 'poem', { small: 1, large: 1 }, { at: NOW - 1_000 });
    const late = exampleOf('late', 'poem', { small: 1 }, { at: NOW + 1_000 });
    const state = taught([early]);
    modelChanged(state, 'small', NOW);
    modelChanged(state, 'small', NOW);
    learnAll(state, [late, { ...early, id: 'early too' }]);
    decay(state, NOW + 1_000);
    expect(sumsOf(state, 'small').weight).toBeCloseTo(0.25 + 1 + 0.25, 4);
    expect(sumsOf(state, 'large').weight).toBeCloseTo(2, 4);
  });

  test('of more than 8,192 requests the last are remembered, the sums know all', () => {
    const state = emptyState();
    const many = Array.from({ length: MEMORY + 100 }, (_, index) =>
      exampleOf(`example-${index}`, `word${index}`, { small: 1 }),
    );
    expect(learnAll(state, many)).toBe(MEMORY + 100);
    const remembered = state.memory.inOrder();
    expect(remembered).toHaveLength(MEMORY);
    expect(remembered[0]?.id).toBe('example-100');
    expect(remembered.at(-1)?.id).toBe(`example-${MEMORY + 99}`);
    expect(sumsOf(state, 'small').weight).toBeCloseTo(MEMORY + 100, 6);
  });

  test('saved as JSON and loaded it decides the same', () => {
    fc.assert(
      fc.property(examples, prompts, (some, text) => {
        const state = taught(some);
        calibrate(state);
        const [stored, rows] = JSON.parse(JSON.stringify([storedState(state), storedExamples(state)])) as [
          ReturnType<typeof storedState>,
          ReturnType<typeof storedExamples>,
        ];
        const loaded = loadedState(stored, rows);
        expect(loaded.version).toBe(state.version);
        expect(decide(loaded, questionOf(text))).toEqual(decide(state, questionOf(text)));
        const further = exampleOf('further', text, { small: 1, large: 0 });
        expect([learn(loaded, further), learn(state, further)]).toEqual([true, true]);
        expectSame(state, loaded);
      }),
      { numRuns: 15 },
    );
  });

  test('sums over signals of another length are left out, the rest is kept', () => {
    const state = taught(taughtExamples(60));
    const stored = storedState(state);
    const models = Object.fromEntries(
      Object.entries(stored.models).map(([model, one]) => [
        model,
        { ...one, scored: one.scored.slice(0, 32) },
      ]),
    );
    const loaded = loadedState({ ...stored, models }, storedExamples(state));
    expect(loaded.models.get('large')?.linear.scored.every((sum) => sum === 0)).toBe(true);
    expect(sumsOf(loaded, 'large')).toEqual(sumsOf(state, 'large'));
    const decision = decide(loaded, questionOf('explain the poem about seas'));
    expect(
      decision.kind === 'chosen' && decision.explanation.candidates.every(({ q }) => q >= 0 && q <= 1),
    ).toBe(true);
  });
});

describe('the nearest remembered requests', () => {
  test('are those with the highest cosine, most similar first', () => {
    fc.assert(
      fc.property(examples, prompts, (some, text) => {
        const { memory } = taught(some);
        const asked = exampleOf('asked', text, {});
        const found = memory.nearest(asked);
        const wanted = memory.examples
          .map((example, slot) => ({ slot, similarity: cosine(example, asked, memory.examples) }))
          .filter(({ similarity }) => similarity >= 0.03);
        expect(found).toHaveLength(wanted.length);
        for (const { slot, similarity } of found)
          expect(similarity).toBeCloseTo(wanted.find((one) => one.slot === slot)?.similarity ?? NaN, 4);
        const order = found.map(({ similarity }) => similarity);
        expect(order).toEqual([...order].sort((one, other) => other - one));
      }),
      { numRuns: 15 },
    );
  });

  test('include what was learned since the index was made, and nothing that was pushed out', () => {
    const state = emptyState();
    learnAll(
      state,
      Array.from({ length: MEMORY }, (_, index) =>
        exampleOf(`old-${index}`, `lighthouse keeper ${index % 7}`, { small: 1 }),
      ),
    );
    for (let index = 0; index < 20; index += 1)
      learn(state, exampleOf(`new-${index}`, `violin concerto ${index}`, { small: 1 }));
    const near = state.memory.nearest(exampleOf('asked', 'violin concerto', {}));
    expect(near.map(({ slot }) => state.memory.examples[slot]?.id.slice(0, 3))).toEqual(
      Array(20).fill('new'),
    );
    const old = state.memory.nearest(exampleOf('asked', 'lighthouse keeper', {}));
    expect(old.every(({ slot }) => slot >= 20)).toBe(true);
  });
});

/** By the book, over all words. */
function cosine(one: Example, other: Example, all: readonly Example[]): number {
  const idf = (hash: number): number => {
    const having = all.filter(({ hashes }) => hashes.includes(hash)).length;
    return having > Math.max(40, 0.2 * all.length) ? 0 : Math.log((all.length + 1) / (having + 1));
  };
  const vector = ({ hashes, counts }: Example): Map<number, number> =>
    new Map([...hashes].map((hash, at) => [hash, idf(hash) * Math.log1p(counts[at] ?? 0)]));
  const [left, right] = [vector(one), vector(other)];
  const norm = (of: Map<number, number>): number => Math.hypot(...of.values());
  const dot = [...left].reduce((sum, [hash, value]) => sum + value * (right.get(hash) ?? 0), 0);
  return dot / (norm(left) * norm(right) || 1);
}

describe('enough has to be learned', () => {
  test('500 judged answers, and 30 of a model', () => {
    const state = taught(taughtExamples(160));
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
