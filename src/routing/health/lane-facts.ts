import type { Fault } from '../../kernel';

/** One lane by name: a supplier, its model and a region. */
export interface LaneRoute {
  readonly supplier: string;
  readonly model: string;
  readonly region: string;
}

export interface LaneFailure {
  readonly problem: Fault;
  readonly status: number | null;
  /** The request itself may be to blame: its key's failures count once for the lane, and in full for that key. */
  readonly isCallerMayBeCause: boolean;
}
