import { decide } from '#inside/autorouter/engine/index';
import { deviation, mean } from './curve';
import type { DataSet, PublicData, Row } from './data';
import { measureSpeed } from './decision-speed';
import { compare, type Compared, type MethodName, type Outcome, split } from './frontier';
import { learningOutcome } from './learning';
import { above, atLeast, atMost, type Bar, type Figure } from './measured';
import { candidatesOf, NOW, policyOf, router, shuffledLabels, trained } from './methods';
import { type PairOutcome, pairOutcome } from './pair';
import { type Preset, presets, serve, type Served } from './presets';
import { randomOf, shuffled } from './random';

interface Bars {
  readonly must?: Bar;
  readonly target?: Bar;
}

const bars = (must: Bar, target?: Bar): Bars => ({ must, ...(target === undefined ? {} : { target }) });

/** A track asks this of figures of the curve; the others are printed without a bar. */
type CurveBars = Partial<Record<keyof Outcome, Bars>>;

const curveWords: Readonly<Record<keyof Outcome, readonly [string, Figure['unit']]>> = {
  gapClosed: ['gap closed', '%'],
  averageQuality: ['average quality (AIQ)', ''],
  mostQuality: ['most quality / best single', '×'],
  cost100: ['cost at 100 % of best quality', '×'],
  cost99: ['cost at 99 % of best quality', '×'],
  cost95: ['cost at 95 % of best quality', '×'],
};

const methodWords: Readonly<Record<Exclude<MethodName, 'router'>, string>> = {
  nearest: 'kNN',
  taskBuckets: 'task buckets',
  shuffledLabels: 'shuffled labels (control)',
};

/** Tracks A to C: the whole curve, beside the other methods. */
export function curveTrack(
  track: string,
  set: DataSet,
  seeds: readonly number[],
  asked: CurveBars,
  beats: readonly MethodName[] = ['shuffledLabels'],
): Figure[] {
  const compared = compare(set, seeds);
  const own = (Object.keys(curveWords) as (keyof Outcome)[]).map((key): Figure => {
    const [what, unit] = curveWords[key];
    const values = compared.outcomes.router.map((outcome) => outcome[key]);
    return { track, what: `${set.name}: ${what}`, unit, values, ...asked[key] };
  });
  return [
    ...own,
    ...beats.map((name) => lead(track, compared, name)),
    notBelowZero(
      track,
      compared.outcomes.router.map(({ gapClosed }) => gapClosed),
    ),
    ...baselines(track, compared),
    ...presetFigures(track, set, seeds),
  ];
}

/** On the same splits, so that luck with a split does not count. */
const lead = (track: string, { outcomes }: Compared, name: MethodName): Figure => ({
  track,
  what: `gap closed beyond ${name === 'router' ? name : methodWords[name]}`,
  unit: '%',
  values: outcomes.router.map(({ gapClosed }, at) => gapClosed - (outcomes[name][at]?.gapClosed ?? NaN)),
  ...bars(above(0)),
});

const notBelowZero = (track: string, values: readonly number[], zero = 0): Figure => ({
  track: 'H',
  what: `track ${track}: above the zero router less 1 sd`,
  unit: '',
  values: [mean(values) - zero + deviation(values)],
  ...bars(atLeast(0)),
});

function baselines(track: string, { frames, outcomes }: Compared): Figure[] {
  const each = (
    what: string,
    of: (frame: (typeof frames)[number]) => number,
    unit: Figure['unit'] = '',
  ): Figure => ({
    track,
    what: `baseline ${what}`,
    unit,
    values: frames.map(of),
  });
  const methods = (Object.keys(methodWords) as (keyof typeof methodWords)[]).map((name): Figure => {
    const ofCost = mean(outcomes[name].map(({ cost99 }) => cost99)).toFixed(3);
    return {
      track,
      what: `baseline ${methodWords[name]}: gap closed`,
      unit: '%',
      values: outcomes[name].map(({ gapClosed }) => gapClosed),
      note: `cost at 99 %: ${ofCost}`,
    };
  });
  return [
    each('zero router: AIQ', ({ zero }) => zero),
    each('oracle: AIQ', ({ oracle }) => oracle),
    each('best single: quality', ({ best }) => best.quality),
    each('cheapest: quality / best', ({ cheapest, best }) => cheapest.quality / best.quality, '×'),
    each('cheapest: cost / best', ({ cheapest, best }) => cheapest.cost / best.cost, '×'),
    each('random: quality / best', ({ random, best }) => random.quality / best.quality, '×'),
    each('random: cost / best', ({ random, best }) => random.cost / best.cost, '×'),
    ...methods,
  ];
}

function presetFigures(track: string, set: DataSet, seeds: readonly number[]): Figure[] {
  const served = new Map<string, Served[]>();
  for (const seed of seeds) {
    const { train, test } = split(set, seed);
    const state = trained(set, train);
    for (const [name, preset] of Object.entries(presets)) {
      const outcome = serve(set, train, test, preset, state);
      served.set(name, [...(served.get(name) ?? []), outcome]);
    }
  }
  return [...served].flatMap(([name, outcomes]): Figure[] => {
    const gated = track === 'C' && name === 'balanced';
    return [
      {
        track,
        what: `preset ${name}: cost / reference`,
        unit: '×',
        values: outcomes.map(({ cost }) => cost),
        ...(gated ? bars(atMost(0.72), atMost(0.63)) : {}),
      },
      {
        track,
        what: `preset ${name}: quality / reference`,
        unit: '×',
        values: outcomes.map(({ quality }) => quality),
        ...(gated ? bars(atLeast(0.985), atLeast(1)) : {}),
      },
    ];
  });
}

/** Track D: a weak and a strong model, by the measures of RouteLLM. */
export function pairTrack(data: PublicData, seeds: readonly number[]): Figure[] {
  const parts = [
    { set: data.mmluPair, labels: 1_531, asked: bars(atLeast(0.61), atLeast(0.63)) },
    { set: data.gsmPair, labels: 660, asked: bars(atLeast(0.58), atLeast(0.61)) },
  ];
  return parts.flatMap(({ set, labels, asked }) => {
    const own = seeds.map((seed) => pairOutcome(set, seed, labels, router));
    const control = seeds.map((seed) => pairOutcome(set, seed, labels, shuffledLabels));
    const figure = (key: keyof PairOutcome, of: readonly PairOutcome[]): number[] =>
      of.map((one) => one[key]);
    const named = (what: string): { track: string; what: string } => ({
      track: 'D',
      what: `${set.name} @${labels} labels: ${what}`,
    });
    const apgr = figure('apgr', own);
    return [
      { ...named('APGR'), unit: '', values: apgr, ...asked },
      { ...named('calls for 50 %'), unit: '%', values: figure('cpt50', own) },
      { ...named('calls for 80 %'), unit: '%', values: figure('cpt80', own) },
      { ...named('APGR of shuffled labels'), unit: '', values: figure('apgr', control) },
      {
        ...named('APGR beyond shuffled labels'),
        unit: '',
        values: apgr.map((value, at) => value - (control[at]?.apgr ?? NaN)),
        ...bars(above(0)),
      },
      notBelowZero('D', apgr, 0.5),
    ] satisfies Figure[];
  });
}

const HELD_OUT = 0.3;

/** Track E: requests of categories that were never learned. */
export function unseenTrack(data: PublicData, seeds: readonly number[]): Figure[] {
  return [data.mixed, data.mmluPro].flatMap((set): Figure[] => {
    const served = seeds.map((seed) => serveUnseen(set, seed, presets.quality));
    const asked = set === data.mixed ? bars(atLeast(0.98), atLeast(0.99)) : {};
    const named = (what: string) => ({ track: 'E', what: `${set.name}, unseen: ${what}` });
    return [
      { ...named('quality / reference'), unit: '×', values: served.map(({ quality }) => quality), ...asked },
      { ...named('cost / reference'), unit: '×', values: served.map(({ cost }) => cost) },
      { ...named('unfamiliar'), unit: '%', values: served.map(({ unfamiliar }) => 100 * unfamiliar) },
    ];
  });
}

function serveUnseen(set: DataSet, seed: number, preset: Preset): Served {
  const random = randomOf(seed);
  const categories = shuffled([...new Set(set.rows.map(({ category }) => category))], random);
  const unseen = new Set(categories.slice(0, Math.max(1, Math.round(categories.length * HELD_OUT))));
  const [test, train] = [true, false].map((wanted) =>
    set.rows.filter(({ category }) => unseen.has(category) === wanted),
  ) as [Row[], Row[]];
  return serve(set, train, test, preset);
}

/** Track F: what 3,000 judged answers teach. */
export function learningTrack(data: PublicData, seeds: readonly number[]): Figure[] {
  const outcomes = seeds.map((seed) => learningOutcome(data.mix, seed));
  const named = (what: string) => ({ track: 'F', what: `3,000 judged: ${what}`, unit: '%' as const });
  return [
    {
      ...named('gap closed, all replayed'),
      values: outcomes.map(({ all }) => all),
      ...bars(atLeast(6), atLeast(9)),
    },
    { ...named('gap closed, served only'), values: outcomes.map(({ served }) => served) },
    {
      ...named('all replayed beyond served'),
      values: outcomes.map(({ all, served }) => all - served),
      ...bars(above(0)),
    },
  ];
}

/** Track G: what a decision costs. */
export function speedTrack(set: DataSet): Figure[] {
  const { cpuMs, middleMs, learnMs, calls } = measureSpeed(set);
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

/** Track H: what must never happen, over random candidate sets and conversations. */
export function neverTrack(set: DataSet, seed: number): Figure[] {
  const { train, test, random } = split(set, seed);
  const state = trained(set, train);
  const all = candidatesOf(set);
  let [outside, changed] = [0, 0];
  for (const { features } of test.slice(0, 1_000)) {
    const candidates = all.filter(() => random() < 0.5);
    const question = { features, candidates, now: NOW, policy: policyOf(undefined) };
    const decision = decide(state, question);
    const names = new Set(candidates.map(({ model }) => model));
    const answering = decision.kind === 'none' ? [] : [decision.chosen, ...decision.fallbackOrder];
    if (answering.some((model) => !names.has(model))) outside += 1;
    const model = set.models[Math.floor(random() * set.models.length)] ?? '';
    const session = { source: 'header', model, betweenToolCallAndResult: true, cachedTokens: 0 };
    const held = decide(state, { ...question, session });
    if (held.kind === 'chosen' && (held.chosen !== model || held.fallbackOrder.length > 0)) changed += 1;
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
