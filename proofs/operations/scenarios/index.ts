import type { Scenario } from '../scenario';
import { gatewayScenarios } from './gateway';
import { manageScenarios } from './manage';
import { oversightScenarios } from './oversight';

/** In the order of the contract. */
export const scenarios: readonly Scenario[] = [
  ...gatewayScenarios,
  ...manageScenarios,
  ...oversightScenarios,
];
