import { type Fault, fault } from '../../kernel';
import type { LaneAnswer, LaneStream } from './lane-answer';
import { failureOf } from './stream-failure';

/** A longer opening is forwarded, useful or not. */
const MOST_EARLY = 1024 * 1024;

/**
 * The timer bounds the time that a stream may take to its first token. `onEnd` keeps one listener, the last
 * one set.
 */
export class FirstTokenTimer {
  over = false;
  private notify: (() => void) | null = null;
  private readonly timer: NodeJS.Timeout;

  constructor(milliseconds: number) {
    this.timer = setTimeout(() => {
      this.over = true;
      this.notify?.();
    }, milliseconds);
  }

  onEnd(tell: () => void): void {
    this.notify = tell;
    if (this.over) tell();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

/**
 * Reads a stream until its first useful event. Up to there another lane can take over, and a failure still has a
 * status. When `firstToken` ends, another lane takes over, or the answer so far is sent. Forwardable bytes go into
 * `early` until the exchange has another reader.
 */
export function openStream(
  { exchange, early, span }: LaneAnswer,
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
        span?.chunk();
        const passing = stream.take(chunk);
        size += passing.length;
        if (passing.length > 0) early.push(passing);
        if (stream.failure !== null) {
          exchange.abort(stream.failure);
          // The caller has received nothing yet, so the failure counts as if nothing had come.
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
