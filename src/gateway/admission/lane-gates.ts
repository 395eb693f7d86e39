import { Injectable } from '@nestjs/common';
import type { GateLane } from '#extension';
import { Fault, fault, type MaybePromise } from '../../kernel';
import type { PlannedLane, RoutePlan } from '../../routing';
import { type GateHook, Gates } from '../gates/gate-hooks';
import {
  parseGateResponse,
  readLaneIds,
  ABSTAINED,
  readRejection,
  unknownVerdictError,
} from '../gates/read-verdict';
import { type GatewayCall, gateRequestOf } from '../intake';

type LaneGateVerdict =
  | typeof ABSTAINED
  | { readonly verdict: 'reject'; readonly problem: Fault }
  | { readonly verdict: 'restrict' | 'order'; readonly lanes: readonly PlannedLane[] };

/** More ids than any model has lanes. */
const MAX_LANE_IDS = 10_000;

/** Gates that narrow or order the lanes of a model. None can add a lane. */
@Injectable()
export class LaneGates {
  private readonly hooks: readonly GateHook[] | null;

  constructor({ candidates }: Gates) {
    this.hooks = candidates;
  }

  /** Returns the plan unchanged if no gate changes it. Throws if a gate leaves no lane. */
  pass(call: GatewayCall, plan: RoutePlan): MaybePromise<RoutePlan> {
    return this.hooks === null ? plan : this.passFrom(this.hooks, 0, call, plan);
  }

  private passFrom(
    hooks: readonly GateHook[],
    from: number,
    call: GatewayCall,
    initialPlan: RoutePlan,
  ): MaybePromise<RoutePlan> {
    const request = gateRequestOf(call);
    let plan = initialPlan;
    for (let index = from; index < hooks.length; index += 1) {
      const hook = hooks[index]!;
      const { lanes } = plan;
      const verdict = hook.run<LaneGateVerdict>(
        (signal) => hook.gate.candidates!(request, Object.freeze(lanes.map(laneOf)), signal),
        (answer) => readVerdict(answer, hook, lanes),
        ABSTAINED,
        call.gates,
      );
      const currentPlan = plan;
      if (verdict instanceof Promise)
        return verdict.then((lateVerdict) =>
          this.passFrom(hooks, index + 1, call, applyVerdict(lateVerdict, hook, currentPlan)),
        );
      plan = applyVerdict(verdict, hook, currentPlan);
    }
    return plan;
  }
}

const laneOf = ({ lane: { id, provider, upstreamModel, region } }: PlannedLane): GateLane =>
  Object.freeze({ id, supplier: provider.name, model: upstreamModel, region });

function readVerdict(value: unknown, { name }: GateHook, lanes: readonly PlannedLane[]): LaneGateVerdict {
  const response = parseGateResponse(value);
  switch (response.verdict) {
    case 'abstain':
      return ABSTAINED;
    case 'reject':
      return readRejection(name, response);
    case 'restrict': {
      const ids = readLaneIds(response, MAX_LANE_IDS);
      return { verdict: 'restrict', lanes: lanes.filter(({ lane }) => ids.has(lane.id)) };
    }
    case 'order':
      return { verdict: 'order', lanes: orderLanes(lanes, [...readLaneIds(response, MAX_LANE_IDS)]) };
    default:
      throw unknownVerdictError(response);
  }
}

/** Named lanes come first. Lanes with an open circuit breaker stay behind all others. */
function orderLanes(lanes: readonly PlannedLane[], ids: readonly number[]): readonly PlannedLane[] {
  const rankOf = ({ lane, why }: PlannedLane): number => {
    const position = ids.indexOf(lane.id);
    return (why === 'open' ? ids.length + 1 : 0) + (position === -1 ? ids.length : position);
  };
  return [...lanes].sort((one, other) => rankOf(one) - rankOf(other));
}

function applyVerdict(verdict: LaneGateVerdict, { name }: GateHook, plan: RoutePlan): RoutePlan {
  if (verdict.verdict === 'abstain') return plan;
  if (verdict.verdict === 'reject') throw verdict.problem;
  if (verdict.lanes.length === 0) throw noLanesLeftError(name);
  return { ...plan, lanes: verdict.lanes, isGated: true };
}

const noLanesLeftError = (gate: string): Fault =>
  fault('no_providers_available', {
    message: `The gate ${gate} leaves no supplier of this model to the request.`,
    details: { gate },
  });

/** Returns true if gates left the model without a lane: another model could have one. */
export const isRejectedByGate = (error: unknown): boolean =>
  error instanceof Fault &&
  error.code === 'no_providers_available' &&
  error.options.details?.['gate'] !== undefined;
