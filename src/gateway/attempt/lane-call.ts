import type { LaneView } from '../../catalogue';
import { fault, fromUnknown, monotonicMs } from '../../kernel';
import type { Dropped } from '../../protocol';
import type { AnswerHead, CallSecrets, SentCall, SupplierExchange } from '../../routing';
import type { HeldCall } from '../admission';
import type { AttemptTools } from './attempt-tools';
import { judge, judgeBegun, type Judgement } from './judge';
import type { AnswerReader, LaneAnswer, LaneTry, StreamOf } from './lane-answer';
import { FirstTokenTimer, openStream } from './opening';
import { type Outbound, outboundFor } from './outbound';
import type { ReasoningReader } from './reasoning-owners';

const BAD_REQUEST = 400;

/** No lane is told more than its model writes. */
const cappedFor = ({ cappedOutput }: HeldCall, { facts }: LaneView): number | undefined =>
  cappedOutput === null ? undefined : Math.min(cappedOutput, facts.maxOutput ?? Infinity);

export type Tried = { readonly kind: 'answered'; readonly answer: LaneAnswer } | Judgement;

/** One call to one lane, until the first useful event of a stream or the whole answer. */
export class LaneCall {
  private exchange: SupplierExchange | null = null;
  /** The lane does not get these parts of the request. */
  dropped: readonly Dropped[] = [];
  private outbound: Outbound | null = null;
  private readonly reader: ReasoningReader;

  constructor(
    readonly lane: LaneTry,
    private readonly answers: AnswerReader,
    /** Reads a stream that is to go on where an earlier one broke off; null for any other. */
    private readonly continued: StreamOf | null,
    /** Reserves the next try: only if there is one is it worth giving up this call. */
    private readonly turns: { reserve(): boolean },
    private readonly tools: AttemptTools,
  ) {
    this.reader = tools.owners.readerFor(lane.route.lane.provider, lane.withoutReasoning);
  }

  /** The signed reasoning of earlier turns that the lane was shown. */
  get shown(): readonly string[] {
    return this.reader.shown;
  }

  /** This says whether bytes may have left: the supplier may be at work. */
  get begun(): boolean {
    return this.exchange?.begun === true;
  }

  get isContinuation(): boolean {
    return this.continued !== null;
  }

  async run(): Promise<Tried> {
    const { routed, route } = this.lane;
    const { styles, settings, health } = this.tools;
    const { provider } = route.lane;
    // Only a stream shows whether something is coming.
    const firstToken = routed.call.stream
      ? new FirstTokenTimer(provider.timeouts.firstToken ?? settings.supplierFirstTokenTimeoutMs)
      : null;
    let outbound: Outbound | null = null;
    let secrets: CallSecrets | null = null;
    let head: AnswerHead | null = null;
    try {
      const making = outboundFor(routed, route.lane, styles, this.reader);
      outbound = this.outbound = making instanceof Promise ? await making : making;
      this.dropped = [...outbound.dropped, ...(outbound.translation?.dropped ?? [])];
      const sending = this.send(outbound);
      const sent = sending instanceof Promise ? await sending : sending;
      const { exchange } = sent;
      ({ secrets } = sent);
      if (sent.dropped.length > 0) this.dropped = [...this.dropped, ...sent.dropped];
      this.watch(exchange, firstToken);
      const whole = firstToken === null ? await exchange.complete() : null;
      head = whole ?? (await exchange.head);
      if (head.status >= 300) {
        const error = sent.judge(head, whole?.body ?? (await exchange.whole()));
        return judge(head, error, health.longestPauseMs(provider));
      }
      const answer = this.answerOf(outbound, head, sent);
      if (whole !== null) {
        const read = this.answers.whole(answer, whole.body, (body) => sent.errorIn(whole, body));
        if ('kind' in read) return judge(whole, read, health.longestPauseMs(provider));
        answer.whole = read;
      }
      if (firstToken !== null) {
        const stream = (answer.stream = (this.continued ?? this.answers.stream)(answer));
        await openStream(answer, stream, firstToken, () => this.turns.reserve());
      }
      return { kind: 'answered', answer };
    } catch (error) {
      const read = fromUnknown(error);
      const problem = secrets?.blankedFault(read) ?? read;
      // A failure before sending says nothing about the lane's health.
      if (outbound === null) return { kind: 'refused', status: null, problem };
      if (head !== null) return judgeBegun(head.status, problem);
      return { kind: 'failed', status: null, problem, pauseMs: 0 };
    } finally {
      firstToken?.stop();
    }
  }

  /** A refusal may be due to the reasoning of earlier turns: without it, the lane would be asked otherwise. */
  async mayBeMended(tried: Tried): Promise<boolean> {
    if (tried.kind !== 'refused' || tried.status !== BAD_REQUEST || tried.problem.code !== 'invalid_request')
      return false;
    const { lane, outbound, tools } = this;
    if (lane.withoutReasoning || outbound === null) return false;
    const { provider } = lane.route.lane;
    const reader = tools.owners.readerFor(provider, true);
    const other = await outboundFor(lane.routed, lane.route.lane, tools.styles, reader);
    const [said, unsaid] = [outbound.body, other.body];
    return said.kind === 'json' && unsaid.kind === 'json' && !said.text.bytes.equals(unsaid.text.bytes);
  }

  private send({ body, wire, headers }: Outbound): SentCall | Promise<SentCall> {
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
        maxOutputTokens: cappedFor(held, route.lane),
      },
      {
        firstByteMs: call.stream
          ? settings.supplierStreamFirstByteTimeoutMs
          : settings.supplierFirstByteTimeoutMs,
        idleMs: settings.supplierIdleTimeoutMs,
        totalMs: settings.supplierTotalTimeoutMs,
        // While the call waited for a connection, the lane's breaker may have opened.
        changedMind: () => (permit.isOvertaken(monotonicMs()) ? fault('no_providers_available') : null),
      },
    );
  }

  /** The caller may leave at any time, and a stream that says nothing may give way to another lane. */
  private watch(exchange: SupplierExchange, firstToken: FirstTokenTimer | null): void {
    this.exchange = exchange;
    this.lane.routed.work.watch(exchange);
    firstToken?.onEnd(() => {
      if (this.turns.reserve()) exchange.abort(fault('upstream_timeout'));
    });
  }

  private answerOf(outbound: Outbound, head: AnswerHead, { exchange, secrets }: SentCall): LaneAnswer {
    return {
      ...this.lane,
      outbound,
      status: head.status,
      contentType: head.headers['content-type'] ?? '',
      exchange,
      secrets,
      dropped: this.dropped,
      stream: null,
      whole: null,
      early: [],
    };
  }
}
