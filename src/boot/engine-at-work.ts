import { setFlagsFromString } from 'node:v8';

/**
 * What is asked of the engine once the service has started.
 *
 * - Left alone, it lets the heap grow to four times what is alive before it collects. One and a half times is enough;
 *   less is too little, since the bytes of buffers outside count in the same limit and would have all of it collected
 *   for them alone.
 * - What is alive it leaves spread over ever more pages, unless it is to mind their number.
 * - Without its middle compiler, functions would wait for the last one as if they had been compiled by the other
 *   already. A start compiles nothing of the kind, which would only be in its way.
 * - Young objects are collected between requests again, which a start does without.
 */
export function setEngineAtWork(): void {
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--invocation-count-for-turbofan=1000');
  setFlagsFromString('--minor-gc-task');
}
