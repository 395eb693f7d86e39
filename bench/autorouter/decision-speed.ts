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

const REMEMBERED = 8_192;
const MODELS = 12;
const DECISIONS = 2_000;
const ROUNDS = 5;
const LEARNED = 640;

export interface Speed {
  /** CPU of features and decision together, each round. */
  readonly cpuMs: readonly number[];
  /** Wall time of the middle decision, each round. */
  readonly middleMs: readonly number[];
  readonly learnMs: number;
  readonly calls: number;
}

/** Features and decision with a full memory, from the text on. */
export function measureSpeed(set: DataSet): Speed {
  const random = randomOf(1);
  const many: DataSet = {
    ...set,
    models: Array.from({ length: MODELS }, (_, model) => `model-${model}`),
    rates: Array.from({ length: MODELS }, (_, model) => [0.1 * (model + 1), 0.4 * (model + 1)] as const),
  };
  const rows = Array.from({ length: REMEMBERED }, (_, at) => {
    const row = set.rows[at % set.rows.length];
    if (row === undefined) throw new Error('a set without rows');
    const values = Array.from({ length: MODELS }, random);
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
  const one = (at: number): void => {
    // From the end: sets that are larger than the memory have prompts there that it does not know.
    const { text = '' } = set.rows[set.rows.length - 1 - (at % set.rows.length)] ?? {};
    const features = extractFeatures({ ...(set.rows[0]?.features.counters ?? never()), text }, salt);
    decide(state, { features, candidates, policy, now: NOW });
  };
  for (let at = 0; at < DECISIONS; at += 1) one(at);
  const watch = watchNetwork();
  const rounds = Array.from({ length: ROUNDS }, () => timed(one));
  const calls = watch();
  const before = process.cpuUsage();
  // With a decision now and then: the index is made when it is read.
  rows.slice(0, LEARNED).forEach((row, at) => {
    learn(state, { ...exampleOf(many, row), id: `further-${at}` });
    if (at % 64 === 63) one(at);
  });
  const { user, system } = process.cpuUsage(before);
  return {
    cpuMs: rounds.map(({ cpu }) => cpu),
    middleMs: rounds.map(({ middle }) => middle),
    learnMs: (user + system) / 1_000 / LEARNED,
    calls,
  };
}

function never(): never {
  throw new Error('a set without rows');
}

function timed(one: (at: number) => void): { cpu: number; middle: number } {
  const walls: number[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < DECISIONS; at += 1) {
    const began = performance.now();
    one(at);
    walls.push(performance.now() - began);
  }
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1_000 / DECISIONS, middle: quantile(walls, 0.5) };
}

/** Counts connections, datagrams and names looked up until the returned function is called. */
function watchNetwork(): () => number {
  let calls = 0;
  const datagram = createSocket('udp4');
  const undo = [
    counted(Socket.prototype, 'connect'),
    counted(Object.getPrototypeOf(datagram) as { send: unknown }, 'send'),
    counted(dns, 'lookup'),
  ];
  datagram.close();
  function counted<K extends string>(owner: { [key in K]: unknown }, name: K): () => void {
    const real = owner[name] as (...words: unknown[]) => unknown;
    owner[name] = function (this: unknown, ...words: unknown[]) {
      calls += 1;
      return real.apply(this, words);
    };
    return () => (owner[name] = real as (typeof owner)[K]);
  }
  return () => {
    for (const one of undo) one();
    return calls;
  };
}
