import type { Fault } from '../../kernel';

/** It names one lane: a supplier, its model and a region. */
export interface LaneRoute {
  readonly supplier: string;
  readonly model: string;
  readonly region: string;
}

export interface LaneFailure {
  readonly problem: Fault;
  readonly status: number | null;
  /** The request itself may be to blame: its owner's failures count once for the lane, and in full for the key. */
  readonly isCallerMayBeCause: boolean;
  /** The organisation, user or key that asked: only as many of them are the fault of the lane. */
  readonly owner: string;
  /** The try took so long. */
  readonly milliseconds: number;
}

/** A lane was passed over for this reason since that time; `closedAt` is set once it answers again. */
export interface LaneTrouble extends LaneRoute {
  readonly code: string;
  readonly status: number | null;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
}
