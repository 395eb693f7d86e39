import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { ModelView } from '../../catalogue';
import { fault, type MaybePromise, monotonicMs, type UsageLimits, whenReady } from '../../kernel';
import { LaneHealth, planRoute, type RoutePlan, Stickiness } from '../../routing';
import { type GatewayCall, stickyKey, type RequestWork } from '../intake';
import type { Admission } from './admission';
import { type HeldCall, Holds } from './hold';
import { LaneGates } from './lane-gates';
import { type TakenTokens, TokenRateService } from './token-rate.service';

export interface RoutedCall {
  readonly call: GatewayCall;
  readonly model: ModelView;
  readonly held: HeldCall;
  readonly plan: RoutePlan;
  readonly work: RequestWork;
  /** The field that excludes other lanes; null if none are excluded. */
  readonly withheldBy: string | null;
}

/** Model name in the response; null keeps the supplier's name. The key's setting takes precedence over the model's. */
export const responseModelName = ({ call, model }: RoutedCall): string | null =>
  (call.inbound.caller.answerModel ?? model.answerModel) === 'supplier' ? null : model.name;

export const canContinueStream = ({ call, model }: RoutedCall): boolean =>
  model.continueStreams === 'on' && call.inbound.caller.continueStreams !== 'off';

export const usageLimitsOf = ({ model, held }: RoutedCall): UsageLimits => ({
  contextTokens: model.contextTokens,
  heldTokens: held.tokens,
});

@Injectable()
export class RoutePlanner {
  constructor(
    private readonly tokenRate: TokenRateService,
    private readonly health: LaneHealth,
    private readonly stickiness: Stickiness,
    private readonly holds: Holds,
    private readonly gates: LaneGates,
  ) {}

  takeTokens(call: GatewayCall, admission: Admission, response: ServerResponse): Promise<TakenTokens | null> {
    return this.tokenRate.take(call, admission, response);
  }

  /** Returns a promise only if a gate or the hold has to be awaited. */
  route(call: GatewayCall, admission: Admission, work: RequestWork): MaybePromise<RoutedCall> {
    return whenReady(this.plan(call, admission), (plan) => this.hold(call, admission, plan, work));
  }

  private hold(
    call: GatewayCall,
    admission: Admission,
    plan: RoutePlan,
    work: RequestWork,
  ): MaybePromise<RoutedCall> {
    const { model, withheldBy } = admission;
    // Lanes that a gate removed need no money.
    const held = this.holds.hold(call, plan.isGated ? { ...admission, lanes: plan.lanes } : admission);
    const toRoutedCall = (heldCall: HeldCall): RoutedCall => ({
      call: capEstimate(call, heldCall),
      model,
      held: heldCall,
      plan,
      work,
      withheldBy,
    });
    return whenReady(held, toRoutedCall);
  }

  plan(call: GatewayCall, admission: Admission): MaybePromise<RoutePlan> {
    const plan = this.lanesFor(call, admission);
    if (plan.lanes.length === 0) throw fault('sovereign_route_unavailable');
    return this.gates.pass(call, plan);
  }

  lanesFor(call: GatewayCall, { lanes, model }: Admission): RoutePlan {
    const { health } = this;
    const now = monotonicMs();
    return planRoute({
      lanes,
      regions: regionsFor(call),
      // With one lane there is no choice to remember.
      stickyLaneId: lanes.length > 1 ? this.stickiness.laneOf(stickyKey(call.inbound, call)) : null,
      order: model.laneOrder,
      latencyOf: (lane) => health.latencyOf(lane, now),
      stateOf: (lane) => health.stateOf(lane, call.inbound.caller.keyId, now),
      random: Math.random,
    });
  }

  remember({ call, plan: { lanes } }: RoutedCall, laneId: number): void {
    if (lanes.length < 2) return;
    const topPriority = Math.min(...lanes.map(({ lane }) => lane.priority));
    const usedLane = lanes.find(({ lane }) => lane.id === laneId);
    this.stickiness.remember(stickyKey(call.inbound, call), laneId, usedLane?.lane.priority === topPriority);
  }
}

function regionsFor({ inbound, region }: GatewayCall): ReadonlySet<string> | null {
  const { allowedRegions } = inbound.caller;
  if (region === null) return allowedRegions;
  return new Set(allowedRegions === null || allowedRegions.has(region) ? [region] : []);
}

/** Limits the estimate to the hold, which the charge for an unreported usage must not exceed. */
const capEstimate = (call: GatewayCall, { inputBound }: HeldCall): GatewayCall =>
  call.inputEstimate <= inputBound ? call : { ...call, inputEstimate: inputBound };
