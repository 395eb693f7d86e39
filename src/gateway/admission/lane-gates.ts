import { Injectable } from '@nestjs/common';
import type { GateLane } from '#extension';
import { Fault, fault } from '../../kernel';
import type { PlannedLane, RoutePlan } from '../../routing';
import { type GateHook, Gates } from '../gates/gate-hooks';
import { answerIn, lanesIn, PASSED, refusedBy, unknownVerdict } from '../gates/read-verdict';
import { type Call, gateRequestOf } from '../intake';

type Verdict =
  | typeof PASSED
  | { readonly verdict: 'reject'; readonly problem: Fault }
  | { readonly verdict: 'restrict' | 'order'; readonly lanes: readonly PlannedLane[] };

/** More ids than any model has lanes. */
const MOST_IDS = 10_000;

/** The gates that narrow or order the lanes of a model. None can add a lane that was not there. */
@Injectable()
export class LaneGates {
  private readonly hooks: readonly GateHook[] | null;

  constructor({ candidates }: Gates) {
    this.hooks = candidates;
  }

  /** The same plan where no gate changes it. Throws where one leaves nothing. */
  pass(call: Call, plan: RoutePlan): RoutePlan | Promise<RoutePlan> {
    return this.hooks === null ? plan : this.passFrom(this.hooks, 0, call, plan);
  }

  private passFrom(
    hooks: readonly GateHook[],
    from: number,
    call: Call,
    given: RoutePlan,
  ): RoutePlan | Promise<RoutePlan> {
    const request = gateRequestOf(call);
    let plan = given;
    for (let place = from; place < hooks.length; place += 1) {
      const hook = hooks[place]!;
      const { lanes } = plan;
      const verdict = hook.ask<Verdict>(
        (signal) => hook.gate.candidates!(request, Object.freeze(lanes.map(laneOf)), signal),
        (answer) => readVerdict(answer, hook, lanes),
        PASSED,
        call.gates,
      );
      const before = plan;
      if (verdict instanceof Promise)
        return verdict.then((late) => this.passFrom(hooks, place + 1, call, after(late, hook, before)));
      plan = after(verdict, hook, before);
    }
    return plan;
  }
}

const laneOf = ({ lane: { id, provider, upstreamModel, region } }: PlannedLane): GateLane =>
  Object.freeze({ id, supplier: provider.name, model: upstreamModel, region });

function readVerdict(given: unknown, { name }: GateHook, lanes: readonly PlannedLane[]): Verdict {
  const answer = answerIn(given);
  switch (answer.verdict) {
    case 'abstain':
      return PASSED;
    case 'reject':
      return refusedBy(name, answer);
    case 'restrict': {
      const ids = lanesIn(answer, MOST_IDS);
      return { verdict: 'restrict', lanes: lanes.filter(({ lane }) => ids.has(lane.id)) };
    }
    case 'order':
      return { verdict: 'order', lanes: ordered(lanes, [...lanesIn(answer, MOST_IDS)]) };
    default:
      throw unknownVerdict(answer);
  }
}

/** Those that are named come first. Lanes that rest stay behind all others, as they are tried only where all rest. */
function ordered(lanes: readonly PlannedLane[], ids: readonly number[]): readonly PlannedLane[] {
  const rankOf = ({ lane, why }: PlannedLane): number => {
    const place = ids.indexOf(lane.id);
    return (why === 'open' ? ids.length + 1 : 0) + (place === -1 ? ids.length : place);
  };
  return [...lanes].sort((one, other) => rankOf(one) - rankOf(other));
}

function after(verdict: Verdict, { name }: GateHook, plan: RoutePlan): RoutePlan {
  if (verdict.verdict === 'abstain') return plan;
  if (verdict.verdict === 'reject') throw verdict.problem;
  if (verdict.lanes.length === 0) throw barred(name);
  return { ...plan, lanes: verdict.lanes, isGated: true };
}

const barred = (gate: string): Fault =>
  fault('no_providers_available', {
    message: `The gate ${gate} leaves no supplier of this model to the request.`,
    details: { gate },
  });

/** Whether gates left the model without a lane: another model may have one. */
export const isBarred = (error: unknown): boolean =>
  error instanceof Fault &&
  error.code === 'no_providers_available' &&
  error.options.details?.['gate'] !== undefined;
