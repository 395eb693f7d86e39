/** A value that is usually available immediately; the hot path then saves the turn that `await` would cost. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `work` to a value: synchronously, unless the value is a promise. */
export const whenReady = <T, R>(
  value: MaybePromise<T>,
  work: (value: T) => MaybePromise<R>,
): MaybePromise<R> => (value instanceof Promise ? value.then(work) : work(value));
