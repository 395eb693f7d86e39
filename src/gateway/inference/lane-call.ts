import { fault, fromUnknown, monotonicMs } from '../../kernel';
import type { SupplierError } from '../../protocol';
import type {
  AnswerHead,
  CallSecrets,
  LanePermit,
  PlannedLane,
  SentCall,
  SupplierExchange,
} from '../../routing';
import { type AnswerContext, svcFacts } from './answer-context';
import type { Answered, LaneAnswer, Sending } from './answered';
import type { AttemptTools } from './attempt-tools';
import { judge, judgeBegun, type Judgement } from './judge';
import { type Outbound, outboundFor } from './outbound';
import { relayWhole } from './relay-whole';
import { laneStream } from './stream/lane-stream-of';
import type { LaneStream } from './stream/lane-stream';
import { type OpenedStream, openStream } from './stream/opening';
import { FirstTokenTimer } from './stream/first-token-timer';
import { isText } from './surface';

export type StreamOf = (context: AnswerContext) => LaneStream;
export type Tried = { readonly kind: 'answered'; readonly answered: Answered } | Judgement;

/** What one try at one lane is made with. */
export interface LaneTry {
  readonly route: PlannedLane;
  readonly permit: LanePermit;
  /** Another lane should have answered and could not. */
  readonly failover: boolean;
  readonly streamOf: StreamOf;
  /** Pays for the next try, if there can be one: only then is it worth giving up this one. */
  readonly turns: { reserve(): boolean };
}

/** One try at one lane, from the request to the first useful event of a stream, or to the whole answer. */
export class LaneCall {
  private exchange: SupplierExchange | null = null;

  constructor(
    private readonly sending: Sending,
    private readonly tools: AttemptTools,
    readonly given: LaneTry,
  ) {}

  /** Whether bytes may have left: the supplier may be at work. */
  get begun(): boolean {
    return this.exchange?.begun === true;
  }

  /** A stream that is to go on where an earlier one broke off. */
  get isContinuation(): boolean {
    return this.given.streamOf !== laneStream;
  }

  async run(): Promise<Tried> {
    const { inbound, call, held, admission } = this.sending;
    const { styles, settings, health } = this.tools;
    const { route } = this.given;
    const { provider } = route.lane;
    // Only a stream shows whether something is coming.
    const firstToken = call.stream
      ? new FirstTokenTimer(provider.timeouts.firstToken ?? settings.supplierFirstTokenTimeoutMs)
      : null;
    let outbound: Outbound | null = null;
    let secrets: CallSecrets | null = null;
    let head: AnswerHead | null = null;
    try {
      outbound = outboundFor(inbound, call, held, admission, route, styles);
      const sending = this.send(outbound);
      const sent = sending instanceof Promise ? await sending : sending;
      const { exchange } = sent;
      ({ secrets } = sent);
      this.watch(exchange, firstToken);
      const whole = firstToken === null ? await exchange.complete() : null;
      head = whole ?? (await exchange.head);
      if (head.status >= 300) {
        const error = sent.judge(head, whole?.body ?? (await exchange.whole()));
        return judge(head, error, health.longestPauseMs(provider));
      }
      const answered = this.answerOf(outbound, head, sent);
      if (whole !== null) {
        const bytes = whole.body;
        const readError = (body: unknown): SupplierError | undefined => sent.errorIn(whole, body);
        const read = relayWhole(inbound, call, answered, { bytes, readError });
        if ('kind' in read) return judge(whole, read, health.longestPauseMs(provider));
        answered.whole = read;
      }
      if (firstToken !== null) answered.opened = await this.open(answered, firstToken);
      return { kind: 'answered', answered };
    } catch (error) {
      const read = fromUnknown(error);
      const problem = secrets?.blankedFault(read) ?? read;
      // What a lane cannot even be asked says nothing about the lane.
      if (outbound === null) return { kind: 'refused', status: null, problem };
      if (head !== null) return judgeBegun(head.status, problem);
      return { kind: 'failed', status: null, problem, pauseMs: 0 };
    } finally {
      firstToken?.stop();
    }
  }

  private send({ body }: Outbound): SentCall | Promise<SentCall> {
    const { inbound, call, held } = this.sending;
    const { client, settings } = this.tools;
    const { route, permit } = this.given;
    return client.open(
      held.hold,
      {
        operation: call.surface.name,
        lane: route.lane,
        body,
        stream: call.stream,
        headers: inbound.headers,
        sessionKey: call.session,
        maxOutputTokens: held.cappedOutput ?? undefined,
      },
      {
        firstByteMs: call.stream
          ? settings.supplierStreamFirstByteTimeoutMs
          : settings.supplierFirstByteTimeoutMs,
        idleMs: settings.supplierIdleTimeoutMs,
        totalMs: settings.supplierTotalTimeoutMs,
        // While it waited for a connection, the lane may have turned out to be down.
        changedMind: () => (permit.isOvertaken(monotonicMs()) ? fault('no_providers_available') : null),
      },
    );
  }

  /** The caller may leave at any time, and a stream that says nothing may give way to another lane. */
  private watch(exchange: SupplierExchange, firstToken: FirstTokenTimer | null): void {
    this.exchange = exchange;
    this.sending.work.watch(exchange);
    firstToken?.onEnd(() => {
      if (this.given.turns.reserve()) exchange.abort(fault('upstream_timeout'));
    });
  }

  private answerOf(outbound: Outbound, head: AnswerHead, { exchange, dropped, secrets }: SentCall): Answered {
    const { admission, held } = this.sending;
    const { route, permit, failover } = this.given;
    return {
      route,
      permit,
      model: admission.model.name,
      limits: { contextTokens: admission.model.contextTokens, heldTokens: held.tokens },
      outbound,
      status: head.status,
      contentType: head.headers['content-type'] ?? '',
      exchange,
      secrets,
      dropped: outbound.dropped.length === 0 ? dropped : [...outbound.dropped, ...dropped],
      outputCap: held.cappedOutput,
      failover,
      opened: null,
      whole: null,
    };
  }

  private open(answer: LaneAnswer, firstToken: FirstTokenTimer): Promise<OpenedStream> {
    const { inbound, call } = this.sending;
    const { surface } = call;
    if (!isText(surface)) throw fault('internal_error');
    const { outbound, limits, model, secrets } = answer;
    const facts = svcFacts(inbound, call, answer);
    const stream = this.given.streamOf({
      inbound,
      call,
      surface,
      outbound,
      limits,
      model,
      secrets,
      facts,
    });
    return openStream(answer.exchange, stream, firstToken, () => this.given.turns.reserve());
  }
}
