import type { SettledRecord } from '#extension';
import { err, ok, type Result, withDeadline } from '../../kernel';
import { redactText } from '../../platform';
import { type Failure, SinkFailure } from './failure';
import type { HeldTap } from './held-tap';

const NO_WORDS = 'it failed without a reason';

/**
 * Gives records to a tap. Returns what the receiver said, where the tap knows, or what went wrong. It may be code of
 * others: it may throw, hang, or fail long after nobody waits any more.
 */
export async function attempt(
  tap: HeldTap,
  records: readonly SettledRecord[],
  stopping: AbortSignal,
): Promise<Result<string | null, Failure>> {
  const { timeoutMs } = tap;
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([stopping, late]);
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(new Error('the service stops'));
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  try {
    const work = (async () => tap.send(records, signal))();
    return ok(await withDeadline(timeoutMs, Promise.race([work, stopped.promise])));
  } catch (error) {
    // What a tap throws as its time ends says the same in other words.
    return err(late.aborted ? unknown(`no answer within ${timeoutMs} ms`) : failureOf(error));
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}

function failureOf(error: unknown): Failure {
  const words = wordsOf(error);
  if (!(error instanceof SinkFailure)) return unknown(words);
  const { kind, retryAfterMs, refused } = error;
  return { words, kind, retryAfterMs, refused };
}

const unknown = (words: string): Failure => ({ words, kind: 'unknown', retryAfterMs: 0, refused: new Map() });

/** What is thrown may be anything, and its words may hold a secret. */
function wordsOf(error: unknown): string {
  try {
    const words: unknown = error instanceof Error ? error.message : error;
    return typeof words === 'string' && words !== '' ? redactText(words) : NO_WORDS;
  } catch {
    return NO_WORDS;
  }
}
