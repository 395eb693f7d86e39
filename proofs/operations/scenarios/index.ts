import type { Scenario } from '../scenario';
import { accountScenarios } from './accounts';
import { adminCatalogueScenarios } from './admin-catalogue';
import { adminModelAccessScenarios } from './admin-model-access';
import { frameScenarios } from './portal-shell';
import { chatScenarios } from './chat';
import { billingScenarios } from './billing';
import { gatewayScenarios } from './gateway';
import { keysAndOverviewScenarios } from './keys-and-overview';
import { manageScenarios } from './manage';
import { oversightScenarios } from './oversight';
import { peopleScenarios } from './people';
import { organisationAndPromotionScenarios } from './organisations-and-promotions';
import { providerScenarios } from './providers';
import { publicPageScenarios } from './public-pages';
import { qualityScenarios } from './quality';
import { usageScenarios } from './usage';

/** In the order of the contract. */
export const scenarios: readonly Scenario[] = [
  ...gatewayScenarios,
  ...manageScenarios,
  ...keysAndOverviewScenarios,
  ...billingScenarios,
  ...oversightScenarios,
  ...publicPageScenarios,
  ...accountScenarios,
  ...providerScenarios,
  ...frameScenarios,
  ...peopleScenarios,
  ...organisationAndPromotionScenarios,
  ...adminCatalogueScenarios,
  ...adminModelAccessScenarios,
  ...usageScenarios,
  ...qualityScenarios,
  ...chatScenarios,
];
