import fc from 'fast-check';
import { dialPreview, type JudgedDecision } from '../../../src/autorouter/decisions/dial-preview';
import { MIN_SAMPLE_SIZE, ratioOf } from '../../../src/kernel/statistics';

const candidate = (model: string, q: number, cost: number) => ({
  model,
  q,
  lo: q - 0.05,
  hi: q + 0.05,
  n_eff: 100,
  cost_est: cost,
  lat_est: null,
  fail: 0,
  u: q,
});

/** The default model is slightly better than the cheap model and ten times as expensive. */
const decision = (more: Partial<JudgedDecision> = {}): JudgedDecision => ({
  reference: 'dear',
  referenceCost: 1_000,
  tuning: { kappa: 0, z: 0 },
  novelty: 0.2,
  weight: 1,
  candidates: [candidate('dear', 0.8, 1_000), candidate('cheap', 0.75, 100)],
  answers: { dear: { score: 82, costNano: 1_100 }, cheap: { score: 70, costNano: 90 } },
  ...more,
});
const rules = {
  ready: new Set(['dear', 'cheap']),
  minQuality: 0,
  maxCostNano: Infinity,
  unfamiliarFrom: 0.9,
};
const repeatDecision = (count: number, more: Partial<JudgedDecision> = {}): JudgedDecision[] =>
  Array.from({ length: count }, () => decision(more));
const previewAt = async (dial: number, decisions: JudgedDecision[], changed: Partial<typeof rules> = {}) => {
  const preview = (await dialPreview(decisions, { ...rules, ...changed }))[dial];
  if (preview === undefined) throw new Error('there is no such place of the dial');
  return preview;
};

describe('Dial preview', () => {
  test('covers eleven positions from the default model to the cheapest', async () => {
    const outcomes = await dialPreview(repeatDecision(40), rules);
    expect(outcomes.map(({ dial }) => dial)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(outcomes[0]).toMatchObject({ away: 0, pairs: 40, difference: { value: 0, low: 0, high: 0 } });
    expect(outcomes[0]?.costRatio?.value).toBeCloseTo(1);
    expect(outcomes[10]).toMatchObject({ away: 1, pairs: 40 });
    expect(outcomes[10]?.difference?.value).toBeCloseTo(-12);
    expect(outcomes[10]?.costRatio?.value).toBeCloseTo(90 / 1_100);
  });

  test('reports no figures for fewer than twenty decisions', async () => {
    expect(await previewAt(10, repeatDecision(MIN_SAMPLE_SIZE - 1))).toEqual({
      dial: 10,
      away: null,
      pairs: MIN_SAMPLE_SIZE - 1,
      difference: null,
      costRatio: null,
      score: null,
      cost: null,
    });
    expect((await previewAt(10, repeatDecision(MIN_SAMPLE_SIZE))).difference).not.toBeNull();
  });

  test('counts a decision only if both the choice and the default model were judged', async () => {
    const unjudged = repeatDecision(30, { answers: { dear: { score: 82, costNano: 1_100 } } });
    expect(await previewAt(10, unjudged)).toMatchObject({ away: 1, pairs: 0, difference: null });
    expect(await previewAt(0, unjudged)).toMatchObject({ away: 0, pairs: 30 });
  });

  test('leaves unfamiliar requests to the default model except at the last position', async () => {
    const unfamiliar = repeatDecision(30, { novelty: 0.95 });
    expect((await previewAt(9, unfamiliar)).away).toBe(0);
    expect((await previewAt(10, unfamiliar)).away).toBe(1);
  });

  test('never chooses a model on trial, below the minimum quality or above the maximum cost', async () => {
    const readyModels = new Set(['dear']);
    expect((await previewAt(10, repeatDecision(30), { ready: readyModels })).away).toBe(0);
    expect((await previewAt(10, repeatDecision(30), { minQuality: 0.76 })).away).toBe(0);
    expect((await previewAt(0, repeatDecision(30), { maxCostNano: 500 })).away).toBe(1);
  });

  test('expected cost never rises as the dial moves towards savings', async () => {
    const qualities = fc.double({ min: 0.1, max: 0.9, noNaN: true });
    const costs = fc.integer({ min: 1, max: 10_000 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(qualities, costs), { minLength: 2, maxLength: 6 }),
        async (models) => {
          const candidates = models.map(([q, cost], index) => ({
            ...candidate(`m${index}`, q, cost),
            lo: q,
            hi: q,
          }));
          const answers = Object.fromEntries(
            candidates.map(({ model, q, cost_est: cost }) => [model, { score: q * 100, costNano: cost }]),
          );
          const reference = 'm0';
          const decisions = repeatDecision(MIN_SAMPLE_SIZE, { reference, candidates, answers });
          const readyModels = new Set(candidates.map(({ model }) => model));
          const ratios = (await dialPreview(decisions, { ...rules, ready: readyModels })).map(
            ({ costRatio }) => costRatio?.value ?? 0,
          );
          ratios
            .slice(1)
            .forEach((ratio, index) => expect(ratio).toBeLessThanOrEqual((ratios[index] ?? 0) + 1e-9));
        },
      ),
    );
  });
});

describe('Cost ratio', () => {
  test('has an interval that narrows with more pairs, and is null for few pairs or zero cost', () => {
    const pairs = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ value: 40 + (index % 5), other: 100, weight: 1 }));
    const [few, more] = [ratioOf(pairs(20)), ratioOf(pairs(200))];
    expect(few?.value).toBeCloseTo(0.42);
    expect(few?.low).toBeLessThan(0.42);
    expect((more?.high ?? 1) - (more?.low ?? 0)).toBeLessThan((few?.high ?? 0) - (few?.low ?? 0));
    expect(ratioOf(pairs(19))).toBeNull();
    expect(ratioOf(pairs(30).map((pair) => ({ ...pair, other: 0 })))).toBeNull();
  });

  test('interval covers the true ratio in about 95 % of cases', () => {
    let state = 7;
    const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const covered = Array.from({ length: 400 }, () => {
      const pairs = Array.from({ length: 60 }, () => {
        const referenceCost = 50 + 100 * random();
        return { value: referenceCost * (0.3 + 0.4 * random()), other: referenceCost, weight: 1 };
      });
      const ratio = ratioOf(pairs);
      return ratio !== null && ratio.low <= 0.5 && ratio.high >= 0.5;
    });
    const share = covered.filter(Boolean).length / covered.length;
    expect(share).toBeGreaterThan(0.91);
    expect(share).toBeLessThan(0.99);
  });
});
