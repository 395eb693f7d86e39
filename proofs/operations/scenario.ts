import type { World } from './world';

type Step = (world: World) => Promise<void>;

/**
 * An operation is proven so: its effect is seen, and bad input is refused with a code of the catalogue. A
 * caller without rights is refused, too.
 */
export interface Scenario {
  /** As the contract names it: `POST /v1/manage/keys`. */
  readonly operation: string;
  readonly success: Step;
  /** `none` where an operation reads nothing of the request; the runner then asks it with a wrong verb. */
  readonly badInput: Step | 'none';
  /** `public` where the contract asks for no credentials. `success` then runs without them. */
  readonly withoutRights: Step | 'public';
}
