import type { SpecificationRow } from '../../row';
import { accountRows } from './account';
import { auditRows } from './audit';
import { authenticationRows } from './authentication';
import { billingRows } from './billing';
import { catalogueRows } from './catalogue';
import { dashboardRows } from './dashboard';
import { modelAccessRows } from './model-access';
import { oversightRows } from './oversight';
import { parameterRows } from './parameters';
import { partRows } from './dashboard-areas';
import { peopleRows } from './people';
import { organisationAndPromotionRows } from './organisations-and-promotions';
import { providerRows } from './providers';
import { publicPageRows } from './public-pages';
import { resourceRows } from './resources';
import { stateRows } from './states';
import { webchatRows } from './webchat';

/** Portal and administration. */
export const portalRows: readonly SpecificationRow[] = [
  ...partRows,
  ...resourceRows,
  ...stateRows,
  ...publicPageRows,
  ...accountRows,
  ...providerRows,
  ...dashboardRows,
  ...webchatRows,
  ...billingRows,
  ...oversightRows,
  ...auditRows,
  ...peopleRows,
  ...organisationAndPromotionRows,
  ...catalogueRows,
  ...modelAccessRows,
  ...parameterRows,
  ...authenticationRows,
];
