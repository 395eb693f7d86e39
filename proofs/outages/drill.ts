import type { Testbed } from './testbed';
import type { Report } from './report';

/** What every drill gets. */
export interface DrillContext {
  readonly testbed: Testbed;
  readonly report: Report;
  /** Shorter outages, fewer calls. */
  readonly quick: boolean;
}

/** A thing that goes away while there is work. */
export interface Drill {
  readonly name: string;
  run(context: DrillContext): Promise<void>;
}
