import type { Work } from '../intake';

/** Waits so long, or until the work is stopped (whichever is first). */
export function pauseWork(work: Work, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    work.watch({
      abort: () => {
        clearTimeout(timer);
        resolve();
      },
    });
  });
}
