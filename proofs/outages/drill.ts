import type { Testbed } from './testbed';
import type { Report } from './report';

/** The surroundings that every drill gets. */
export interface DrillContext {
  readonly testbed: Testbed;
  readonly report: Report;
  /** Shorter outages, fewer calls. */
  readonly quick: boolean;
}

/** One component that fails under load. */
export interface Drill {
  readonly name: string;
  /** Where the fault lasts as long as it may outside a drill, these of deploy/prometheus fire. */
  readonly alerts: readonly string[];
  run(context: DrillContext): Promise<void>;
}
