import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fromUnknown } from '../kernel';
import type { HttpRequest } from '../web';
import {
  type Admission,
  Admissions,
  isRejectedByGate,
  RegisteredChooser,
  type RoutedCall,
  RoutePlanner,
  nextStandIn,
} from './admission';
import { Attempts, AttemptTools } from './attempt';
import { type AdmittedRequest, type GatewayCall, Intake, type RequestWork } from './intake';
import type { GatewayOperation } from './operations/operation';
import { maskError, Masking } from './masks';
import { laneResponseReader, Relay } from './relay';
import type { Reply } from './reply/reply';
import { createRequestProgress, type RequestProgress, Settlement } from './settle';
import { Tracing } from './trace/tracing';

/** Processes one inference request, from its bytes to its settlement. Each stage is a folder next to this file. */
@Injectable()
export class Pipeline {
  constructor(
    private readonly intake: Intake,
    private readonly masking: Masking,
    private readonly chooser: RegisteredChooser,
    private readonly admissions: Admissions,
    private readonly routes: RoutePlanner,
    private readonly tools: AttemptTools,
    private readonly relay: Relay,
    private readonly settlement: Settlement,
    private readonly tracing: Tracing,
  ) {}

  /**
   * Resolves with the complete reply, or null once a stream has been sent. Awaits only if a stage returns a promise.
   */
  async run(operation: GatewayOperation, http: HttpRequest, response: ServerResponse): Promise<Reply | null> {
    const { intake } = this;
    const progress = createRequestProgress(
      operation,
      http,
      this.tracing.startTrace(operation, http, response),
    );
    const { trace } = progress;
    let admitted: AdmittedRequest | null = null;
    try {
      const entering = intake.admit(http, response);
      admitted = entering instanceof Promise ? await entering : entering;
      const { caller, work } = admitted;
      const receiving = intake.receive(http, caller);
      const receivedRequest = receiving instanceof Promise ? await receiving : receiving;
      progress.inbound = receivedRequest;
      const describing = intake.describe(receivedRequest, operation);
      const describedCall = describing instanceof Promise ? await describing : describing;
      progress.call = describedCall;
      const passing = intake.pass(describedCall);
      const gatedCall = passing instanceof Promise ? await passing : passing;
      progress.call = gatedCall;
      trace?.recordGates(gatedCall.gates);
      progress.masks = this.masking.masksFor(gatedCall);
      const auto = gatedCall.byAuto ? await this.chooser.choose(gatedCall) : null;
      progress.auto = auto;
      const call = auto === null ? gatedCall : { ...gatedCall, auto };
      progress.call = call;
      const admission = auto?.admission ?? this.admissions.admit(call);
      progress.model = admission.model.name;
      return await intake.runOnce(receivedRequest, { call, work }, () =>
        this.serve(call, admission, work, progress, response),
      );
    } catch (failure) {
      const { masks } = progress;
      const error = masks === null ? failure : maskError(masks, failure);
      trace?.setProblem(fromUnknown(error));
      await this.settlement.recordFailure(progress, error, response);
      this.relay.endFailed(progress, error);
      throw error;
    } finally {
      progress.early?.take();
      progress.tokens?.correct(0);
      admitted?.leave();
      trace?.finish(response, progress);
    }
  }

  private async serve(
    call: GatewayCall,
    admission: Admission,
    work: RequestWork,
    progress: RequestProgress,
    response: ServerResponse,
    isLarger = false,
  ): Promise<Reply | null> {
    const { routes, relay } = this;
    if (call.inbound.caller.rateLimitTpm !== null)
      progress.tokens ??= await routes.takeTokens(call, admission, response);
    let routed: RoutedCall;
    try {
      const routing = routes.route(call, admission, work);
      routed = routing instanceof Promise ? await routing : routing;
    } catch (error) {
      const nextAdmission = isRejectedByGate(error) ? (progress.auto?.next() ?? null) : null;
      if (nextAdmission === null) throw error;
      progress.model = nextAdmission.model.name;
      return await this.serve(call, nextAdmission, work, progress, response, isLarger);
    }
    progress.trace?.recordGates(call.gates);
    const attempts = new Attempts(routed, this.tools, laneResponseReader, progress);
    progress.attempts = attempts;
    if (call.stream) progress.early ??= relay.scheduleEarlyHead(progress, response);
    let hasResponded = false;
    try {
      const answer = await attempts.run();
      hasResponded = true;
      routes.remember(routed, answer.route.lane.id);
      progress.auto?.recordAnswer(admission.model.name);
      const { complete: whole } = answer;
      return await (whole === null
        ? relay.sendStream(answer, attempts, progress, response)
        : relay.complete(answer, whole, progress));
    } catch (error) {
      const { abandoned, current } = attempts;
      const { auto } = progress;
      progress.dropped = current?.dropped ?? [];
      if (abandoned !== null) await this.settlement.settleAbandoned(abandoned, call, progress, error);
      routed.held.hold.release();
      const larger = isLarger ? null : this.admissions.findLargerAdmission(call, admission, auto, error);
      const canStandIn = auto !== null && !hasResponded && attempts.canTryMore;
      const nextAdmission = larger ?? (canStandIn ? nextStandIn(auto, error) : null);
      if (nextAdmission === null) throw error;
      progress.model = nextAdmission.model.name;
      return await this.serve(call, nextAdmission, work, progress, response, isLarger || larger !== null);
    } finally {
      // A request without a settlement costs the caller nothing.
      routed.held.hold.release();
    }
  }
}
