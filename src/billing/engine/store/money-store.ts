import type { WrittenRecord } from '../../../audit';
import type { Nano } from '../../../kernel';
import type { LimitRef } from '../../scope';

/** The source of truth for the engine on each node. PostgreSQL implements it; the property tests use models. */
export interface MoneyStore {
  /** Renews a lease, or begins it. `journal` says where the node keeps its journal, null that it keeps none. */
  beat(lease: string, node: string, begin: boolean, journal?: string | null): Promise<Beat>;
  /** Takes from limits what their conditions allow, a reply an ask, in order. */
  draw(lease: string, operation: number, asks: readonly Ask[]): Promise<readonly Drawn[]>;
  giveBack(lease: string, operation: number, portions: readonly Portion[]): Promise<void>;
  /** The answer has what the lease holds; no earlier operation of it takes effect afterwards. */
  audit(lease: string, operation: number): Promise<readonly Portion[]>;
  /** Takes back what dead leases hold without a journal, or all that the named node holds, whose journal was read. */
  sweep(node?: string): Promise<number>;
  /** The journals of these dead nodes were not read, and hold money until then. */
  unread(): Promise<readonly UnreadJournal[]>;
  /** The answer names the nodes that were given up: their journals charge nothing any more. */
  forgotten(nodes: readonly string[]): Promise<readonly string[]>;
  /** The nodes whose leases run. */
  liveNodes(): Promise<readonly string[]>;
  settle(batch: Batch): Promise<Settled>;
}

export interface UnreadJournal {
  readonly node: string;
  /** The journal lies here, as the node said. */
  readonly journal: string;
  readonly heardAt: Date;
  readonly held: readonly { readonly ref: LimitRef; readonly amount: Nano }[];
}

export interface Beat {
  /** It is false when the lease ran out and was swept. */
  readonly alive: boolean;
  /** The wall clock of the database, in milliseconds since the epoch. */
  readonly now: number;
  /** The limits of these scopes changed recently: nodes may have missed the announcement. */
  readonly changed: readonly LimitRef[];
}

export interface Ask {
  readonly ref: LimitRef;
  /** A smaller grant is useless; zero when topping up ahead of time. */
  readonly need: Nano;
  /** More than this is not wanted. */
  readonly want: Nano;
}

export interface Drawn {
  /** Null: the scope has no limit. */
  readonly window: Window | null;
  /** Null: not even the need was left. */
  readonly granted: Nano | null;
  /** The limit less what was spent. */
  readonly limitLeft: Nano;
  /** The pool has this left, which is neither spent nor drawn. */
  readonly poolLeft: Nano;
  /** Other leases hold this. */
  readonly elsewhere: Nano;
  /** All that is spent has left the window at this time, which a rolling one tells only where little was left. */
  readonly resetsAt: number;
  readonly now: number;
}

export interface Window {
  readonly id: string;
  /**
   * In milliseconds since the epoch on the database's clock; infinite if a window has no such end. The window of a
   * wallet continues under its id when a promotion ends; what was drawn before does not.
   */
  readonly startsAt: number;
  readonly endsAt: number;
}

export interface Portion {
  readonly windowId: string;
  readonly amount: Nano;
}

/** Is committed whole or not at all, and may be repeated: records by their id, releases by lease and number. */
export interface Batch {
  readonly lease: string | null;
  readonly number: number;
  readonly records: readonly WrittenRecord[];
  readonly releases: readonly Portion[];
  /** Asked last before the commit of new records: whether the batch was called off. */
  readonly isCalledOff?: () => boolean;
}

export interface Settled {
  /** The batch has at these places the records that were there already. */
  readonly known: readonly number[];
  readonly windows: readonly { readonly windowId: string; readonly limitLeft: Nano }[];
}

/** The lease was swept: what it held belongs to others by now. */
export class LeaseGone extends Error {
  constructor() {
    super('the escrow lease is gone');
  }
}

/** The store refused for good: repeating the same will not help. */
export class RefusedByStore extends Error {}

/** Nothing of the batch is there, and nothing will be: it was called off before its commit. */
export class CalledOff extends Error {
  constructor() {
    super('the batch was called off before its commit');
  }
}
