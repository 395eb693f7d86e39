import type { Fault } from '../../kernel';

export interface LaneRoute {
  readonly supplier: string;
  readonly model: string;
  readonly region: string;
}

export interface LaneFailure {
  readonly problem: Fault;
  readonly status: number | null;
  /**
   * Whether the request itself can be the cause. Such failures of one owner count once for the lane, and fully for the
   * key.
   */
  readonly isCallerMayBeCause: boolean;
  /** The organisation, user or key of the request; distinguishes failures of several owners. */
  readonly owner: string;
  readonly milliseconds: number;
}

/** A period in which a lane was open, with its reason; `closedAt` is set once the lane responds again. */
export interface LaneOutage extends LaneRoute {
  readonly code: string;
  readonly status: number | null;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
}
