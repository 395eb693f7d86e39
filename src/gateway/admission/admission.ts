import type { ModelView, PricedLane } from '../../catalogue';

export interface Admission {
  readonly model: ModelView;
  readonly lanes: readonly PricedLane[];
  /** The field that excludes other lanes; null if none are excluded. */
  readonly withheldBy: string | null;
}
