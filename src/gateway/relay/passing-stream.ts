import type { Fault, Usage } from '../../kernel';
import { type JsonObject, createStreamNormalizer } from '../../protocol';
import { responseModelName } from '../admission';
import {
  type Delivery,
  failureOf,
  hidesUsage,
  isRefusal,
  type LaneResponse,
  type LaneStream,
} from '../attempt';
import { textOperation } from '../operations/operation';
import { chargedUsage, usageOfStream } from '../settle';
import { echoOf, requestEcho } from './echo';
import { StreamRepair } from './stream-repair';
import { svcObject } from './svc-object';
import { StreamEditor } from './stream-editor';

/** Stream whose caller and supplier use the same dialect. */
export class PassingStream implements LaneStream {
  private readonly tap: StreamEditor;
  private readonly echo: JsonObject;
  private delivery: Delivery | null = null;

  constructor(private readonly answer: LaneResponse) {
    const { call } = answer.routed;
    const operation = textOperation(call.operation);
    const isNative = operation.name === 'native';
    this.echo = echoOf(call);
    this.tap = new StreamEditor({
      dialect: operation.dialect,
      hidesUsage: hidesUsage(call),
      manyAnswers: call.choices > 1,
      keepsFailure: (data, problem) => isNative && isRefusal(problem) && !answer.secrets.occurIn(data),
      model: isNative ? null : responseModelName(answer.routed),
      facts: isNative ? null : () => svcObject(answer, this.usage(), answer.dropped),
      mending: isNative ? undefined : this.repairing(),
      named: nameRecorder(answer),
    });
  }

  private repairing(): StreamRepair | undefined {
    const { routed, route } = this.answer;
    const { call } = routed;
    const { form } = call.operation;
    if (form === undefined) return undefined;
    const named = responseModelName(routed);
    const repairer = createStreamNormalizer(form, {
      requestId: call.inbound.requestId,
      modelOverride: named,
      model: named ?? route.lane.upstreamModel,
      inputTokens: call.inputEstimate,
      echo: this.echo,
      request: form === 'responses' ? requestEcho(call) : null,
    });
    return repairer === null
      ? undefined
      : new StreamRepair(form, repairer, { usage: () => this.usage(), tellsUsage: call.includeUsage });
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

  finish(broken: Fault | null): Delivery {
    this.delivery ??= this.deliver(broken);
    return this.delivery;
  }

  fail(problem: Fault): string {
    const { routed, route } = this.answer;
    const model = responseModelName(routed) ?? route.lane.upstreamModel;
    return this.tap.watcher.failureEvent(problem, routed.call.inbound.requestId, model, this.echo);
  }

  private deliver(broken: Fault | null): Delivery {
    const { tap, answer } = this;
    // A connection that breaks after the complete response does no harm.
    if (broken === null || tap.accounted) tap.end();
    const { watcher, sawEvent } = tap;
    const failure = tap.ended
      ? null
      : failureOf({ reported: tap.failure, broken }, watcher.hasOutput, sawEvent);
    const { call } = answer.routed;
    const problem = failure && answer.secrets.redactFault(failure);
    return {
      by: answer,
      status: answer.status,
      usage: this.usage(),
      finishReason: watcher.finishReason,
      calls: [...watcher.calls],
      seals: watcher.seals,
      stored: watcher.stored,
      firstTokenMs:
        tap.firstOutputAt === null ? null : Math.round(tap.firstOutputAt - call.inbound.startedMs),
      dropped: answer.dropped,
      problem,
      body: this.last(problem),
    };
  }

  private last(problem: Fault | null): Buffer | string {
    if (problem === null) return this.tap.takeLast();
    return this.tap.failurePassed ? '' : this.fail(problem);
  }

  private usage(): Usage {
    const { routed, outbound } = this.answer;
    const { usage, outputBytes, coveredBytes } = this.tap.watcher;
    const counted = usageOfStream(usage, routed, outputBytes, coveredBytes);
    const served = this.tap.watcher.toolUses.join(counted, routed.call.fees.uses);
    return chargedUsage(served, this.answer, outbound);
  }
}

function nameRecorder({ span }: LaneResponse): ((model: unknown, id: unknown) => boolean) | undefined {
  return span === null || span.span === null ? undefined : (model, id) => span.recordNames(model, id);
}
