import type { ModelView, PricedLane } from '../../catalogue';

/** The model that a caller may have. */
export interface Admission {
  readonly model: ModelView;
  /** The lanes that serve the operation, the primary first, each with its price. */
  readonly lanes: readonly PricedLane[];
  /** The field for which further lanes are left out; null if there are none. */
  readonly withheldBy: string | null;
}
