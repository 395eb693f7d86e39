import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type AttemptRecord, Refusals } from '../../audit';
import { Escrow } from '../../billing';
import { fault, fromUnknown } from '../../kernel';
import { Settings } from '../../platform';
import { type HttpRequest, Idempotency } from '../../web';
import { KeptResponses } from '../responses/kept-responses';
import { OpenStreams } from '../reply/open-streams';
import type { Reply } from '../reply/reply';
import { StreamSink } from '../reply/stream-sink';
import type { RouteFacts } from '../reply/svc-headers';
import type { Work } from '../work';
import { type Admission, Admissions } from './admit';
import type { Answered } from './answered';
import { Attempts } from './attempt';
import { AttemptTools } from './attempt-tools';
import { type Call, describeCall } from './describe';
import { RequestGate, type AdmittedRequest } from '../request-gate';
import { type HeldCall, holdFor, type HoldTools } from './hold';
import { type Inbound, intake } from './inbound';
import { Observer } from './observer';
import { planFor, rememberLane } from './plan';
import { recordRefusal } from './refuse';
import { relayStream } from './relay-stream';
import { replayOr } from './replay';
import { settle, settleAbandoned } from './settle';
import { isText, type Surface } from './surface';

/** A request on its way through the stages, and the tries that were made for it. */
interface Request {
  readonly inbound: Inbound;
  readonly call: Call;
  readonly work: Work;
  readonly response: ServerResponse;
  readonly tries: AttemptRecord[];
  /** Charged and on record, although there was no answer. */
  isSettled: boolean;
}

/** What is charged without a report is never more than was held for. */
const estimatedWithin = (call: Call, { inputBound }: HeldCall): Call =>
  call.inputEstimate <= inputBound ? call : { ...call, inputEstimate: inputBound };

/** One inference request, from its bytes to its account. Each stage is a file of its own beside this one. */
@Injectable()
export class Pipeline {
  private readonly holding: HoldTools;

  constructor(
    private readonly settings: Settings,
    private readonly gate: RequestGate,
    private readonly admissions: Admissions,
    private readonly escrow: Escrow,
    private readonly tools: AttemptTools,
    private readonly observer: Observer,
    private readonly idempotency: Idempotency,
    private readonly streams: OpenStreams,
    private readonly responses: KeptResponses,
    private readonly refusals: Refusals,
  ) {
    this.holding = { escrow, styles: tools.styles, leastOutput: settings.budgetMinOutput };
  }

  /** Answers the whole reply, or null once a stream has been sent. */
  async run(surface: Surface, http: HttpRequest, response: ServerResponse): Promise<Reply | null> {
    let model = '';
    let admitted: AdmittedRequest | null = null;
    let inbound: Inbound | null = null;
    let request: Request | null = null;
    const tries: AttemptRecord[] = [];
    try {
      const admitting = this.gate.admit(http, response);
      admitted = admitting instanceof Promise ? await admitting : admitting;
      const { caller, work } = admitted;
      const taking = intake(http, caller, this.settings.bodyLimitBytes);
      const received = taking instanceof Promise ? await taking : taking;
      inbound = received;
      const expanding = surface.keepsAnswers === true ? this.responses.expand(received) : received;
      inbound = expanding instanceof Promise ? await expanding : expanding;
      const call = describeCall(inbound, surface);
      const described: Request = { inbound, call, work, response, tries, isSettled: false };
      request = described;
      const admission = this.admissions.admit(inbound, call);
      model = admission.model.name;
      return await replayOr(this.idempotency, received, described, () => this.answer(described, admission));
    } catch (error) {
      this.observer.failed(surface.name, model, error, tries);
      if (model !== '') http.attempted = { model, supplier: tries.at(-1)?.supplier ?? null };
      if (request?.isSettled !== true) {
        const unanswered = { http, surface, inbound, call: request?.call ?? null, attempts: tries };
        await recordRefusal(unanswered, error, this.refusals, this.escrow);
      }
      throw error;
    } finally {
      admitted?.leave();
    }
  }

  private async answer(request: Request, admission: Admission, isLarger = false): Promise<Reply | null> {
    const { inbound, work, tries } = request;
    const plan = planFor(inbound, request.call, admission, this.tools);
    const holding = holdFor(inbound, request.call, admission, this.holding);
    const held = holding instanceof Promise ? await holding : holding;
    const call = estimatedWithin(request.call, held);
    const attempts = new Attempts({ inbound, call, admission, held, plan, work }, this.tools, tries);
    try {
      const answered = await attempts.answer();
      rememberLane(inbound, call, plan, answered.route.lane.id, this.tools);
      if (answered.whole === null) return await this.stream({ ...request, call }, held, answered, attempts);
      const { whole } = answered;
      const { facts, kept } = settle(inbound, call, held.hold, answered, tries, whole);
      await this.whenKept(inbound, call, kept, whole.body);
      this.observer.served(call, answered, tries, whole, facts);
      return { status: answered.status, contentType: whole.contentType, body: whole.body, facts };
    } catch (error) {
      const { abandoned } = attempts;
      if (abandoned !== null) {
        request.isSettled = true;
        await settleAbandoned(inbound, call, held.hold, abandoned, tries, fromUnknown(error));
      }
      held.hold.release();
      const larger = isLarger ? null : this.largerFor(request, admission, error);
      if (larger === null) throw error;
      return await this.answer(request, larger, true);
    } finally {
      // Whatever did not end in a settlement cost the caller nothing.
      held.hold.release();
    }
  }

  /** Settled before the last of it leaves. */
  private async stream(
    request: Request,
    { hold }: HeldCall,
    answered: Answered,
    attempts: Attempts,
  ): Promise<null> {
    const { inbound, call, response, tries } = request;
    const { surface } = call;
    if (!isText(surface)) throw fault('internal_error');
    const sink = new StreamSink(response, surface.dialect.ping);
    this.streams.add(sink, surface.name);
    sink.head(routeFacts(answered));
    const relayed = await relayStream(surface, answered, attempts, sink);
    const { delivery } = relayed;
    const { facts, kept } = settle(inbound, call, hold, relayed.answered, tries, delivery);
    try {
      await this.whenKept(inbound, call, kept, delivery.problem === null ? delivery.last : null);
    } catch (error) {
      request.isSettled = true;
      const problem = fault('stream_error', { message: NOT_ON_RECORD, cause: error });
      const { opened } = relayed.answered;
      sink.cut(delivery.problem === null ? (opened?.stream.fail(problem) ?? '') : delivery.last);
      throw problem;
    }
    this.observer.served(call, relayed.answered, tries, delivery, facts);
    sink.end(facts, delivery.last);
    return null;
  }

  /** Neither the account nor, where the caller may refer to it, the answer is lost once its last byte has left. */
  private async whenKept(
    inbound: Inbound,
    call: Call,
    account: Promise<void>,
    answer: Buffer | string | null,
  ): Promise<void> {
    const { surface } = call;
    const keeping =
      surface.keepsAnswers === true && answer !== null
        ? this.responses.keep(inbound, call, answer)
        : undefined;
    await account;
    if (keeping !== undefined) await keeping;
  }

  /** A conversation that has outgrown its model goes to the larger one that the catalogue names, if there is one. */
  private largerFor({ inbound, call }: Request, admission: Admission, error: unknown): Admission | null {
    const isTooLong = fromUnknown(error).code === 'context_length_exceeded';
    return isTooLong ? this.admissions.larger(inbound, call, admission) : null;
  }
}

const NOT_ON_RECORD = 'The cost of this answer could not be recorded, so its last event is kept back.';

/** What the caller is told before the answer. */
const routeFacts = ({ route: { lane }, failover, outputCap }: Answered): RouteFacts => ({
  supplier: lane.provider.name,
  region: lane.region,
  upstreamModel: lane.upstreamModel,
  failover,
  outputCap,
});
