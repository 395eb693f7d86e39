import { type Fault, fault } from '../../kernel';
import type { LaneResponse, LaneStream } from './lane-response';
import { failureOf } from './stream-failure';

/** A longer opening is forwarded, useful or not. */
const MAX_EARLY_BYTES = 1024 * 1024;

/** Limits the time of a stream to its first token. Keeps only the last listener set by `onEnd`. */
export class FirstTokenTimer {
  isOver = false;
  private notify: (() => void) | null = null;
  private readonly timer: NodeJS.Timeout;

  constructor(milliseconds: number) {
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.notify?.();
    }, milliseconds);
  }

  onEnd(listener: () => void): void {
    this.notify = listener;
    if (this.isOver) listener();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

/**
 * Reads a stream until its first useful event; until then another lane can take over, and a failure still has a status.
 * When `firstToken` ends without a successor, the response so far is sent.
 */
export function openStream(
  { exchange, early, span }: LaneResponse,
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
    exchange.attachReader({
      data: (chunk) => {
        span?.countChunk();
        const forwarded = stream.take(chunk);
        size += forwarded.length;
        if (forwarded.length > 0) early.push(forwarded);
        if (stream.failure !== null) {
          exchange.abort(stream.failure);
          // The caller has received nothing yet, so the failure is reported as one before any output.
          reject(failureOf({ reported: stream.failure, broken: null }, false, true));
        } else if (stream.useful || stream.ended || size > MAX_EARLY_BYTES) resolve();
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
