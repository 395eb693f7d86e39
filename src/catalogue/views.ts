import type { SupplierLane, SupplierProvider } from '#extension';
import type { ErrorCode, PriceRates, Surcharge } from '../kernel';
import type { LaneFacts, Wire } from '../vendors';
import type { ModelValues, ProviderBreaker, ProviderTimeouts } from './entities';

/** The hot path's view of the catalogue: frozen, plain and complete, so that it never queries the database. */
export interface ProviderView extends SupplierProvider {
  readonly id: number;
  readonly visible: boolean;
  readonly timeouts: ProviderTimeouts;
  readonly breaker: ProviderBreaker;
}

export interface LaneView extends SupplierLane {
  readonly id: number;
  readonly provider: ProviderView;
  readonly priority: number;
  readonly weight: number;
  /** Retries of this lane per request after a short rate limit or an internal error. */
  readonly retries: number;
  readonly facts: LaneFacts;
  /** Dialect that the operator configured for conversations; null if the profile and facts decide. */
  readonly wire: Wire | null;
}

export interface PriceView {
  readonly id: number;
  readonly modelId: number;
  readonly laneId: number | null;
  readonly rates: PriceRates;
  /** Milliseconds since the epoch; null if in force only through a schedule. */
  readonly validFrom: number | null;
  readonly source: string;
  /** Fees of extensions that `rates` includes; absent if there are none. */
  readonly surcharges?: readonly Surcharge[];
  /** Rates without these fees; absent if `rates` includes none. */
  readonly ratesWithoutFees?: PriceRates;
}

export interface ScheduleView {
  readonly id: number;
  readonly price: PriceView;
  readonly startsAt: number;
  readonly endsAt: number | null;
}

export interface ModelView extends Readonly<Omit<ModelValues, 'capabilities' | 'retiresAt'>> {
  readonly id: number;
  readonly name: string;
  readonly capabilities: ReadonlySet<string>;
  /** Milliseconds since the epoch; the model is not served from then on. */
  readonly retiresAt: number | null;
  readonly createdAt: number;
  readonly aliases: readonly string[];
  readonly redirectTo: number | null;
  readonly overflowTo: number | null;
  readonly lanes: readonly LaneView[];
  readonly prices: readonly PriceView[];
  readonly schedules: readonly ScheduleView[];
}

/** A lane with the price that a request on it pays now; a hold pins the price's id. */
export interface PricedLane {
  readonly lane: LaneView;
  readonly price: PriceView;
}

export type Resolution =
  | {
      readonly kind: 'found';
      readonly model: ModelView;
      /** Every name on the path from the requested name to the model's own. */
      readonly names: readonly string[];
      /** At least one lane. Lanes without a price are omitted: nothing is free by omission. */
      readonly lanes: readonly PricedLane[];
    }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly model: ModelView | undefined };

export interface ModelAudience {
  readonly organisationId: number | null;
  readonly departmentId: number | null;
}
