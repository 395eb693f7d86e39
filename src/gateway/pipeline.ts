import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fromUnknown } from '../kernel';
import type { HttpRequest } from '../web';
import {
  type Admission,
  Admissions,
  isBarred,
  RegisteredChooser,
  type RoutedCall,
  Routes,
  standIn,
} from './admission';
import { Attempts, AttemptTools } from './attempt';
import { type AdmittedRequest, type Call, Intake, type Work } from './intake';
import type { Operation } from './operations/operation';
import { maskedFault, Masking } from './masks';
import { answerReader, Relay } from './relay';
import type { Reply } from './reply/reply';
import { begun, type RequestProgress, Settlement } from './settle';
import { Tracing } from './trace/tracing';

/** One inference request, from its bytes to its settlement. Each stage is a folder beside this file. */
@Injectable()
export class Pipeline {
  constructor(
    private readonly intake: Intake,
    private readonly masking: Masking,
    private readonly chooser: RegisteredChooser,
    private readonly admissions: Admissions,
    private readonly routes: Routes,
    private readonly tools: AttemptTools,
    private readonly relay: Relay,
    private readonly settlement: Settlement,
    private readonly tracing: Tracing,
  ) {}

  /** Resolves with the whole reply, or null once a stream has been sent. It waits only where a stage has to. */
  async run(operation: Operation, http: HttpRequest, response: ServerResponse): Promise<Reply | null> {
    const { intake } = this;
    const progress = begun(operation, http, this.tracing.begin(operation, http, response));
    const { trace } = progress;
    let admitted: AdmittedRequest | null = null;
    try {
      const entering = intake.enter(http, response);
      admitted = entering instanceof Promise ? await entering : entering;
      const { caller, work } = admitted;
      const receiving = intake.receive(http, caller);
      const received = receiving instanceof Promise ? await receiving : receiving;
      progress.inbound = received;
      const describing = intake.describe(received, operation);
      const understood = describing instanceof Promise ? await describing : describing;
      progress.call = understood;
      const passing = intake.pass(understood);
      const described = passing instanceof Promise ? await passing : passing;
      progress.call = described;
      trace?.gates(described.gates);
      progress.masks = this.masking.of(described);
      const auto = described.byAuto ? await this.chooser.choose(described) : null;
      progress.auto = auto;
      const call = auto === null ? described : { ...described, auto };
      progress.call = call;
      const admission = auto?.admission ?? this.admissions.admit(call);
      progress.model = admission.model.name;
      return await intake.once(received, { call, work }, () =>
        this.answer(call, admission, work, progress, response),
      );
    } catch (failure) {
      const { masks } = progress;
      const error = masks === null ? failure : maskedFault(masks, failure);
      trace?.failed(fromUnknown(error));
      await this.settlement.failed(progress, error, response);
      this.relay.failed(progress, error);
      throw error;
    } finally {
      progress.early?.take();
      progress.tokens?.ended(0);
      admitted?.leave();
      trace?.left(response, progress);
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
    const { routes, relay } = this;
    if (asked.inbound.caller.rateLimitTpm !== null)
      progress.tokens ??= await routes.takeTokens(asked, admission, response);
    let routed: RoutedCall;
    try {
      const routing = routes.route(asked, admission, work);
      routed = routing instanceof Promise ? await routing : routing;
    } catch (error) {
      const other = isBarred(error) ? (progress.auto?.next() ?? null) : null;
      if (other === null) throw error;
      progress.model = other.model.name;
      return await this.answer(asked, other, work, progress, response, isLarger);
    }
    progress.trace?.gates(asked.gates);
    const attempts = new Attempts(routed, this.tools, answerReader, progress);
    progress.attempts = attempts;
    if (asked.stream) progress.early ??= relay.begin(progress, response);
    let isAnswered = false;
    try {
      const answer = await attempts.answer();
      isAnswered = true;
      routes.remember(routed, answer.route.lane.id);
      progress.auto?.answered(admission.model.name);
      const { whole } = answer;
      return await (whole === null
        ? relay.stream(answer, attempts, progress, response)
        : relay.whole(answer, whole, progress));
    } catch (error) {
      const { abandoned, current } = attempts;
      const { auto } = progress;
      progress.dropped = current?.dropped ?? [];
      if (abandoned !== null) await this.settlement.abandoned(abandoned, asked, progress, error);
      routed.held.hold.release();
      const larger = isLarger ? null : this.admissions.larger(asked, admission, auto, error);
      const mayStandIn = auto !== null && !isAnswered && attempts.mayGoOn;
      const other = larger ?? (mayStandIn ? standIn(auto, error) : null);
      if (other === null) throw error;
      progress.model = other.model.name;
      return await this.answer(asked, other, work, progress, response, isLarger || larger !== null);
    } finally {
      // A request without a settlement cost the caller nothing.
      routed.held.hold.release();
    }
  }
}
