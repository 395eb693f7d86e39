import type { RecordAttributes } from '../../../audit';
import { HoldProof, type Nano } from '../../../kernel';
import type { LimitRef } from '../../scope';
import type { Slice } from './slice';

export interface HoldRequest {
  /** Unique to the request; a repeated request is recorded under an id of its own. */
  readonly requestId: string;
  /** Upper bound of the request's cost. */
  readonly amount: Nano;
  /** Smallest acceptable hold; defaults to the full amount. */
  readonly minAmount?: Nano;
  /** Every scope the request counts against. */
  readonly refs: readonly LimitRef[];
}

export const minAmountOf = ({ amount, minAmount = amount }: HoldRequest): Nano => minAmount;

export type SettleOutcome = RecordAttributes;

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
 * Money reserved for one request in all its scopes; its holder is allowed to call a supplier. Only the escrow creates
 * holds, and a hold ends once, by settle or release.
 */
export class Hold extends HoldProof {
  readonly requestId: string;
  /** Can be less than requested if the request accepts less. */
  readonly amount: Nano;
  readonly refs: readonly LimitRef[];
  /** Time on the database's clock. Decides which windows are charged, no matter when the request ends. */
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

  /** Id of the budget for this model of this key; null if there is none. */
  get keyModelId(): number | null {
    return this.refs.find(({ kind }) => kind === 'key_model')?.id ?? null;
  }

  /** Charges the real cost. Resolves once the record survives this process. */
  settle(outcome: SettleOutcome): Promise<void> {
    if (outcome.costNano < 0n) throw new RangeError('a request cannot cost less than nothing');
    this.#ended ??= this.#keeper.settle(this, this.#slices, outcome);
    return this.#ended;
  }

  release(): void {
    if (this.#ended !== undefined) return;
    this.#ended = nothingToAwait;
    this.#keeper.release(this, this.#slices);
  }
}

const nothingToAwait = Promise.resolve();
