import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Fault, fault, fromUnknown } from '../../kernel';
import { Settings } from '../../platform';
import type { Attempts, Delivery, LaneResponse, LaneAttempt } from '../attempt';
import type { GatewayCall } from '../intake';
import { type AnswerMasks, maskBody, MaskedStream, MaskError, maskFailureFault } from '../masks';
import { textOperation } from '../operations/operation';
import { EarlyHead } from '../reply/early-head';
import { OpenStreams } from '../reply/open-streams';
import type { Reply } from '../reply/reply';
import { StreamSink } from '../reply/stream-sink';
import { droppedNames, type RouteSummary } from '../reply/svc-headers';
import { Safeguards } from './safeguards';
import { type AnswerSample, type RequestProgress, Settlement } from '../settle';
import { echoOf } from './echo';
import { maskedFailure, relayStream } from './relay-stream';
import { contentTypeOf } from './relay-complete';

const UNRECORDED_MESSAGE = 'The cost of this answer could not be recorded, so its last event is kept back.';

@Injectable()
export class Relay {
  constructor(
    private readonly settings: Settings,
    private readonly streams: OpenStreams,
    private readonly settlement: Settlement,
    private readonly safeguards: Safeguards,
  ) {}

  scheduleEarlyHead(
    progress: RequestProgress,
    response: ServerResponse,
  ): EarlyHead<StreamSink<AnswerSample>> {
    return new EarlyHead(this.settings.streamPingIntervalMs, () => this.openEarly(progress, response));
  }

  async complete(
    answer: LaneResponse,
    complete: Delivery<Buffer>,
    progress: RequestProgress,
  ): Promise<Reply> {
    const { status, routed } = answer;
    const contentType = contentTypeOf(answer);
    const { masks } = progress;
    const body =
      masks === null ? complete.body : maskComplete(masks, routed.call, contentType, complete.body);
    const { facts, durable } = this.settlement.settle(complete, progress, body);
    await durable;
    this.settlement.countServed(complete, progress, facts);
    progress.trace?.setAnswer(answer.span, body);
    this.settlement.startSample(routed.call)?.complete(complete, facts, body);
    return { status, contentType, body: await this.safeguards.reviewComplete(answer, body), facts };
  }

  async sendStream(
    answer: LaneResponse,
    attempts: Attempts,
    progress: RequestProgress,
    response: ServerResponse,
  ): Promise<null> {
    const { call } = answer.routed;
    const operation = textOperation(call.operation);
    const sink = progress.early?.take() ?? this.open(call, answer, response, progress.trace);
    const { sample } = sink;
    const { masks } = progress;
    const masked = masks && new MaskedStream(operation.dialect, masks);
    const { delivery, answer: endingLane } = await relayStream(operation, answer, attempts, { sink, masked });
    masks?.reportVerdicts();
    progress.trace?.setAnswer(endingLane.span, null);
    const { problem, body } = delivery;
    const { facts, durable } = this.settlement.settle(delivery, progress, problem === null ? body : null);
    try {
      await durable;
    } catch (error) {
      progress.isSettled = true;
      const unrecorded = fault('stream_error', { message: UNRECORDED_MESSAGE, cause: error });
      sink.cut(problem === null ? failureEnd(endingLane, masked, unrecorded) : body);
      throw unrecorded;
    }
    this.settlement.countServed(delivery, progress, facts);
    sink.end(
      facts,
      problem === null ? await this.safeguards.reviewEnding(endingLane, sink.reviewed, body) : body,
    );
    sample?.complete(delivery, facts, null);
    return null;
  }

  endFailed({ early, call, model }: RequestProgress, error: unknown): void {
    const sink = early?.take() ?? null;
    if (sink === null || call === null) return;
    const watcher = textOperation(call.operation).dialect.streamWatcher(false);
    sink.cut(watcher.failureEvent(fromUnknown(error), call.inbound.requestId, model, echoOf(call)));
  }

  private open(
    call: GatewayCall,
    lane: LaneAttempt & Pick<LaneResponse, 'dropped'>,
    response: ServerResponse,
    trace: RequestProgress['trace'],
  ): StreamSink<AnswerSample> {
    const operation = textOperation(call.operation);
    const sink = new StreamSink(
      response,
      operation.dialect.ping,
      this.settlement.startSample(call),
      trace?.copy ?? null,
      this.safeguards.createReviewedStream(call),
    );
    this.streams.add(sink, operation.name);
    sink.sendHead(routeSummary(lane));
    return sink;
  }

  /** The head names the lane that is being called, although another could still respond. */
  private openEarly(
    { attempts, trace }: RequestProgress,
    response: ServerResponse,
  ): StreamSink<AnswerSample> | null {
    const current = attempts?.current ?? null;
    if (current === null || response.headersSent || response.destroyed) return null;
    const { lane, dropped } = current;
    return this.open(lane.routed.call, { ...lane, dropped }, response, trace);
  }
}

function maskComplete(
  masks: AnswerMasks,
  { operation }: GatewayCall,
  contentType: string,
  body: Buffer,
): Buffer {
  try {
    return maskBody(masks, operation, { body, contentType });
  } catch (cause) {
    throw cause instanceof MaskError ? maskFailureFault(cause) : cause;
  } finally {
    masks.reportVerdicts();
  }
}

const failureEnd = (answer: LaneResponse, masked: MaskedStream | null, problem: Fault): string =>
  masked === null ? (answer.stream?.fail(problem) ?? '') : maskedFailure(masked, answer, problem);

const routeSummary = ({
  routed,
  route: { lane },
  failover,
  dropped,
}: LaneAttempt & Pick<LaneResponse, 'dropped'>): RouteSummary => ({
  supplier: lane.provider.name,
  region: lane.region,
  upstreamModel: lane.upstreamModel,
  failover,
  outputCap: routed.held.cappedOutput,
  dropped: droppedNames(dropped),
  ...(routed.call.auto !== null && { auto: routed.call.auto.headerText(routed.model.name) }),
});
