import type { SupplierLane, SupplierProvider } from '#extension';
import type { ErrorCode, PriceRates, Surcharge } from '../kernel';
import type { LaneFacts, Wire } from '../vendors';
import type { ModelValues, ProviderBreaker, ProviderTimeouts } from './entities';

/** What the hot path sees of the catalogue: frozen, plain, and complete enough never to ask the database. */
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
  /** It is asked again so often for one request, after a short limit or an internal error. */
  readonly retries: number;
  /** These facts of the supplier's model are known. */
  readonly facts: LaneFacts;
  /** The dialect that the operator chose for conversations; null: as the profile and the facts say. */
  readonly wire: Wire | null;
}

export interface PriceView {
  readonly id: number;
  readonly modelId: number;
  readonly laneId: number | null;
  readonly rates: PriceRates;
  /** It is in milliseconds since the epoch; null means in force only while a schedule says so. */
  readonly validFrom: number | null;
  readonly source: string;
  /** The fees of extensions that its rates hold; left out: none. */
  readonly surcharges?: readonly Surcharge[];
  /** Its rates without these fees; left out: `rates` has none. */
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
  /** Milliseconds since the epoch; from then on it is not served. */
  readonly retiresAt: number | null;
  readonly createdAt: number;
  readonly aliases: readonly string[];
  readonly redirectTo: number | null;
  /** The model that answers what is too long for this one. */
  readonly overflowTo: number | null;
  /** Enabled lanes of visible providers, the primary first. */
  readonly lanes: readonly LaneView[];
  /** The newest stands first. */
  readonly prices: readonly PriceView[];
  readonly schedules: readonly ScheduleView[];
}

/** A lane and the price that a request on it pays now: its id is what a hold pins. */
export interface PricedLane {
  readonly lane: LaneView;
  readonly price: PriceView;
}

export type Resolution =
  | {
      readonly kind: 'found';
      readonly model: ModelView;
      /** Every name on the way, from the one that was asked for to the model's own. */
      readonly names: readonly string[];
      /** There is at least one. A lane without a price is not offered: nothing is ever free by omission. */
      readonly lanes: readonly PricedLane[];
    }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly model: ModelView | undefined };

/** A model is open or closed to this audience. */
export interface ModelAudience {
  readonly organisationId: number | null;
  readonly departmentId: number | null;
}
