import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Fault, fault, fromUnknown } from '../../kernel';
import { Settings } from '../../platform';
import type { Attempts, Delivery, LaneAnswer, LaneTry } from '../attempt';
import type { Call } from '../intake';
import { type AnswerMasks, maskedBody, MaskedStream, MaskFailed, maskFault } from '../masks';
import { textOperation } from '../operations/operation';
import { EarlyHead } from '../reply/early-head';
import { OpenStreams } from '../reply/open-streams';
import type { Reply } from '../reply/reply';
import { StreamSink } from '../reply/stream-sink';
import { droppedNames, type RouteFacts } from '../reply/svc-headers';
import { Safeguards } from './safeguards';
import { type AnswerSample, type RequestProgress, Settlement } from '../settle';
import { echoOf } from './echo';
import { maskedFailure, relayStream } from './relay-stream';
import { contentTypeOf } from './relay-whole';

const NOT_ON_RECORD = 'The cost of this answer could not be recorded, so its last event is kept back.';

/** The relay sends an answer out. It is settled before its last bytes are sent. */
@Injectable()
export class Relay {
  constructor(
    private readonly settings: Settings,
    private readonly streams: OpenStreams,
    private readonly settlement: Settlement,
    private readonly safeguards: Safeguards,
  ) {}

  /** The head of a stream whose suppliers are silent for long. */
  begin(progress: RequestProgress, response: ServerResponse): EarlyHead<StreamSink<AnswerSample>> {
    return new EarlyHead(this.settings.streamPingIntervalMs, () => this.openEarly(progress, response));
  }

  async whole(answer: LaneAnswer, whole: Delivery<Buffer>, progress: RequestProgress): Promise<Reply> {
    const { status, routed } = answer;
    const contentType = contentTypeOf(answer);
    const { masks } = progress;
    const body = masks === null ? whole.body : maskedWhole(masks, routed.call, contentType, whole.body);
    const { facts, kept } = this.settlement.settle(whole, progress, body);
    await kept;
    this.settlement.served(whole, progress, facts);
    progress.trace?.answers(answer.span, body);
    this.settlement.sample(routed.call)?.served(whole, facts, body);
    return { status, contentType, body: await this.safeguards.whole(answer, body), facts };
  }

  async stream(
    answer: LaneAnswer,
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
    const { delivery, answer: ending } = await relayStream(operation, answer, attempts, { sink, masked });
    masks?.over();
    progress.trace?.answers(ending.span, null);
    const { problem, body } = delivery;
    const { facts, kept } = this.settlement.settle(delivery, progress, problem === null ? body : null);
    try {
      await kept;
    } catch (error) {
      progress.isSettled = true;
      const unrecorded = fault('stream_error', { message: NOT_ON_RECORD, cause: error });
      sink.cut(problem === null ? failedEnd(ending, masked, unrecorded) : body);
      throw unrecorded;
    }
    this.settlement.served(delivery, progress, facts);
    sink.end(facts, problem === null ? await this.safeguards.ending(ending, sink.reviewed, body) : body);
    sample?.served(delivery, facts, null);
    return null;
  }

  /** A stream whose head has gone before anything answered ends with its failure. */
  failed({ early, call, model }: RequestProgress, error: unknown): void {
    const sink = early?.take() ?? null;
    if (sink === null || call === null) return;
    const watcher = textOperation(call.operation).dialect.streamWatcher(false);
    sink.cut(watcher.failureEvent(fromUnknown(error), call.inbound.requestId, model, echoOf(call)));
  }

  private open(
    call: Call,
    lane: LaneTry & Pick<LaneAnswer, 'dropped'>,
    response: ServerResponse,
    trace: RequestProgress['trace'],
  ): StreamSink<AnswerSample> {
    const operation = textOperation(call.operation);
    const sink = new StreamSink(
      response,
      operation.dialect.ping,
      this.settlement.sample(call),
      trace?.copy ?? null,
      this.safeguards.streamOf(call),
    );
    this.streams.add(sink, operation.name);
    sink.head(routeFacts(lane));
    return sink;
  }

  /** The lane that is being asked stands in the head; another may still answer. */
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

function maskedWhole(masks: AnswerMasks, { operation }: Call, contentType: string, body: Buffer): Buffer {
  try {
    return maskedBody(masks, operation, { body, contentType });
  } catch (cause) {
    throw cause instanceof MaskFailed ? maskFault(cause) : cause;
  } finally {
    masks.over();
  }
}

/** The end of a stream that fails after its supplier's last byte. */
const failedEnd = (answer: LaneAnswer, masked: MaskedStream | null, problem: Fault): string =>
  masked === null ? (answer.stream?.fail(problem) ?? '') : maskedFailure(masked, answer, problem);

/** Facts for the head of the answer. */
const routeFacts = ({
  routed,
  route: { lane },
  failover,
  dropped,
}: LaneTry & Pick<LaneAnswer, 'dropped'>): RouteFacts => ({
  supplier: lane.provider.name,
  region: lane.region,
  upstreamModel: lane.upstreamModel,
  failover,
  outputCap: routed.held.cappedOutput,
  dropped: droppedNames(dropped),
  ...(routed.call.auto !== null && { auto: routed.call.auto.told(routed.model.name) }),
});
