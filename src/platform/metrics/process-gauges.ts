import { stat, statfs } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Metrics } from './metrics';

/** What the library's own collectors leave out. */
export function readProcess(metrics: Metrics): void {
  metrics.eventLoopActive.at({}).value = performance.eventLoopUtilization().active / 1_000;
  metrics.heapLimit.set({}, getHeapStatistics().heap_size_limit);
}

/** One volume is shown once, under the first of its folders; a folder that is not there is left out. */
export async function readDisks(metrics: Metrics, folders: ReadonlyMap<string, string>): Promise<void> {
  const volumes = new Set<number>();
  for (const [folder, path] of folders) {
    try {
      const { dev } = await stat(path);
      if (volumes.has(dev)) continue;
      volumes.add(dev);
      const { bavail, blocks, bsize } = await statfs(path);
      metrics.diskFree.set({ folder }, bavail * bsize);
      metrics.diskSize.set({ folder }, blocks * bsize);
    } catch {
      // What needs the folder tells that it is gone.
    }
  }
}
