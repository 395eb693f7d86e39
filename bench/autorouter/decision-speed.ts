import { Socket } from 'node:net';
import { createSocket } from 'node:dgram';
import dns from 'node:dns';
import {
  calibrate,
  decide,
  emptyState,
  extractFeatures,
  learn,
  learnAll,
} from '#inside/autorouter/engine/index';
import { quantile } from '../gateway/statistics';
import { type DataSet, salt } from './data';
import { candidatesOf, exampleOf, NOW, policyOf } from './methods';
import { randomOf } from './random';

const MEMORY_SIZE = 8_192;
const MODEL_COUNT = 12;
const DECISION_COUNT = 2_000;
const ROUND_COUNT = 5;
const LEARNED_EXAMPLES = 640;

export interface DecisionSpeed {
  /** CPU time of features and decision together, per round. */
  readonly cpuMs: readonly number[];
  /** Median wall time of a decision, per round. */
  readonly medianMs: readonly number[];
  readonly learnMs: number;
  readonly calls: number;
}

/** Measures features and decision with a full memory, starting from the text. */
export function measureSpeed(set: DataSet): DecisionSpeed {
  const random = randomOf(1);
  const many: DataSet = {
    ...set,
    models: Array.from({ length: MODEL_COUNT }, (_, model) => `model-${model}`),
    rates: Array.from({ length: MODEL_COUNT }, (_, model) => [0.1 * (model + 1), 0.4 * (model + 1)] as const),
  };
  const rows = Array.from({ length: MEMORY_SIZE }, (_, at) => {
    const row = set.rows[at % set.rows.length];
    if (row === undefined) throw new Error('a set without rows');
    const values = Array.from({ length: MODEL_COUNT }, random);
    return { ...row, id: `row-${at}`, scores: values, tokensOut: values.map((value) => 50 + 300 * value) };
  });
  const state = emptyState();
  learnAll(
    state,
    rows.map((row) => exampleOf(many, row)),
  );
  calibrate(state);
  const candidates = candidatesOf(many);
  const policy = policyOf(undefined);
  const decideOnce = (at: number): void => {
    // Counts from the end, because sets larger than the memory have unknown prompts there.
    const { text = '' } = set.rows[set.rows.length - 1 - (at % set.rows.length)] ?? {};
    const features = extractFeatures({ ...(set.rows[0]?.features.counters ?? never()), text }, salt);
    decide(state, { features, candidates, policy, now: NOW });
  };
  for (let at = 0; at < DECISION_COUNT; at += 1) decideOnce(at);
  const watch = watchNetwork();
  const timedRounds = Array.from({ length: ROUND_COUNT }, () => timed(decideOnce));
  const calls = watch();
  const before = process.cpuUsage();
  // Decides now and then, because the index is built on the next read.
  rows.slice(0, LEARNED_EXAMPLES).forEach((row, at) => {
    learn(state, { ...exampleOf(many, row), id: `further-${at}` });
    if (at % 64 === 63) decideOnce(at);
  });
  const { user, system } = process.cpuUsage(before);
  return {
    cpuMs: timedRounds.map(({ cpu }) => cpu),
    medianMs: timedRounds.map(({ median: middle }) => middle),
    learnMs: (user + system) / 1_000 / LEARNED_EXAMPLES,
    calls,
  };
}

function never(): never {
  throw new Error('a set without rows');
}

function timed(decideOnce: (at: number) => void): { cpu: number; median: number } {
  const walls: number[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < DECISION_COUNT; at += 1) {
    const startedAt = performance.now();
    decideOnce(at);
    walls.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1_000 / DECISION_COUNT, median: quantile(walls, 0.5) };
}

/** Counts connections, datagrams and DNS lookups until the returned function is called. */
function watchNetwork(): () => number {
  let calls = 0;
  const datagram = createSocket('udp4');
  const restorers = [
    countCalls(Socket.prototype, 'connect'),
    countCalls(Object.getPrototypeOf(datagram) as { send: unknown }, 'send'),
    countCalls(dns, 'lookup'),
  ];
  datagram.close();
  function countCalls<K extends string>(owner: { [key in K]: unknown }, name: K): () => void {
    const real = owner[name] as (...args: unknown[]) => unknown;
    owner[name] = function (this: unknown, ...args: unknown[]) {
      calls += 1;
      return real.apply(this, args);
    };
    return () => (owner[name] = real as (typeof owner)[K]);
  }
  return () => {
    for (const restore of restorers) restore();
    return calls;
  };
}
