import type { SpentDay } from '#product/alerts';
import { Chance } from '../../test/system/chance';

/** Ways in which organisations spend, day by day, in dollars. */
export const shapes = ['steady', 'weekday', 'growing', 'bursty', 'sparse'] as const;
export type Shape = (typeof shapes)[number];

const DAY_MS = 86_400_000;
/** A Monday. */
const FIRST = Date.UTC(2026, 0, 5);

/** The same draws for the same seed. */
export function randomFrom(seed: number): () => number {
  const chance = new Chance(seed);
  return () => chance.next();
}

/** Varies by a factor whose logarithm has this deviation. */
function noise(random: () => number, deviation: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.exp(deviation * normal);
}

const onWeekday = (day: number): number => (day % 7 < 5 ? 1 : 0.15);

const spending: Readonly<Record<Shape, (day: number, random: () => number) => number>> = {
  steady: (_day, random) => 100 * noise(random, 0.15),
  weekday: (day, random) => 100 * onWeekday(day) * noise(random, 0.25),
  // Ten times as much at the end of a year.
  growing: (day, random) => 30 * 10 ** (day / 365) * onWeekday(day) * noise(random, 0.25),
  // A batch on one day of eight, between days of ordinary work.
  bursty: (day, random) =>
    40 * onWeekday(day) * noise(random, 0.4) + (random() < 1 / 8 ? 400 * noise(random, 0.5) : 0),
  // Used on one day of ten.
  sparse: (_day, random) => (random() < 0.1 ? 60 * noise(random, 0.6) : 0),
};

export function yearOf(shape: Shape, seed: number, days = 365 + 56): SpentDay[] {
  const random = randomFrom(seed);
  return Array.from({ length: days }, (_, day) => ({
    at: FIRST + day * DAY_MS,
    spent: spending[shape](day, random),
  }));
}
