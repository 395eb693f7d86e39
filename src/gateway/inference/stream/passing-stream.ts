import { type Fault, fault } from '../../../kernel';
import type { AnswerContext } from '../answer-context';
import { usageOfStream } from '../delivery';
import { hidesUsage } from '../outbound';
import { Tap } from '../tap';
import { inBand, type LaneStream, type StreamDelivery } from './lane-stream';

/** Both sides speak one dialect: the supplier's bytes go on untouched, but for what is added to the final usage. */
export class PassingStream implements LaneStream {
  private readonly tap: Tap;

  constructor(private readonly context: AnswerContext) {
    const { surface, call } = context;
    const isNative = surface.name === 'native';
    this.tap = new Tap({
      dialect: surface.dialect,
      hidesUsage: hidesUsage(call),
      manyAnswers: call.choices > 1,
      keepsFailures: isNative,
      facts: isNative ? null : (reading) => context.facts(this.usage(reading)),
    });
  }

  get useful(): boolean {
    return this.tap.useful;
  }

  get failure(): Fault | null {
    return this.tap.failure;
  }

  take(chunk: Buffer): Buffer {
    return this.tap.take(chunk);
  }

  finish(broken: Fault | null): StreamDelivery {
    const { tap, context } = this;
    // A connection that breaks after everything has come takes nothing away.
    if (broken === null || tap.accounted) tap.end();
    const problem = tap.failure ?? (tap.ended ? null : (broken ?? fault('stream_interrupted')));
    const { inbound, surface } = context;
    return {
      usage: this.usage(tap.usage),
      finishReason: tap.finishReason,
      firstTokenMs: tap.firstTextAt === null ? null : Math.round(tap.firstTextAt - inbound.startedMs),
      dropped: [],
      problem,
      last:
        problem === null ? tap.last() : tap.failureTold ? '' : inBand(surface, problem, inbound.requestId),
    };
  }

  private usage(reading: Tap['usage']) {
    const { call, contextTokens } = this.context;
    return usageOfStream(reading, call, contextTokens, this.tap.textBytes);
  }
}
