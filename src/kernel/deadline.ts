const timeoutError = (milliseconds: number): Error => new Error(`no answer within ${milliseconds} ms`);

/**
 * Rejects after `milliseconds`; the work itself continues in the background. A result that arrived while the event loop
 * was blocked still counts.
 */
export function withDeadline<T>(
  milliseconds: number,
  work: Promise<T>,
  failure: () => Error = () => timeoutError(milliseconds),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(failure())), milliseconds);
    // The timer must not keep the process alive; the awaited work does.
    timer.unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
