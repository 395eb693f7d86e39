import { DAY_MS } from '../../kernel';
import type { Example, ExampleOutcome, StoredExample } from './examples';
import { loadedExample, storedExample } from './examples';
import { STRUCTURE_LENGTH } from './features';
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

/** Maximum number of learned models per organisation; outcomes of further ones are ignored. */
const MAX_MODELS = 256;

/** How similar requests of this traffic usually are to the remembered ones. */
export interface Calibration {
  readonly p25: number;
  readonly p50: number;
  readonly requests: number;
}

/** Everything learned for one organisation. `learn` fills it; `decide` only reads it. */
export interface RouterState {
  /** Incremented with every change; nodes detect by it that they are behind. */
  version: number;
  /** Time that the sums are decayed to, in ms since 1970. */
  asOf: number;
  readonly models: Map<string, ModelStatistics>;
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
 * Learns what is new in the example; returns whether anything was. New outcomes are added to a remembered example, and
 * an outcome is never counted twice.
 */
export function learn(state: RouterState, example: Example): boolean {
  if (!isSound(example)) return false;
  const existing = state.memory.exampleOf(example.id);
  const added = newOutcomes(state, example.outcomes, existing?.outcomes ?? []);
  if (added.length === 0) return false;
  if (example.at - state.asOf > DAY_MS) decay(state, example.at);
  const weight = example.weight * 0.5 ** ((state.asOf - example.at) / HALF_LIFE_MS);
  if (existing === undefined) {
    state.requests.weight += weight;
    state.requests.tokensIn += weight * example.tokensIn;
  }
  for (const outcome of added) addOutcome(statisticsOf(state, outcome.model), example, outcome, weight);
  const base = existing ?? example;
  state.memory.remember({ ...base, outcomes: [...(existing?.outcomes ?? []), ...added] });
  state.version += 1;
  return true;
}

export function learnAll(state: RouterState, examples: Iterable<Example>): number {
  let learned = 0;
  for (const example of examples) if (learn(state, example)) learned += 1;
  state.memory.reindex();
  return learned;
}

/** A single NaN would spoil the sums permanently. Vectors of another length belong to another algorithm. */
const isSound = ({ at, weight, tokensIn, structure, hashes, counts }: Example): boolean =>
  [at, tokensIn, ...structure].every(Number.isFinite) &&
  weight > 0 &&
  weight <= 1 &&
  structure.length === STRUCTURE_LENGTH &&
  hashes.length === counts.length;

const isScored = ({ score, tokensOut }: ExampleOutcome): boolean =>
  score >= 0 && score <= 1 && tokensOut >= 0 && Number.isFinite(tokensOut);

function newOutcomes(
  { models }: RouterState,
  outcomes: readonly ExampleOutcome[],
  existing: readonly ExampleOutcome[],
): ExampleOutcome[] {
  const seen = new Set(existing.map(({ model }) => model));
  let freeModels = MAX_MODELS - models.size;
  return outcomes.filter((outcome) => {
    const { model } = outcome;
    if (seen.has(model) || !isScored(outcome)) return false;
    if (!models.has(model) && (freeModels -= 1) < 0) return false;
    seen.add(model);
    return true;
  });
}

function statisticsOf({ models }: RouterState, model: string): ModelStatistics {
  let statistics = models.get(model);
  if (statistics === undefined) models.set(model, (statistics = emptyStatistics()));
  return statistics;
}

/** Time of the newest remembered request; null if there is none. `asOf`, in contrast, advances only by days. */
export const newestLearned = ({ memory }: RouterState): number | null =>
  memory.examples.reduce<number | null>((newest, { at }) => Math.max(newest ?? at, at), null);

/** Decays the sums to `now` with a half-life of a month; an earlier time changes nothing. */
export function decay(state: RouterState, now: number): void {
  if (now <= state.asOf) return;
  const factor = state.models.size === 0 ? 1 : 0.5 ** ((now - state.asOf) / HALF_LIFE_MS);
  for (const statistics of state.models.values()) scaleStatistics(statistics, factor);
  state.requests.weight *= factor;
  state.requests.tokensIn *= factor;
  state.asOf = now;
  state.version += 1;
}

/** To be called when the supplier replaces the model behind a name: what was learned before `at` counts a quarter. */
export function modelChanged(state: RouterState, model: string, at: number): void {
  const statistics = state.models.get(model);
  if (statistics === undefined || statistics.changes.includes(at)) return;
  noteChange(statistics, at);
  state.version += 1;
}

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

export const storedExamples = (state: RouterState): StoredExample[] =>
  state.memory.inOrder().map(storedExample);

/** Restores a state. The statistics already include the examples, which only fill the memory, oldest first. */
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
