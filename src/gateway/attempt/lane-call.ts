import type { LaneView } from '../../catalogue';
import { fault, fromUnknown, type MaybePromise, monotonicMs } from '../../kernel';
import type { Dropped } from '../../protocol';
import type { ResponseHead, CallSecrets, SentCall, SupplierExchange } from '../../routing';
import type { HeldCall } from '../admission';
import type { AttemptTools } from './attempt-tools';
import { classifyFailure, classifyResponseFailure, type FailedAttempt } from './classify-failure';
import type { LaneResponseReader, LaneResponse, LaneAttempt, StreamFactory } from './lane-response';
import { FirstTokenTimer, openStream } from './open-stream';
import { type OutboundRequest, createOutbound } from './outbound';
import type { ReasoningReader } from './reasoning-owners';

const BAD_REQUEST = 400;

/** Never sends a lane a higher limit than its model's. */
const cappedOutputFor = ({ cappedOutput }: HeldCall, { facts }: LaneView): number | undefined =>
  cappedOutput === null ? undefined : Math.min(cappedOutput, facts.maxOutput ?? Infinity);

export type AttemptResult = { readonly kind: 'answered'; readonly answer: LaneResponse } | FailedAttempt;

export class LaneCall {
  private exchange: SupplierExchange | null = null;
  dropped: readonly Dropped[] = [];
  private outbound: OutboundRequest | null = null;
  private readonly reader: ReasoningReader;

  constructor(
    readonly lane: LaneAttempt,
    private readonly answers: LaneResponseReader,
    /** Reads a stream that continues an earlier one; null otherwise. */
    private readonly continued: StreamFactory | null,
    /** Reserves the next attempt; without a reservation this call is not given up. */
    private readonly turns: { reserve(): boolean },
    private readonly tools: AttemptTools,
  ) {
    this.reader = tools.owners.readerFor(lane.route.lane.provider, lane.withoutReasoning);
  }

  get sentReasoning(): readonly string[] {
    return this.reader.sent;
  }

  get hasStarted(): boolean {
    return this.exchange?.hasStarted === true;
  }

  get isContinuation(): boolean {
    return this.continued !== null;
  }

  async run(): Promise<AttemptResult> {
    const { routed, route } = this.lane;
    const { styles, settings, health } = this.tools;
    const { provider } = route.lane;
    // Only a stream shows progress before the end.
    const firstToken = routed.call.stream
      ? new FirstTokenTimer(provider.timeouts.firstToken ?? settings.supplierFirstTokenTimeoutMs)
      : null;
    let outbound: OutboundRequest | null = null;
    let secrets: CallSecrets | null = null;
    let head: ResponseHead | null = null;
    try {
      const preparing = createOutbound(routed, route.lane, styles, this.reader);
      outbound = this.outbound = preparing instanceof Promise ? await preparing : preparing;
      this.dropped = [...outbound.dropped, ...(outbound.translation?.dropped ?? [])];
      const sending = this.send(outbound);
      const sentCall = sending instanceof Promise ? await sending : sending;
      const { exchange } = sentCall;
      ({ secrets } = sentCall);
      if (sentCall.dropped.length > 0) this.dropped = [...this.dropped, ...sentCall.dropped];
      this.watch(exchange, firstToken);
      const completeResponse = firstToken === null ? await exchange.readResponse() : null;
      head = completeResponse ?? (await exchange.head);
      if (head.status >= 300) {
        const error = sentCall.judge(head, completeResponse?.body ?? (await exchange.readBody()));
        return classifyFailure(head, error, health.maxPauseMs(provider));
      }
      const answer = this.responseOf(outbound, head, sentCall);
      if (completeResponse !== null) {
        const result = this.answers.readComplete(answer, completeResponse.body, (body) =>
          sentCall.errorIn(completeResponse, body),
        );
        if ('kind' in result) return classifyFailure(completeResponse, result, health.maxPauseMs(provider));
        answer.complete = result;
      }
      if (firstToken !== null) {
        const stream = (answer.stream = (this.continued ?? this.answers.stream)(answer));
        await openStream(answer, stream, firstToken, () => this.turns.reserve());
      }
      return { kind: 'answered', answer };
    } catch (error) {
      const cause = fromUnknown(error);
      const problem = secrets?.redactFault(cause) ?? cause;
      // A failure before sending says nothing about the lane's health.
      if (outbound === null) return { kind: 'refused', status: null, problem };
      if (head !== null) return classifyResponseFailure(head.status, problem);
      return { kind: 'failed', status: null, problem, pauseMs: 0 };
    } finally {
      firstToken?.stop();
    }
  }

  /** Returns true if leaving out the reasoning of earlier turns would change the refused request. */
  async canRetryWithoutReasoning(result: AttemptResult): Promise<boolean> {
    if (
      result.kind !== 'refused' ||
      result.status !== BAD_REQUEST ||
      result.problem.code !== 'invalid_request'
    )
      return false;
    const { lane, outbound, tools } = this;
    if (lane.withoutReasoning || outbound === null) return false;
    const { provider } = lane.route.lane;
    const reader = tools.owners.readerFor(provider, true);
    const withoutReasoning = await createOutbound(lane.routed, lane.route.lane, tools.styles, reader);
    const [sentBody, bodyWithoutReasoning] = [outbound.body, withoutReasoning.body];
    return (
      sentBody.kind === 'json' &&
      bodyWithoutReasoning.kind === 'json' &&
      !sentBody.text.bytes.equals(bodyWithoutReasoning.text.bytes)
    );
  }

  private send({ body, wire, headers }: OutboundRequest): MaybePromise<SentCall> {
    const { routed, route, permit } = this.lane;
    const { call, held } = routed;
    const { client, settings, tracing } = this.tools;
    return client.open(
      held.hold,
      {
        operation: call.operation.name,
        wire,
        lane: route.lane,
        body,
        stream: call.stream,
        headers: tracing.headersFor(route.lane.provider.name, headers, this.lane.span),
        sessionKey: call.session,
        maxOutputTokens: cappedOutputFor(held, route.lane),
      },
      {
        firstByteMs: call.stream
          ? settings.supplierStreamFirstByteTimeoutMs
          : settings.supplierFirstByteTimeoutMs,
        idleMs: settings.supplierIdleTimeoutMs,
        totalMs: settings.supplierTotalTimeoutMs,
        // The lane's circuit breaker could have opened while the call waited for a connection.
        changedMind: () => (permit.isOutdated(monotonicMs()) ? fault('no_providers_available') : null),
      },
    );
  }

  /** Aborts the call if the caller leaves, or if a silent stream can fail over to another lane. */
  private watch(exchange: SupplierExchange, firstToken: FirstTokenTimer | null): void {
    this.exchange = exchange;
    this.lane.routed.work.watch(exchange);
    firstToken?.onEnd(() => {
      if (this.turns.reserve()) exchange.abort(fault('upstream_timeout'));
    });
  }

  private responseOf(
    outbound: OutboundRequest,
    head: ResponseHead,
    { exchange, secrets }: SentCall,
  ): LaneResponse {
    return {
      ...this.lane,
      outbound,
      status: head.status,
      contentType: head.headers['content-type'] ?? '',
      exchange,
      secrets,
      dropped: this.dropped,
      stream: null,
      complete: null,
      early: [],
    };
  }
}
