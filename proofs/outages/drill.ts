import type { OutageTestbed } from './testbed';
import type { OutageReport } from './report';

/** Context of every drill. */
export interface OutageDrillContext {
  readonly testbed: OutageTestbed;
  readonly report: OutageReport;
  /** Shorter outages and fewer calls. */
  readonly isQuick: boolean;
}

/** A component that fails under load. */
export interface OutageDrill {
  readonly name: string;
  /** Alerts of deploy/prometheus that fire if the fault lasts long enough outside a drill. */
  readonly alerts: readonly string[];
  run(context: OutageDrillContext): Promise<void>;
}
