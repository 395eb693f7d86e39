import { type Fault, fault } from '../../../kernel';
import type { SupplierExchange } from '../../../routing';
import { failureOf, type LaneStream } from './lane-stream';
import type { FirstTokenTimer } from './first-token-timer';

/** A stream that has begun to say something. */
export interface OpenedStream {
  readonly stream: LaneStream;
  /** What can go to the caller already; it grows until somebody else reads the exchange. */
  readonly early: (Buffer | string)[];
}

/** More than this is not kept back, useful or not. */
const MOST_EARLY = 1024 * 1024;

/**
 * Reads a stream until the first useful event: up to there another lane can still take over, and the caller can
 * still be told with a status. When `firstToken` ends, another lane takes over, or the answer so far is sent.
 */
export function openStream(
  exchange: SupplierExchange,
  stream: LaneStream,
  firstToken: FirstTokenTimer,
  hasSuccessor: () => boolean,
): Promise<OpenedStream> {
  return new Promise((resolve, reject: (problem: Fault) => void) => {
    const early: (Buffer | string)[] = [];
    let size = 0;
    const commit = (): void => resolve({ stream, early });
    firstToken.onEnd(() => {
      if (hasSuccessor()) exchange.abort(fault('upstream_timeout'));
      else commit();
    });
    exchange.read({
      data: (chunk) => {
        const passing = stream.take(chunk);
        size += passing.length;
        if (passing.length > 0) early.push(passing);
        if (stream.failure !== null) {
          exchange.abort(stream.failure);
          // What came before it has not reached the caller, so this is as if nothing had come.
          reject(failureOf({ told: stream.failure, broken: null }, false, true));
        } else if (stream.useful || stream.ended || size > MOST_EARLY) commit();
        return true;
      },
      end: () => {
        const { problem } = stream.finish(null);
        if (problem === null) commit();
        else reject(problem);
      },
      broken: reject,
    });
  });
}
