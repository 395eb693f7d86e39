import type { SpentDay } from '#product/alerts';
import { SeededRandom } from '../../test/system/seeded-random';

/** Daily spending patterns of organisations, in dollars. */
export const SHAPES = ['steady', 'weekday', 'growing', 'bursty', 'sparse'] as const;
export type SpendingShape = (typeof SHAPES)[number];

const DAY_MS = 86_400_000;
/** A Monday. */
const FIRST_DAY = Date.UTC(2026, 0, 5);

/** Returns the same sequence for the same seed. */
export function randomFrom(seed: number): () => number {
  const chance = new SeededRandom(seed);
  return () => chance.next();
}

/** Random factor whose logarithm has this standard deviation. */
function noise(random: () => number, deviation: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.exp(deviation * normal);
}

const weekdayFactor = (day: number): number => (day % 7 < 5 ? 1 : 0.15);

const spending: Readonly<Record<SpendingShape, (day: number, random: () => number) => number>> = {
  steady: (_day, random) => 100 * noise(random, 0.15),
  weekday: (day, random) => 100 * weekdayFactor(day) * noise(random, 0.25),
  // Grows tenfold over a year.
  growing: (day, random) => 30 * 10 ** (day / 365) * weekdayFactor(day) * noise(random, 0.25),
  // A batch on one day in eight, ordinary work otherwise.
  bursty: (day, random) =>
    40 * weekdayFactor(day) * noise(random, 0.4) + (random() < 1 / 8 ? 400 * noise(random, 0.5) : 0),
  // Spending on one day in ten.
  sparse: (_day, random) => (random() < 0.1 ? 60 * noise(random, 0.6) : 0),
};

export function simulateYear(shape: SpendingShape, seed: number, days = 365 + 56): SpentDay[] {
  const random = randomFrom(seed);
  return Array.from({ length: days }, (_, day) => ({
    at: FIRST_DAY + day * DAY_MS,
    spent: spending[shape](day, random),
  }));
}
