import { decide } from '#inside/autorouter/engine/index';
import { deviation, mean } from './curve';
import type { DataSet, PublicData, PromptRow } from './data';
import { measureSpeed } from './decision-speed';
import { compare, type Comparison, type MethodName, type FrontierOutcome, split } from './frontier';
import { learningOutcome } from './learning';
import { above, atLeast, atMost, type RequirementBar, type RouterFigure } from './figure';
import { candidatesOf, NOW, policyOf, router, shuffledLabels, trainRouter } from './methods';
import { type PairOutcome, pairOutcome } from './pair';
import { type Preset, presets, serve, type ServedOutcome } from './presets';
import { randomOf, shuffled } from './random';

interface TrackBars {
  readonly must?: RequirementBar;
  readonly target?: RequirementBar;
}

const bars = (must: RequirementBar, target?: RequirementBar): TrackBars => ({
  must,
  ...(target === undefined ? {} : { target }),
});

/** Requirements of a track per curve figure; figures without one are only printed. */
type CurveBars = Partial<Record<keyof FrontierOutcome, TrackBars>>;

const curveLabels: Readonly<Record<keyof FrontierOutcome, readonly [string, RouterFigure['unit']]>> = {
  gapClosed: ['gap closed', '%'],
  averageQuality: ['average quality (AIQ)', ''],
  maxQuality: ['most quality / best single', '×'],
  cost100: ['cost at 100 % of best quality', '×'],
  cost99: ['cost at 99 % of best quality', '×'],
  cost95: ['cost at 95 % of best quality', '×'],
};

const methodLabels: Readonly<Record<Exclude<MethodName, 'router'>, string>> = {
  nearest: 'kNN',
  taskBuckets: 'task buckets',
  shuffledLabels: 'shuffled labels (control)',
};

/** Tracks A to C: the complete curve, compared with the other methods. */
export function curveTrack(
  track: string,
  set: DataSet,
  seeds: readonly number[],
  requirements: CurveBars,
  beats: readonly MethodName[] = ['shuffledLabels'],
): RouterFigure[] {
  const comparison = compare(set, seeds);
  const routerFigures = (Object.keys(curveLabels) as (keyof FrontierOutcome)[]).map((key): RouterFigure => {
    const [what, unit] = curveLabels[key];
    const values = comparison.outcomes.router.map((outcome) => outcome[key]);
    return { track, what: `${set.name}: ${what}`, unit, values, ...requirements[key] };
  });
  return [
    ...routerFigures,
    ...beats.map((name) => leadOver(track, comparison, name)),
    notBelow(
      track,
      comparison.outcomes.router.map(({ gapClosed }) => gapClosed),
    ),
    ...baselines(track, comparison),
    ...presetFigures(track, set, seeds),
  ];
}

/** Compared on the same splits, so that the split does not matter. */
const leadOver = (track: string, { outcomes }: Comparison, name: MethodName): RouterFigure => ({
  track,
  what: `gap closed beyond ${name === 'router' ? name : methodLabels[name]}`,
  unit: '%',
  values: outcomes.router.map(({ gapClosed }, at) => gapClosed - (outcomes[name][at]?.gapClosed ?? NaN)),
  ...bars(above(0)),
});

const notBelow = (track: string, values: readonly number[], zero = 0): RouterFigure => ({
  track: 'H',
  what: `track ${track}: above the zero router less 1 sd`,
  unit: '',
  values: [mean(values) - zero + deviation(values)],
  ...bars(atLeast(0)),
});

function baselines(track: string, { frames, outcomes }: Comparison): RouterFigure[] {
  const baseline = (
    what: string,
    of: (frame: (typeof frames)[number]) => number,
    unit: RouterFigure['unit'] = '',
  ): RouterFigure => ({
    track,
    what: `baseline ${what}`,
    unit,
    values: frames.map(of),
  });
  const methods = (Object.keys(methodLabels) as (keyof typeof methodLabels)[]).map((name): RouterFigure => {
    const meanCost = mean(outcomes[name].map(({ cost99 }) => cost99)).toFixed(3);
    return {
      track,
      what: `baseline ${methodLabels[name]}: gap closed`,
      unit: '%',
      values: outcomes[name].map(({ gapClosed }) => gapClosed),
      note: `cost at 99 %: ${meanCost}`,
    };
  });
  return [
    baseline('zero router: AIQ', ({ zero }) => zero),
    baseline('oracle: AIQ', ({ oracle }) => oracle),
    baseline('best single: quality', ({ best }) => best.quality),
    baseline('cheapest: quality / best', ({ cheapest, best }) => cheapest.quality / best.quality, '×'),
    baseline('cheapest: cost / best', ({ cheapest, best }) => cheapest.cost / best.cost, '×'),
    baseline('random: quality / best', ({ random, best }) => random.quality / best.quality, '×'),
    baseline('random: cost / best', ({ random, best }) => random.cost / best.cost, '×'),
    ...methods,
  ];
}

function presetFigures(track: string, set: DataSet, seeds: readonly number[]): RouterFigure[] {
  const outcomesByPreset = new Map<string, ServedOutcome[]>();
  for (const seed of seeds) {
    const { train, test } = split(set, seed);
    const state = trainRouter(set, train);
    for (const [name, preset] of Object.entries(presets)) {
      const outcome = serve(set, train, test, preset, state);
      outcomesByPreset.set(name, [...(outcomesByPreset.get(name) ?? []), outcome]);
    }
  }
  return [...outcomesByPreset].flatMap(([name, outcomes]): RouterFigure[] => {
    const isRequired = track === 'C' && name === 'balanced';
    return [
      {
        track,
        what: `preset ${name}: cost / reference`,
        unit: '×',
        values: outcomes.map(({ cost }) => cost),
        ...(isRequired ? bars(atMost(0.72), atMost(0.63)) : {}),
      },
      {
        track,
        what: `preset ${name}: quality / reference`,
        unit: '×',
        values: outcomes.map(({ quality }) => quality),
        ...(isRequired ? bars(atLeast(0.985), atLeast(1)) : {}),
      },
    ];
  });
}

/** Track D: a weak and a strong model, by the metrics of RouteLLM. */
export function pairTrack(data: PublicData, seeds: readonly number[]): RouterFigure[] {
  const parts = [
    { set: data.mmluPair, labels: 1_531, asked: bars(atLeast(0.61), atLeast(0.63)) },
    { set: data.gsmPair, labels: 660, asked: bars(atLeast(0.58), atLeast(0.61)) },
  ];
  return parts.flatMap(({ set, labels, asked }) => {
    const routerOutcomes = seeds.map((seed) => pairOutcome(set, seed, labels, router));
    const controlOutcomes = seeds.map((seed) => pairOutcome(set, seed, labels, shuffledLabels));
    const figure = (key: keyof PairOutcome, outcomes: readonly PairOutcome[]): number[] =>
      outcomes.map((outcome) => outcome[key]);
    const describe = (what: string): { track: string; what: string } => ({
      track: 'D',
      what: `${set.name} @${labels} labels: ${what}`,
    });
    const apgr = figure('apgr', routerOutcomes);
    return [
      { ...describe('APGR'), unit: '', values: apgr, ...asked },
      { ...describe('calls for 50 %'), unit: '%', values: figure('cpt50', routerOutcomes) },
      { ...describe('calls for 80 %'), unit: '%', values: figure('cpt80', routerOutcomes) },
      { ...describe('APGR of shuffled labels'), unit: '', values: figure('apgr', controlOutcomes) },
      {
        ...describe('APGR beyond shuffled labels'),
        unit: '',
        values: apgr.map((value, at) => value - (controlOutcomes[at]?.apgr ?? NaN)),
        ...bars(above(0)),
      },
      notBelow('D', apgr, 0.5),
    ] satisfies RouterFigure[];
  });
}

const HELD_OUT_SHARE = 0.3;

/** Track E: requests of categories absent from training. */
export function unseenTrack(data: PublicData, seeds: readonly number[]): RouterFigure[] {
  return [data.mixed, data.mmluPro].flatMap((set): RouterFigure[] => {
    const outcomes = seeds.map((seed) => serveUnseen(set, seed, presets.quality));
    const requirements = set === data.mixed ? bars(atLeast(0.98), atLeast(0.99)) : {};
    const describe = (what: string) => ({ track: 'E', what: `${set.name}, unseen: ${what}` });
    return [
      {
        ...describe('quality / reference'),
        unit: '×',
        values: outcomes.map(({ quality }) => quality),
        ...requirements,
      },
      { ...describe('cost / reference'), unit: '×', values: outcomes.map(({ cost }) => cost) },
      { ...describe('unfamiliar'), unit: '%', values: outcomes.map(({ unfamiliar }) => 100 * unfamiliar) },
    ];
  });
}

function serveUnseen(set: DataSet, seed: number, preset: Preset): ServedOutcome {
  const random = randomOf(seed);
  const categories = shuffled([...new Set(set.rows.map(({ category }) => category))], random);
  const unseen = new Set(categories.slice(0, Math.max(1, Math.round(categories.length * HELD_OUT_SHARE))));
  const [test, train] = [true, false].map((isUnseen) =>
    set.rows.filter(({ category }) => unseen.has(category) === isUnseen),
  ) as [PromptRow[], PromptRow[]];
  return serve(set, train, test, preset);
}

/** Track F: what 3,000 judged answers teach. */
export function learningTrack(data: PublicData, seeds: readonly number[]): RouterFigure[] {
  const outcomes = seeds.map((seed) => learningOutcome(data.mix, seed));
  const describe = (what: string) => ({ track: 'F', what: `3,000 judged: ${what}`, unit: '%' as const });
  return [
    {
      ...describe('gap closed, all replayed'),
      values: outcomes.map(({ all }) => all),
      ...bars(atLeast(6), atLeast(9)),
    },
    { ...describe('gap closed, served only'), values: outcomes.map(({ served }) => served) },
    {
      ...describe('all replayed beyond served'),
      values: outcomes.map(({ all, served }) => all - served),
      ...bars(above(0)),
    },
  ];
}

/** Track G: cost of a decision. */
export function speedTrack(set: DataSet): RouterFigure[] {
  const { cpuMs, medianMs: middleMs, learnMs, calls } = measureSpeed(set);
  return [
    {
      track: 'G',
      what: 'CPU of a decision, mean',
      unit: 'ms',
      values: cpuMs,
      ...bars(atMost(0.6), atMost(0.3)),
    },
    { track: 'G', what: 'decision, p50', unit: 'ms', values: middleMs, ...bars(atMost(0.5)) },
    { track: 'G', what: 'CPU of learning one request', unit: 'ms', values: [learnMs] },
    { track: 'G', what: 'network calls', unit: '', values: [calls], ...bars(atMost(0)) },
  ];
}

/** Track H: invariants over random candidate sets and conversations. */
export function invariantTrack(set: DataSet, seed: number): RouterFigure[] {
  const { train, test, random } = split(set, seed);
  const state = trainRouter(set, train);
  const all = candidatesOf(set);
  let [outside, changed] = [0, 0];
  for (const { features } of test.slice(0, 1_000)) {
    const candidates = all.filter(() => random() < 0.5);
    const question = { features, candidates, now: NOW, policy: policyOf(undefined) };
    const decision = decide(state, question);
    const names = new Set(candidates.map(({ model }) => model));
    const chosenModels = decision.kind === 'none' ? [] : [decision.chosen, ...decision.fallbackOrder];
    if (chosenModels.some((model) => !names.has(model))) outside += 1;
    const model = set.models[Math.floor(random() * set.models.length)] ?? '';
    const session = { source: 'header', model, betweenToolCallAndResult: true, cachedTokens: 0 };
    const sessionDecision = decide(state, { ...question, session });
    if (
      sessionDecision.kind === 'chosen' &&
      (sessionDecision.chosen !== model || sessionDecision.fallbackOrder.length > 0)
    )
      changed += 1;
  }
  return [
    { track: 'H', what: 'models outside the candidate set', unit: '', values: [outside], ...bars(atMost(0)) },
    {
      track: 'H',
      what: 'models changed before a tool result',
      unit: '',
      values: [changed],
      ...bars(atMost(0)),
    },
  ];
}
