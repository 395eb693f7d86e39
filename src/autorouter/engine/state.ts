import { DAY_MS } from '../../kernel';
import type { Example, Outcome, StoredExample } from './examples';
import { loadedExample, storedExample } from './examples';
import { STRUCTURE } from './features';
import { Memory } from './memory';
import {
  addOutcome,
  emptyStatistics,
  HALF_LIFE_MS,
  loadedStatistics,
  type ModelStatistics,
  noteChange,
  scaleStatistics,
  type StoredStatistics,
  storedStatistics,
} from './statistics';

/** Models of one organisation that are learned about; outcomes of further ones are passed over. */
const MOST_MODELS = 256;

/** The calibration says how similar requests of this traffic usually are to what is remembered. */
export interface Calibration {
  readonly p25: number;
  readonly p50: number;
  readonly requests: number;
}

/** It is everything learned for one organisation. `learn` fills it; `decide` only reads it. */
export interface RouterState {
  /** Grows with every change; nodes tell by it whether they are behind. */
  version: number;
  /** The time that sums are decayed to, ms since 1970. */
  asOf: number;
  readonly models: Map<string, ModelStatistics>;
  /** These are the tokens of requests of whole examples. */
  readonly requests: { weight: number; tokensIn: number };
  readonly memory: Memory;
  calibration?: Calibration;
}

export const emptyState = (): RouterState => ({
  version: 0,
  asOf: 0,
  models: new Map(),
  requests: { weight: 0, tokensIn: 0 },
  memory: new Memory(),
});

/**
 * Learns what is new in the example and says whether anything was. Outcomes of further models under an id that is
 * remembered are added to it; an outcome that is known is not counted again.
 */
export function learn(state: RouterState, example: Example): boolean {
  if (!isSound(example)) return false;
  const known = state.memory.exampleOf(example.id);
  const added = newOutcomes(state, example.outcomes, known?.outcomes ?? []);
  if (added.length === 0) return false;
  if (example.at - state.asOf > DAY_MS) decay(state, example.at);
  const weight = example.weight * 0.5 ** ((state.asOf - example.at) / HALF_LIFE_MS);
  if (known === undefined) {
    state.requests.weight += weight;
    state.requests.tokensIn += weight * example.tokensIn;
  }
  for (const outcome of added) addOutcome(statisticsOf(state, outcome.model), example, outcome, weight);
  const base = known ?? example;
  state.memory.remember({ ...base, outcomes: [...(known?.outcomes ?? []), ...added] });
  state.version += 1;
  return true;
}

/** Many are learned at once, as when a state is built from stored examples. */
export function learnAll(state: RouterState, examples: Iterable<Example>): number {
  let learned = 0;
  for (const example of examples) if (learn(state, example)) learned += 1;
  state.memory.reindex();
  return learned;
}

/** One number that is none would spoil the sums for good; signals of another length are of another algorithm. */
const isSound = ({ at, weight, tokensIn, structure, hashes, counts }: Example): boolean =>
  [at, tokensIn, ...structure].every(Number.isFinite) &&
  weight > 0 &&
  weight <= 1 &&
  structure.length === STRUCTURE &&
  hashes.length === counts.length;

const isScored = ({ score, tokensOut }: Outcome): boolean =>
  score >= 0 && score <= 1 && tokensOut >= 0 && Number.isFinite(tokensOut);

function newOutcomes(
  { models }: RouterState,
  outcomes: readonly Outcome[],
  known: readonly Outcome[],
): Outcome[] {
  const seen = new Set(known.map(({ model }) => model));
  let room = MOST_MODELS - models.size;
  return outcomes.filter((outcome) => {
    const { model } = outcome;
    if (seen.has(model) || !isScored(outcome)) return false;
    if (!models.has(model) && (room -= 1) < 0) return false;
    seen.add(model);
    return true;
  });
}

function statisticsOf({ models }: RouterState, model: string): ModelStatistics {
  let statistics = models.get(model);
  if (statistics === undefined) models.set(model, (statistics = emptyStatistics()));
  return statistics;
}

/** The newest remembered request was made at this time; null where none is remembered. Sums move on only by days. */
export const newestLearned = ({ memory }: RouterState): number | null =>
  memory.examples.reduce<number | null>((newest, { at }) => Math.max(newest ?? at, at), null);

/** Halves what is a month old. Sums are as of `now` afterwards; an earlier time changes nothing. */
export function decay(state: RouterState, now: number): void {
  if (now <= state.asOf) return;
  const factor = state.models.size === 0 ? 1 : 0.5 ** ((now - state.asOf) / HALF_LIFE_MS);
  for (const statistics of state.models.values()) scaleStatistics(statistics, factor);
  state.requests.weight *= factor;
  state.requests.tokensIn *= factor;
  state.asOf = now;
  state.version += 1;
}

/** The supplier put another model behind the name: what was learned of it before `at` counts a quarter. */
export function modelChanged(state: RouterState, model: string, at: number): void {
  const statistics = state.models.get(model);
  if (statistics === undefined || statistics.changes.includes(at)) return;
  noteChange(statistics, at);
  state.version += 1;
}

/** A state without its examples, as JSON; those are stored one by one. */
export interface StoredState {
  readonly version: number;
  readonly asOf: number;
  readonly requests: { weight: number; tokensIn: number };
  readonly models: Readonly<Record<string, StoredStatistics>>;
  readonly calibration?: Calibration;
}

export const storedState = (state: RouterState): StoredState => ({
  version: state.version,
  asOf: state.asOf,
  requests: { ...state.requests },
  models: Object.fromEntries(
    [...state.models].map(([model, statistics]) => [model, storedStatistics(statistics)]),
  ),
  ...(state.calibration === undefined ? {} : { calibration: state.calibration }),
});

/** The examples that a snapshot needs, the oldest first: at most as many as are remembered. */
export const storedExamples = (state: RouterState): StoredExample[] =>
  state.memory.inOrder().map(storedExample);

/** The statistics already hold what the examples taught: those only fill the memory, the oldest first. */
export function loadedState(stored: StoredState, examples: Iterable<StoredExample>): RouterState {
  const state: RouterState = {
    version: stored.version,
    asOf: stored.asOf,
    requests: { ...stored.requests },
    models: new Map(
      Object.entries(stored.models).map(([model, statistics]) => [model, loadedStatistics(statistics)]),
    ),
    memory: new Memory(),
    ...(stored.calibration === undefined ? {} : { calibration: stored.calibration }),
  };
  for (const example of examples) state.memory.remember(loadedExample(example));
  state.memory.reindex();
  return state;
}
