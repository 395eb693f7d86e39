import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { ModelView } from '../../catalogue';
import { fault, monotonicMs, type UsageLimits } from '../../kernel';
import { LaneHealth, planRoute, type RoutePlan, Stickiness } from '../../routing';
import { type Call, stickyKey, type Work } from '../intake';
import type { Admission } from './admission';
import { type HeldCall, Holds } from './hold';
import { LaneGates } from './lane-gates';
import { type TakenTokens, TokenRate } from './token-rate';

/** A call with its model, hold and lanes: the same for every lane. */
export interface RoutedCall {
  readonly call: Call;
  readonly model: ModelView;
  readonly held: HeldCall;
  readonly plan: RoutePlan;
  readonly work: Work;
  /** The field for which further lanes are left out; null if there are none. */
  readonly withheldBy: string | null;
}

/**
 * The name of the model that an answer carries; null leaves what the supplier says. A key decides, then its model.
 */
export const answeredName = ({ call, model }: RoutedCall): string | null =>
  (call.inbound.caller.answerModel ?? model.answerModel) === 'supplier' ? null : model.name;

/** Another lane goes on where a stream broke off, unless its model or its key forbids it. */
export const mayContinue = ({ call, model }: RoutedCall): boolean =>
  model.continueStreams === 'on' && call.inbound.caller.continueStreams !== 'off';

/** The bounds of a plausible usage report. */
export const usageLimitsOf = ({ model, held }: RoutedCall): UsageLimits => ({
  contextTokens: model.contextTokens,
  heldTokens: held.tokens,
});

/** The way of an admitted call: the tokens of its key's minute, its lanes in their order, and the money for it. */
@Injectable()
export class Routes {
  constructor(
    private readonly tokenRate: TokenRate,
    private readonly health: LaneHealth,
    private readonly stickiness: Stickiness,
    private readonly holds: Holds,
    private readonly gates: LaneGates,
  ) {}

  /** Throws the refusal. It is null where the key has no such limit. */
  takeTokens(call: Call, admission: Admission, response: ServerResponse): Promise<TakenTokens | null> {
    return this.tokenRate.take(call, admission, response);
  }

  /** It returns a promise only where a gate or the money has to be waited for. */
  route(asked: Call, admission: Admission, work: Work): RoutedCall | Promise<RoutedCall> {
    const plan = this.plan(asked, admission);
    return plan instanceof Promise
      ? plan.then((late) => this.hold(asked, admission, late, work))
      : this.hold(asked, admission, plan, work);
  }

  private hold(
    asked: Call,
    admission: Admission,
    plan: RoutePlan,
    work: Work,
  ): RoutedCall | Promise<RoutedCall> {
    const { model, withheldBy } = admission;
    // Lanes that a gate took away need no money.
    const held = this.holds.hold(asked, plan.isGated ? { ...admission, lanes: plan.lanes } : admission);
    const routed = (late: HeldCall): RoutedCall => ({
      call: estimatedWithin(asked, late),
      model,
      held: late,
      plan,
      work,
      withheldBy,
    });
    return held instanceof Promise ? held.then(routed) : routed(held);
  }

  /** The lanes of a request in the order in which they are tried: the regions come first, then gates. */
  plan(call: Call, admission: Admission): RoutePlan | Promise<RoutePlan> {
    const plan = this.lanesFor(call, admission);
    if (plan.lanes.length === 0) throw fault('sovereign_route_unavailable');
    return this.gates.pass(call, plan);
  }

  /** The same before gates, and without a lane where the regions leave none. */
  lanesFor(call: Call, { lanes, model }: Admission): RoutePlan {
    const { health } = this;
    const now = monotonicMs();
    return planRoute({
      lanes,
      regions: regionsFor(call),
      // One lane is no choice, and the session need not be looked for.
      stickyLaneId: lanes.length > 1 ? this.stickiness.laneOf(stickyKey(call.inbound, call)) : null,
      order: model.laneOrder,
      latencyOf: (lane) => health.latencyOf(lane, now),
      stateOf: (lane) => health.stateOf(lane, call.inbound.caller.keyId, now),
      random: Math.random,
    });
  }

  /** The next request of a conversation finds its lane again. */
  remember({ call, plan: { lanes } }: RoutedCall, laneId: number): void {
    if (lanes.length < 2) return;
    const rank = Math.min(...lanes.map(({ lane }) => lane.priority));
    const taken = lanes.find(({ lane }) => lane.id === laneId);
    this.stickiness.remember(stickyKey(call.inbound, call), laneId, taken?.lane.priority === rank);
  }
}

/** The key's regions and the call's own: each only narrows. */
function regionsFor({ inbound, region }: Call): ReadonlySet<string> | null {
  const { allowedRegions } = inbound.caller;
  if (region === null) return allowedRegions;
  return new Set(allowedRegions === null || allowedRegions.has(region) ? [region] : []);
}

/** The charge for an unreported usage never exceeds the hold. */
const estimatedWithin = (call: Call, { inputBound }: HeldCall): Call =>
  call.inputEstimate <= inputBound ? call : { ...call, inputEstimate: inputBound };
