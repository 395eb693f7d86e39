import type { Provider } from '@nestjs/common';
import { AutoBudgets } from './auto-budgets';
import { AutoCandidates } from './auto-candidates';
import { AutoChooser } from './auto-chooser';
import { AutoDecisions } from './auto-decisions';
import { AutoModel } from './auto-model';
import { AutoRetries } from './auto-retries';
import { AutoTraffic } from './auto-traffic';
import { ReferenceUsage } from './reference-usage';

export type { AutoDecision } from './auto-route';
export { familyOf, sealOf } from './sealed-history';

export const automaticChoice: Provider[] = [
  AutoBudgets,
  AutoCandidates,
  AutoChooser,
  AutoDecisions,
  AutoModel,
  AutoRetries,
  AutoTraffic,
  ReferenceUsage,
];
