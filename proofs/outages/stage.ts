import type { House } from './house';
import type { Report } from './report';

/** What every drill gets. */
export interface Stage {
  readonly house: House;
  readonly report: Report;
  /** Shorter outages, fewer calls. */
  readonly quick: boolean;
}

/** A thing that goes away while there is work. */
export interface Drill {
  readonly name: string;
  run(stage: Stage): Promise<void>;
}
