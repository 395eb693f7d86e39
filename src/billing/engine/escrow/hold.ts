import type { RecordFacts } from '../../../audit';
import { HoldProof, type Nano } from '../../../kernel';
import type { LimitRef } from '../../scope';
import type { Slice } from './slice';

export interface HoldRequest {
  /** Unique to this request; a repetition is recorded under an id of its own. */
  readonly requestId: string;
  /** The bound: the most that the request can cost. */
  readonly amount: Nano;
  /** The request can do with this amount where less is left; without it, nothing less is held. */
  readonly least?: Nano;
  /** Every scope the request counts against. */
  readonly refs: readonly LimitRef[];
}

/** Below this it is refused. */
export const leastOf = ({ amount, least = amount }: HoldRequest): Nano => least;

/** The record of a request that ended, apart from what the hold knows. */
export type SettleOutcome = RecordFacts;

export interface HoldKeeper {
  settle(hold: Hold, slices: readonly Slice[], outcome: SettleOutcome): Promise<void>;
  release(hold: Hold, slices: readonly Slice[]): void;
}

export let placeHold: (
  keeper: HoldKeeper,
  request: HoldRequest,
  slices: readonly Slice[],
  heldAt: number,
  amount: Nano,
) => Hold;

/**
 * A hold is money set aside for one request in all its scopes. Its holder may call a supplier; only the
 * escrow makes them. It ends once, by settle or release; a later call changes nothing.
 */
export class Hold extends HoldProof {
  readonly requestId: string;
  /** The hold is less than was asked for where the request could do with it. */
  readonly amount: Nano;
  readonly refs: readonly LimitRef[];
  /** It is the time of the database's clock; it decides which windows are charged, whenever the request ends. */
  readonly heldAt: number;
  readonly #keeper: HoldKeeper;
  readonly #slices: readonly Slice[];
  #ended: Promise<void> | undefined;

  static {
    placeHold = (keeper, request, slices, heldAt, amount) =>
      new Hold(keeper, { ...request, amount }, slices, heldAt);
  }

  private constructor(keeper: HoldKeeper, request: HoldRequest, slices: readonly Slice[], heldAt: number) {
    super();
    this.requestId = request.requestId;
    this.amount = request.amount;
    this.refs = request.refs;
    this.heldAt = heldAt;
    this.#keeper = keeper;
    this.#slices = slices;
  }

  /** The budget of this model at this key, where there is one. */
  get keyModelId(): number | null {
    return this.refs.find(({ kind }) => kind === 'key_model')?.id ?? null;
  }

  /** Charges what the request really cost. Settles once the record survives this process. */
  settle(outcome: SettleOutcome): Promise<void> {
    if (outcome.costNano < 0n) throw new RangeError('a request cannot cost less than nothing');
    this.#ended ??= this.#keeper.settle(this, this.#slices, outcome);
    return this.#ended;
  }

  /** Nothing was used: the money goes back at once and no record remains. */
  release(): void {
    if (this.#ended !== undefined) return;
    this.#ended = nothingToAwait;
    this.#keeper.release(this, this.#slices);
  }
}

const nothingToAwait = Promise.resolve();
