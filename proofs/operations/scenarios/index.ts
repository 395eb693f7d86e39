import type { Scenario } from '../scenario';
import { accountScenarios } from './accounts';
import { frameScenarios } from './frame';
import { gatewayScenarios } from './gateway';
import { manageScenarios } from './manage';
import { oversightScenarios } from './oversight';
import { providerScenarios } from './providers';
import { publicPageScenarios } from './public-pages';

/** In the order of the contract. */
export const scenarios: readonly Scenario[] = [
  ...gatewayScenarios,
  ...manageScenarios,
  ...oversightScenarios,
  ...publicPageScenarios,
  ...accountScenarios,
  ...providerScenarios,
  ...frameScenarios,
];
