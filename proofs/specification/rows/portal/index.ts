import type { Row } from '../../row';
import { accountRows } from './account';
import { auditRows } from './audit';
import { authenticationRows } from './authentication';
import { billingRows } from './billing';
import { catalogueRows } from './catalogue';
import { dashboardRows } from './dashboard';
import { modelAccessRows } from './model-access';
import { oversightRows } from './oversight';
import { parameterRows } from './parameters';
import { partRows } from './parts';
import { peopleRows } from './people';
import { placeRows } from './places';
import { providerRows } from './providers';
import { publicPageRows } from './public-pages';
import { resourceRows } from './resources';
import { stateRows } from './states';
import { webchatRows } from './webchat';

/** The portal and the administration. */
export const portalRows: readonly Row[] = [
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
  ...placeRows,
  ...catalogueRows,
  ...modelAccessRows,
  ...parameterRows,
  ...authenticationRows,
];
