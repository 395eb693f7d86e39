import type { Calibration, RouterState } from './state';

const SAMPLE_SIZE = 400;
/** No request is called unfamiliar with fewer remembered requests. */
const MIN_REMEMBERED = 50;

/**
 * Measures how similar requests of this traffic usually are by comparing evenly spread remembered ones with all others.
 * Takes about 100 ms and belongs in the learning worker.
 */
export function calibrate(state: RouterState): Calibration | undefined {
  const { memory } = state;
  const size = memory.examples.length;
  if (size < MIN_REMEMBERED) return (state.calibration = undefined);
  memory.reindex();
  const requests = Math.min(SAMPLE_SIZE, size);
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
