import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Of the pieces of answers, so much may wait to be collected. */
const MOST_UNCOLLECTED_BYTES = 4 * 1024 * 1024;

type Collect = (options: { readonly type: 'minor' }) => void;

let uncollected = 0;
let collect: Collect | null = null;

/**
 * Memory for a piece of an answer. The engine looks for dead young objects when their own space is full, and of a piece
 * it sees a few words there, not the kilobytes behind them: by itself it lets a hundred megabytes pass before it looks.
 */
export function pieceMemory(bytes: number): Buffer {
  uncollected += bytes;
  if (uncollected >= MOST_UNCOLLECTED_BYTES) {
    uncollected = 0;
    collect ??= collector();
    collect({ type: 'minor' });
  }
  return Buffer.allocUnsafe(bytes);
}

/** The engine gives this to contexts that are made under the flag, and only to them. */
function collector(): Collect {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
