import type { World } from './world';

type ScenarioStep = (world: World) => Promise<void>;

/**
 * A proof of an operation: its effect is visible, invalid input is rejected with a code of the catalogue, and a caller
 * without permission is rejected.
 */
export interface Scenario {
  /** Name of the operation in the contract, such as `POST /v1/manage/keys`. */
  readonly operation: string;
  readonly success: ScenarioStep;
  /** `none` if an operation reads nothing from the request; the runner then calls it with a wrong method. */
  readonly badInput: ScenarioStep | 'none';
  /** `public` if the contract requires no credentials; `success` then runs without them. */
  readonly withoutRights: ScenarioStep | 'public';
}
