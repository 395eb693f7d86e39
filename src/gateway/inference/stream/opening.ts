import { type Fault, fault } from '../../../kernel';
import type { LaneAnswer, LaneStream } from '../lane-answer';
import type { FirstTokenTimer } from './first-token-timer';
import { failureOf } from './stream-failure';

/** More than this is not kept back, useful or not. */
const MOST_EARLY = 1024 * 1024;

/**
 * Reads a stream until the first useful event: up to there another lane can still take over, and the caller can
 * still be told with a status. When `firstToken` ends, another lane takes over, or the answer so far is sent. Puts
 * what can go to the caller into `early`, also later, until the exchange has another reader.
 */
export function openStream(
  { exchange, early }: LaneAnswer,
  stream: LaneStream,
  firstToken: FirstTokenTimer,
  hasSuccessor: () => boolean,
): Promise<void> {
  return new Promise((resolve, reject: (problem: Fault) => void) => {
    let size = 0;
    firstToken.onEnd(() => {
      if (hasSuccessor()) exchange.abort(fault('upstream_timeout'));
      else resolve();
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
        } else if (stream.useful || stream.ended || size > MOST_EARLY) resolve();
        return true;
      },
      end: () => {
        const { problem } = stream.finish(null);
        if (problem === null) resolve();
        else reject(problem);
      },
      broken: reject,
    });
  });
}
