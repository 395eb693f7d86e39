import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Refusals } from '../audit';
import { Escrow } from '../billing';
import { fault, fromUnknown } from '../kernel';
import { Settings } from '../platform';
import { AUTO } from '../routing';
import { type HttpRequest, Idempotency } from '../web';
import { AutoDecisions } from './auto/auto-decisions';
import { echoOf } from './relay/echo';
import { KeptResponses } from './responses/kept-responses';
import { OpenStreams } from './reply/open-streams';
import type { Reply } from './reply/reply';
import { StreamSink } from './reply/stream-sink';
import { droppedNames } from './reply/dropped-names';
import { type RouteFacts, setDroppedHeader } from './reply/svc-headers';
import { type AdmittedRequest, RequestGate } from './intake/request-gate';
import type { Work } from './intake/work';
import { type Admission, Admissions } from './admission/admit';
import { type AnswerSample, AnswerSampling } from './settle/answer-sampling';
import { Attempts } from './attempt/attempts';
import { lanesIn } from './attempt/attempt-record';
import { AttemptTools } from './attempt/attempt-tools';
import { type Call, describeCall } from './intake/describe';
import { type HeldCall, Holds } from './admission/hold';
import { intake } from './intake/inbound';
import type { Delivery, LaneAnswer, LaneTry } from './attempt/lane-answer';
import { MOST_LANES } from './attempt/lane-turns';
import { Observer } from './settle/observer';
import { planFor, rememberLane } from './admission/plan';
import { recordRefusal } from './settle/refuse';
import { answerReader } from './relay/answer-reader';
import { relayStream } from './relay/relay-stream';
import { contentTypeOf } from './relay/relay-whole';
import { replayOr } from './intake/replay';
import type { RequestProgress } from './settle/request-progress';
import type { RoutedCall } from './admission/routed-call';
import { settle, settleAbandoned } from './settle/settle';
import { EarlyHead } from './reply/early-head';
import { type Operation, textOperation } from './operations/operation';
import { TokenRate } from './admission/token-rate';

/** The charge for an unreported usage never exceeds the hold. */
const estimatedWithin = (call: Call, { inputBound }: HeldCall): Call =>
  call.inputEstimate <= inputBound ? call : { ...call, inputEstimate: inputBound };

/** One inference request, from its bytes to its settlement. Each stage is a file of its own beside this one. */
@Injectable()
export class Pipeline {
  constructor(
    private readonly settings: Settings,
    private readonly gate: RequestGate,
    private readonly admissions: Admissions,
    private readonly escrow: Escrow,
    private readonly holds: Holds,
    private readonly tools: AttemptTools,
    private readonly observer: Observer,
    private readonly idempotency: Idempotency,
    private readonly streams: OpenStreams,
    private readonly responses: KeptResponses,
    private readonly refusals: Refusals,
    private readonly sampling: AnswerSampling,
    private readonly tokenRate: TokenRate,
    private readonly auto: AutoDecisions,
  ) {}

  /** Resolves with the whole reply, or null once a stream has been sent. */
  async run(operation: Operation, http: HttpRequest, response: ServerResponse): Promise<Reply | null> {
    const progress: RequestProgress = {
      http,
      operation,
      tries: [],
      inbound: null,
      call: null,
      auto: null,
      model: '',
      attempts: null,
      early: null,
      dropped: [],
      isSettled: false,
      tokens: null,
    };
    let admitted: AdmittedRequest | null = null;
    try {
      const admitting = this.gate.admit(http, response);
      admitted = admitting instanceof Promise ? await admitting : admitting;
      const { caller, work } = admitted;
      const taking = intake(http, caller, this.settings.bodyLimitBytes);
      const received = taking instanceof Promise ? await taking : taking;
      progress.inbound = received;
      const expanding = operation.keepsAnswers === true ? this.responses.expand(received) : received;
      const inbound = expanding instanceof Promise ? await expanding : expanding;
      const described = describeCall(inbound, operation);
      progress.call = described;
      if (described.model === AUTO) progress.auto = await this.auto.route(described);
      const { auto } = progress;
      const call = auto === null ? described : { ...described, auto };
      progress.call = call;
      const admission = auto?.admission ?? this.fitting(call, this.admissions.admit(call), progress);
      progress.model = admission.model.name;
      return await replayOr(this.idempotency, received, { call, work }, () =>
        this.answer(call, admission, work, progress, response),
      );
    } catch (error) {
      const { tries, model, isSettled } = progress;
      if (!response.headersSent) setDroppedHeader(response, droppedNames(progress.dropped));
      this.observer.failed(operation.name, model, error, tries);
      if (model !== '') http.attempted = { model, supplier: tries.at(-1)?.supplier ?? null };
      if (!isSettled) await recordRefusal(progress, error, this.refusals, this.escrow);
      this.tellInStream(progress, error);
      throw error;
    } finally {
      progress.early?.take();
      progress.tokens?.ended(0);
      admitted?.leave();
    }
  }

  private async answer(
    asked: Call,
    admission: Admission,
    work: Work,
    progress: RequestProgress,
    response: ServerResponse,
    isLarger = false,
  ): Promise<Reply | null> {
    const { tries } = progress;
    const { model } = admission;
    if (asked.inbound.caller.rateLimitTpm !== null)
      progress.tokens ??= await this.tokenRate.take(asked, admission, response);
    const plan = planFor(asked, admission, this.tools);
    const holding = this.holds.hold(asked, admission);
    const held = holding instanceof Promise ? await holding : holding;
    const routed: RoutedCall = { call: estimatedWithin(asked, held), model, held, plan, work };
    const attempts = new Attempts(routed, this.tools, answerReader, tries);
    progress.attempts = attempts;
    if (asked.stream)
      progress.early ??= new EarlyHead(this.settings.streamPingIntervalMs, () =>
        this.openEarly(progress, response),
      );
    let isAnswered = false;
    try {
      const answer = await attempts.answer();
      isAnswered = true;
      rememberLane(routed, answer.route.lane.id, this.tools);
      progress.auto?.answered(model.name);
      const { whole } = answer;
      if (whole === null) return await this.stream(answer, attempts, progress, response);
      rememberOwner(whole, this.tools);
      const { facts, kept } = settle(whole, tries);
      progress.tokens?.ended(facts.inputTokens + facts.outputTokens);
      await this.whenKept(whole, kept, whole.body);
      this.observer.served(whole, tries, facts);
      this.sampling.begin(routed.call)?.served(whole, facts, whole.body);
      return { status: answer.status, contentType: contentTypeOf(answer), body: whole.body, facts };
    } catch (error) {
      const { abandoned } = attempts;
      progress.dropped = attempts.current?.dropped ?? [];
      if (abandoned !== null) {
        progress.isSettled = true;
        progress.tokens?.ended(asked.inputEstimate);
        await settleAbandoned(abandoned, tries, fromUnknown(error));
      }
      held.hold.release();
      const larger = isLarger ? null : this.largerFor(asked, admission, progress, error);
      const other = larger ?? (isAnswered ? null : this.steppingIn(progress, work, error));
      if (other === null) throw error;
      progress.model = other.model.name;
      return await this.answer(asked, other, work, progress, response, isLarger || larger !== null);
    } finally {
      // A request without a settlement cost the caller nothing.
      held.hold.release();
    }
  }

  /** Settled before its last bytes are sent. */
  private async stream(
    answer: LaneAnswer,
    attempts: Attempts,
    progress: RequestProgress,
    response: ServerResponse,
  ): Promise<null> {
    const { call } = answer.routed;
    const operation = textOperation(call.operation);
    const sink = progress.early?.take() ?? this.openStream(call, answer, response);
    const { sample } = sink;
    const relayed = await relayStream(operation, answer, attempts, sink);
    const { problem, body } = relayed.delivery;
    rememberOwner(relayed.delivery, this.tools);
    const { facts, kept } = settle(relayed.delivery, progress.tries);
    progress.tokens?.ended(facts.inputTokens + facts.outputTokens);
    try {
      await this.whenKept(relayed.delivery, kept, problem === null ? body : null);
    } catch (error) {
      progress.isSettled = true;
      const unrecorded = fault('stream_error', { message: NOT_ON_RECORD, cause: error });
      sink.cut(problem === null ? (relayed.answer.stream?.fail(unrecorded) ?? '') : body);
      throw unrecorded;
    }
    this.observer.served(relayed.delivery, progress.tries, facts);
    sink.end(facts, body);
    sample?.served(relayed.delivery, facts, null);
    return null;
  }

  private openStream(
    call: Call,
    lane: LaneTry & Pick<LaneAnswer, 'dropped'>,
    response: ServerResponse,
  ): StreamSink<AnswerSample> {
    const operation = textOperation(call.operation);
    const sink = new StreamSink(response, operation.dialect.ping, this.sampling.begin(call));
    this.streams.add(sink, operation.name);
    sink.head(routeFacts(lane));
    return sink;
  }

  /** The lane that is being asked stands in the head; another may still answer. */
  private openEarly(
    { attempts }: RequestProgress,
    response: ServerResponse,
  ): StreamSink<AnswerSample> | null {
    const current = attempts?.current ?? null;
    if (current === null || response.headersSent || response.destroyed) return null;
    const { lane, dropped } = current;
    return this.openStream(lane.routed.call, { ...lane, dropped }, response);
  }

  /** A stream whose head has gone before anything answered ends with its failure. */
  private tellInStream({ early, call, model }: RequestProgress, error: unknown): void {
    const sink = early?.take() ?? null;
    if (sink === null || call === null) return;
    const watcher = textOperation(call.operation).dialect.streamWatcher(false);
    sink.cut(watcher.failureEvent(fromUnknown(error), call.inbound.requestId, model, echoOf(call)));
  }

  /** Before the last byte leaves, both the settlement and a referable answer are durable. */
  private async whenKept(
    { by, calls }: Delivery,
    account: Promise<void>,
    answer: Buffer | string | null,
  ): Promise<void> {
    const { call } = by.routed;
    const isKept = call.operation.keepsAnswers === true && answer !== null;
    const keeping = isKept ? this.responses.keep(call, by.routed.model.name, answer) : undefined;
    const remembering = call.auto?.whenRemembered(calls);
    await account;
    if (keeping !== undefined) await keeping;
    if (remembering !== undefined) await remembering;
  }

  /** Where the model that `auto` chose fails or cannot be asked, before its answer began, the next one is tried. */
  private steppingIn({ auto, tries }: RequestProgress, work: Work, error: unknown): Admission | null {
    if (auto === null || work.stopped !== null) return null;
    const { status, code } = fromUnknown(error);
    // A translation refuses before anything is sent: another model may need none.
    const isUntranslatable = code === 'unsupported_parameter';
    if (status < 500 && code !== 'supplier_limit' && !isUntranslatable) return null;
    return lanesIn(tries) < MOST_LANES ? auto.next() : null;
  }

  /** What is certainly too long goes to the larger model at once, or is refused before anything is held or sent. */
  private fitting(call: Call, admission: Admission, progress: RequestProgress): Admission {
    const { operation, inbound } = call;
    const problem = operation.tooLong?.(inbound.body, admission.model.contextTokens) ?? null;
    if (problem === null) return admission;
    const larger = this.largerFor(call, admission, progress, problem);
    if (larger === null) throw problem;
    return larger;
  }

  /** A conversation too long for its model goes to the larger model of the catalogue, if there is one. */
  private largerFor(
    call: Call,
    admission: Admission,
    { auto }: RequestProgress,
    error: unknown,
  ): Admission | null {
    if (fromUnknown(error).code !== 'context_length_exceeded') return null;
    const larger = this.admissions.larger(call, admission);
    // Models excluded from `auto` by settings, regions or the conversation stay excluded.
    return larger === null || auto === null ? larger : auto.instead(larger);
  }
}

const rememberOwner = ({ seals = [], by }: Delivery, { owners }: AttemptTools): void =>
  owners.remember(seals, by.route.lane.provider);

const NOT_ON_RECORD = 'The cost of this answer could not be recorded, so its last event is kept back.';

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
