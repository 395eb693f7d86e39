import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';

const LOOK_MS = 1_000;
/** Of the time of the event loop. */
const BUSY = 0.5;

/**
 * What is asked of the engine once the service has started.
 *
 * - Left alone, it lets the heap grow to four times what is alive before it collects. One and a half times is enough;
 *   less is too little, since the bytes of buffers outside count in the same limit and would have all of it collected
 *   for them alone.
 * - Without its middle compiler, functions would wait for the last one as if they had been compiled by the other
 *   already. A start compiles nothing of the kind, which would only be in its way.
 * - Young objects are collected between requests again, which a start does without.
 * - At full work it minds memory.
 */
export function setEngineAtWork(): void {
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--invocation-count-for-turbofan=1000');
  setFlagsFromString('--minor-gc-task');
  mindMemoryWhileBusy();
}

/**
 * What is alive the engine leaves spread over ever more pages, unless it is to mind their number. It then also forgets
 * what objects look like of which there is none as it collects, and with that every function compiled for them. Under
 * full load there is always one of everything. Under less there mostly is none, and the requests after a collection
 * would cost seven times as much until all is compiled again.
 */
function mindMemoryWhileBusy(): void {
  let before = performance.eventLoopUtilization();
  let minding = false;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const isBusy = performance.eventLoopUtilization(now, before).utilization > BUSY;
    before = now;
    if (isBusy === minding) return;
    minding = isBusy;
    setFlagsFromString(isBusy ? '--optimize-for-size' : '--no-optimize-for-size');
  };
  setInterval(look, LOOK_MS).unref();
}
