import type { WrittenRecord } from '../../../audit';
import type { Nano } from '../../../kernel';
import type { LimitRef } from '../../scope';

/** Source of truth for the engine on each node. PostgreSQL implements it; the property tests use models. */
export interface MoneyStore {
  /** Renews or starts a lease. `journal` is the location of the node's journal; null if it keeps none. */
  beat(lease: string, node: string, begin: boolean, journal?: string | null): Promise<Beat>;
  /** Draws from each limit as far as its condition allows; returns one result per request, in order. */
  draw(lease: string, operation: number, requests: readonly DrawRequest[]): Promise<readonly DrawResult[]>;
  giveBack(lease: string, operation: number, portions: readonly SlicePortion[]): Promise<void>;
  /** Returns what the lease holds; no earlier operation of the lease takes effect afterwards. */
  audit(lease: string, operation: number): Promise<readonly SlicePortion[]>;
  /**
   * Takes back what dead leases hold without a journal, or everything that the named node holds, whose journal was
   * read. Returns the number of nodes.
   */
  sweep(node?: string): Promise<number>;
  /** Returns dead nodes whose journals were not read and still hold money. */
  unreadJournals(): Promise<readonly UnreadJournal[]>;
  /** Returns which of the nodes were given up: their journals no longer charge anything. */
  forgottenNodes(nodes: readonly string[]): Promise<readonly string[]>;
  liveNodes(): Promise<readonly string[]>;
  settle(batch: SettlementRequest): Promise<SettlementResult>;
}

export interface UnreadJournal {
  readonly node: string;
  readonly journal: string;
  readonly heardAt: Date;
  readonly held: readonly { readonly ref: LimitRef; readonly amount: Nano }[];
}

export interface Beat {
  /** False if the lease ran out and was swept. */
  readonly alive: boolean;
  /** Wall clock of the database, in milliseconds since the epoch. */
  readonly now: number;
  /** Scopes whose limits changed recently: nodes might have missed the notification. */
  readonly changed: readonly LimitRef[];
}

export interface DrawRequest {
  readonly ref: LimitRef;
  /** Minimum useful grant; zero when topping up ahead of time. */
  readonly need: Nano;
  /** Maximum useful grant. */
  readonly want: Nano;
}

export interface DrawResult {
  /** Null if the scope has no limit. */
  readonly window: SpendingWindow | null;
  /** Null if not even the need was left. */
  readonly granted: Nano | null;
  readonly limitLeft: Nano;
  /** Amount that is neither spent nor drawn; negative if the limit was lowered below both. */
  readonly poolLeft: Nano;
  /** Amount that other leases hold. */
  readonly elsewhere: Nano;
  /** Time when all current spending has left the window. A rolling window reports it only if little was left. */
  readonly resetsAt: number;
  readonly now: number;
}

export interface SpendingWindow {
  readonly id: string;
  /**
   * In milliseconds since the epoch on the database's clock; infinite if there is no such end. The window of a wallet
   * continues under its id when a promotion ends; what was drawn before does not.
   */
  readonly startsAt: number;
  readonly endsAt: number;
}

export interface SlicePortion {
  readonly windowId: string;
  readonly amount: Nano;
}

/** Committed completely or not at all, and repeatable: records by their id, releases by lease and number. */
export interface SettlementRequest {
  readonly lease: string | null;
  readonly number: number;
  readonly records: readonly WrittenRecord[];
  readonly releases: readonly SlicePortion[];
  /** Called immediately before the commit of new records. */
  readonly isCalledOff?: () => boolean;
}

export interface SettlementResult {
  /** Indexes of the records that were stored already. */
  readonly known: readonly number[];
  readonly windows: readonly { readonly windowId: string; readonly limitLeft: Nano }[];
}

/** The lease was swept: what it held belongs to other nodes. */
export class LeaseGone extends Error {
  constructor() {
    super('the escrow lease is gone');
  }
}

/** The store refused permanently: repeating the call will not help. */
export class RefusedByStore extends Error {}

/** Nothing of the batch is or will be stored: it was called off before its commit. */
export class CalledOff extends Error {
  constructor() {
    super('the batch was called off before its commit');
  }
}
