import type { SettledRecord } from '#extension';
import { err, ok, type Result, withDeadline } from '../../kernel';
import { redactText } from '../../platform';
import { type Failure, SinkFailure } from './failure';
import type { RegisteredTap } from './registered-tap';

const NO_MESSAGE = 'it failed without a reason';

/**
 * Delivers records to a tap. Returns the receiver's response if known, or the failure; an extension's code can throw,
 * hang or fail late.
 */
export async function attempt(
  tap: RegisteredTap,
  records: readonly SettledRecord[],
  stopping: AbortSignal,
): Promise<Result<string | null, Failure>> {
  const { timeoutMs } = tap;
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([stopping, deadline]);
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(new Error('the service stops'));
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  try {
    const work = (async () => tap.send(records, signal))();
    return ok(await withDeadline(timeoutMs, Promise.race([work, stopped.promise])));
  } catch (error) {
    // An error thrown at the deadline is reported as a timeout.
    return err(deadline.aborted ? unknownFailure(`no answer within ${timeoutMs} ms`) : failureOf(error));
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}

function failureOf(error: unknown): Failure {
  const failureMessage = messageOf(error);
  if (!(error instanceof SinkFailure)) return unknownFailure(failureMessage);
  const { kind, retryAfterMs, refused } = error;
  return { message: failureMessage, kind, retryAfterMs, refused };
}

const unknownFailure = (words: string): Failure => ({
  message: words,
  kind: 'unknown',
  retryAfterMs: 0,
  refused: new Map(),
});

/** Any value can be thrown, and its message might contain a secret. */
function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return typeof message === 'string' && message !== '' ? redactText(message) : NO_MESSAGE;
  } catch {
    return NO_MESSAGE;
  }
}
