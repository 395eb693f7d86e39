const noAnswer = (milliseconds: number): Error => new Error(`no answer within ${milliseconds} ms`);

/**
 * The outcome of the work, or a failure after so many milliseconds; the work itself goes on unheard. An answer that
 * arrived while this process was busy counts: it is read before the failure is declared.
 */
export function withDeadline<T>(
  milliseconds: number,
  work: Promise<T>,
  failure: () => Error = () => noAnswer(milliseconds),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(failure())), milliseconds);
    // What the work waits for keeps the process alive.
    timer.unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
