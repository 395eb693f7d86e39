import type { Fault } from '../../../kernel';
import type { JsonObject } from '../../../protocol';
import { echoOf } from '../../responses/echo';
import type { AnswerContext } from '../answer-context';
import { usageOfStream } from '../delivery';
import { hidesUsage } from '../outbound';
import { Tap } from '../tap';
import { failureOf, type LaneStream, type StreamDelivery } from './lane-stream';

/** Both sides speak one dialect: the supplier's bytes go on, but for the name of the model and what is added to the usage. */
export class PassingStream implements LaneStream {
  private readonly tap: Tap;
  private readonly echo: JsonObject;
  private delivery: StreamDelivery | null = null;

  constructor(private readonly context: AnswerContext) {
    const { surface, call, model } = context;
    const isNative = surface.name === 'native';
    this.echo = echoOf(surface, context.inbound);
    this.tap = new Tap({
      dialect: surface.dialect,
      hidesUsage: hidesUsage(call),
      manyAnswers: call.choices > 1,
      keepsFailure: (data) => isNative && !context.secrets.areIn(data),
      model: isNative ? null : model,
      echo: this.echo,
      facts: isNative ? null : () => context.facts(this.usage()),
    });
  }

  get useful(): boolean {
    return this.tap.useful;
  }

  get ended(): boolean {
    return this.tap.ended;
  }

  get failure(): Fault | null {
    return this.tap.failure;
  }

  take(chunk: Buffer): Buffer {
    return this.tap.take(chunk);
  }

  finish(broken: Fault | null): StreamDelivery {
    this.delivery ??= this.deliver(broken);
    return this.delivery;
  }

  fail(problem: Fault): string {
    const { inbound, model } = this.context;
    return this.tap.watcher.failureEvent(problem, inbound.requestId, model, this.echo);
  }

  private deliver(broken: Fault | null): StreamDelivery {
    const { tap, context } = this;
    // A connection that breaks after everything has come takes nothing away.
    if (broken === null || tap.accounted) tap.end();
    const { watcher, sawEvent } = tap;
    const failure = tap.ended ? null : failureOf({ told: tap.failure, broken }, watcher.hasOutput, sawEvent);
    const { inbound, model, secrets } = context;
    const problem = failure && secrets.blankedFault(failure);
    return {
      usage: this.usage(),
      finishReason: watcher.finishReason,
      firstTokenMs: tap.firstOutputAt === null ? null : Math.round(tap.firstOutputAt - inbound.startedMs),
      dropped: [],
      problem,
      last: this.last(problem, inbound.requestId, model),
    };
  }

  private last(problem: Fault | null, requestId: string, model: string): Buffer | string {
    const { tap } = this;
    if (problem === null) return tap.last();
    return tap.failureTold ? '' : tap.watcher.failureEvent(problem, requestId, model, this.echo);
  }

  private usage() {
    const { call, limits } = this.context;
    const { usage, outputBytes, coveredBytes } = this.tap.watcher;
    const counted = usageOfStream(usage, call, limits, outputBytes, coveredBytes);
    return this.tap.watcher.served.join(counted, call.fees.uses);
  }
}
