import type { SettledRecord, Tap } from '#extension';
import { withDeadline } from '../../kernel';
import { redactText } from '../../platform';

export const USUAL_BATCH = 100;
export const USUAL_TIMEOUT_MS = 10_000;

const NO_WORDS = 'it failed without a reason';

/**
 * Gives records to a tap. Returns what went wrong, in words; null when nothing did. It is code of others: it may throw,
 * hang, or fail long after nobody waits any more.
 */
export async function attempt(
  tap: Tap,
  records: readonly SettledRecord[],
  stopping: AbortSignal,
): Promise<string | null> {
  const { timeoutMs = USUAL_TIMEOUT_MS } = tap;
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(new Error('the service stops'));
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  try {
    const work = (async () => tap.deliver(records, signal))();
    await withDeadline(timeoutMs, Promise.race([work, stopped.promise]));
    return null;
  } catch (error) {
    return wordsOf(error);
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}

/** What is thrown may be anything, and its words may hold a secret. */
function wordsOf(error: unknown): string {
  try {
    const words: unknown = error instanceof Error ? error.message : error;
    return typeof words === 'string' && words !== '' ? redactText(words) : NO_WORDS;
  } catch {
    return NO_WORDS;
  }
}
