import type { Scenario } from '../scenario';
import { gatewayScenarios } from './gateway';
import { manageScenarios } from './manage';

/** In the order of the contract. */
export const scenarios: readonly Scenario[] = [...gatewayScenarios, ...manageScenarios];
