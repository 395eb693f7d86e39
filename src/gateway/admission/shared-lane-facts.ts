import type { LaneView } from '../../catalogue';
import type { LaneFacts } from '../../vendors';

/** Facts that callers can rely on for every lane: null if lanes differ or the fact is unknown on one. */
export function sharedLaneFacts(lanes: readonly LaneView[]) {
  const shared = <Value>(factOf: (facts: LaneFacts) => Value | undefined): Value | null => {
    // Assumed facts decide how a lane is called, but are not promised to callers.
    const [first, ...others] = lanes.map(({ facts }) =>
      facts.assumed === undefined ? factOf(facts) : undefined,
    );
    const text = JSON.stringify(first);
    return first === undefined || others.some((other) => JSON.stringify(other) !== text) ? null : first;
  };
  return {
    reasoning_efforts: shared(({ thinking }) => thinking?.efforts),
    thinking_types: shared(({ thinking }) => thinking?.types),
    sampling: shared(({ sampling }) => sampling),
    forced_tools: shared(({ forcedTools }) => forcedTools),
    prefill: shared(({ prefill }) => prefill),
  };
}
