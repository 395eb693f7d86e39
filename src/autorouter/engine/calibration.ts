import type { Calibration, RouterState } from './state';

const SAMPLE = 400;
/** With fewer remembered requests than these no request is called unfamiliar. */
const LEAST_REMEMBERED = 50;

/**
 * Measures how similar requests of this traffic usually are: remembered ones, spread evenly, each compared with all
 * others. Takes about a tenth of a second: for the worker that learns.
 */
export function calibrate(state: RouterState): Calibration | undefined {
  const { memory } = state;
  const size = memory.examples.length;
  if (size < LEAST_REMEMBERED) return (state.calibration = undefined);
  memory.reindex();
  const requests = Math.min(SAMPLE, size);
  const similarities: number[] = [];
  for (let index = 0; index < requests; index += 1) {
    const slot = Math.floor((index * size) / requests);
    const example = memory.examples[slot];
    if (example !== undefined) similarities.push(memory.nearest(example, slot)[0]?.similarity ?? 0);
  }
  similarities.sort((one, other) => one - other);
  const at = (share: number): number => similarities[Math.floor(share * (similarities.length - 1))] ?? 0;
  state.version += 1;
  return (state.calibration = { p25: at(0.25), p50: at(0.5), requests });
}
