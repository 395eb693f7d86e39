import type { LaneView } from '../../catalogue';
import type { LaneFacts } from '../../vendors';

/** Callers may rely on these facts whichever lane serves them: a fact is null where lanes differ or one is unknown. */
export function sharedFacts(lanes: readonly LaneView[]) {
  const shared = <Value>(factOf: (facts: LaneFacts) => Value | undefined): Value | null => {
    // Assumed facts decide how a lane is called, and are no promise to callers.
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
