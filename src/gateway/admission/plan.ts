import { fault, monotonicMs } from '../../kernel';
import { type LaneHealth, planRoute, type RoutePlan, type Stickiness } from '../../routing';
import type { Admission } from './admit';
import type { Call } from '../intake/describe';
import type { RoutedCall } from './routed-call';
import { stickyKey } from '../intake/session';

/** What the order of lanes depends on, beside the catalogue. */
interface LaneKnowledge {
  readonly health: LaneHealth;
  readonly stickiness: Stickiness;
}

/** The lanes of a request in the order in which they are tried. */
export function planFor(call: Call, admission: Admission, known: LaneKnowledge): RoutePlan {
  const plan = routePlan(call, admission, known);
  if (plan.lanes.length === 0) throw fault('sovereign_route_unavailable');
  return plan;
}

/** The same, without a lane where the regions leave none. */
export function routePlan(
  call: Call,
  { lanes, model }: Admission,
  { health, stickiness }: LaneKnowledge,
): RoutePlan {
  const now = monotonicMs();
  return planRoute({
    lanes,
    regions: regionsFor(call),
    // One lane is no choice, and the session need not be looked for.
    stickyLaneId: lanes.length > 1 ? stickiness.laneOf(stickyKey(call.inbound, call)) : null,
    order: model.laneOrder,
    latencyOf: (lane) => health.latencyOf(lane, now),
    stateOf: (lane) => health.stateOf(lane, call.inbound.caller.keyId, now),
    random: Math.random,
  });
}

/** The next request of a conversation finds its lane again. */
export function rememberLane(
  { call, plan: { lanes } }: RoutedCall,
  laneId: number,
  { stickiness }: LaneKnowledge,
): void {
  if (lanes.length < 2) return;
  const rank = Math.min(...lanes.map(({ lane }) => lane.priority));
  const taken = lanes.find(({ lane }) => lane.id === laneId);
  stickiness.remember(stickyKey(call.inbound, call), laneId, taken?.lane.priority === rank);
}

/** The key's regions and the call's own: each only narrows. */
function regionsFor({ inbound, region }: Call): ReadonlySet<string> | null {
  const { allowedRegions } = inbound.caller;
  if (region === null) return allowedRegions;
  return new Set(allowedRegions === null || allowedRegions.has(region) ? [region] : []);
}
