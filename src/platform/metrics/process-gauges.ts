import { stat, statfs } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Metrics } from './metrics';

/** Sets the gauges that the library's own collectors omit. */
export function updateProcessGauges(metrics: Metrics): void {
  metrics.eventLoopActive.at({}).value = performance.eventLoopUtilization().active / 1_000;
  metrics.heapLimit.set({}, getHeapStatistics().heap_size_limit);
}

/** Each volume is reported once, under its first folder; missing folders are omitted. */
export async function updateDiskGauges(
  metrics: Metrics,
  folders: ReadonlyMap<string, string>,
): Promise<void> {
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
      // A missing folder is reported by the code that needs it.
    }
  }
}
