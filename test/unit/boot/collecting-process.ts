import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { setEngineAtWork } from '../../../src/boot/engine-at-work';

/** Long enough for the engine to have been told. */
const AT_LEAST_MS = 2_500;
const COLLECTIONS = 3;

type GarbageCollection = PerformanceEntry & { readonly detail: { readonly kind: number } };

const isBusy = process.argv[2] === 'busy';
let kept: object[] = [];
let collections = 0;

/** A little of what is kept long enough to get old. */
function burden(): void {
  for (let count = 0; count < 5_000; count += 1) kept.push({ count, more: [count] });
  if (kept.length > 400_000) kept = [];
  if (isBusy) setImmediate(burden);
}

function count(majors: number): void {
  if (performance.now() < AT_LEAST_MS) return;
  collections += majors;
  // What the engine has printed is written when the process ends by itself.
  if (collections >= COLLECTIONS) process.exit();
}

const isMajor = (entry: PerformanceEntry): boolean =>
  (entry as GarbageCollection).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;

const observer = new PerformanceObserver((list) => count(list.getEntries().filter(isMajor).length));

setFlagsFromString('--no-memory-reducer');
setFlagsFromString('--trace-gc');
setEngineAtWork();
observer.observe({ entryTypes: ['gc'] });
if (isBusy) burden();
else setInterval(burden, 20);
