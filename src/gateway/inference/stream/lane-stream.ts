import { type Fault, fault } from '../../../kernel';
import type { Delivery } from '../delivery';

/** A stream that has been passed on, but for its last bytes: those leave after it is settled. */
export interface StreamDelivery extends Delivery {
  readonly last: Buffer | string;
}

/** What becomes of one lane's stream on its way to the caller. */
export interface LaneStream {
  /** Takes what came and answers what goes on now. */
  take(chunk: Buffer): Buffer | string;
  /** Something has come that the caller can use: from here on the caller is told what happens. */
  readonly useful: boolean;
  /** The answer is whole: nothing that may still come belongs to it. */
  readonly ended: boolean;
  /** What in it is wrong: nothing more of it goes on, however much may come. */
  readonly failure: Fault | null;
  /** The body is over, or was broken off for a reason. Asked again it answers the same. */
  finish(broken: Fault | null): StreamDelivery;
  /** Instead of the last bytes: a failure of our own, after the supplier had said everything. */
  fail(problem: Fault): string;
}

/** What went wrong: something in the stream, or the connection; neither where it just ended too early. */
interface Failed {
  readonly told: Fault | null;
  readonly broken: Fault | null;
}

/**
 * The one rule for failures inside a stream. Once output was seen, the same request sent again would be another
 * answer: it is `stream_error` or `stream_interrupted`. Before, it is the failure itself, and another lane's turn.
 */
export function failureOf({ told, broken }: Failed, hasOutput: boolean, sawEvent: boolean): Fault {
  const isCut =
    told === null || told.code === 'agentcli_incomplete_stream' || told.code === 'stream_interrupted';
  const cause = told ?? broken ?? undefined;
  if (hasOutput) {
    if (cause?.code === 'stream_interrupted') return cause;
    if (isCut) return fault('stream_interrupted', { cause });
    const { supplier } = told.options.details ?? {};
    return fault('stream_error', {
      cause: told,
      ...(supplier === undefined ? {} : { details: { supplier } }),
    });
  }
  if (told === null && broken !== null) return broken;
  if (told !== null && !isCut) return told.code === 'empty_response' ? fault('empty_stream') : told;
  return fault(sawEvent ? 'upstream_invalid_response' : 'empty_stream', {
    ...(sawEvent ? { message: 'The stream of the supplier ended before its answer was complete.' } : {}),
    cause,
  });
}
