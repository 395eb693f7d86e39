import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { CatalogueModule } from '../catalogue';
import { GatewayModule } from '../gateway';
import { SecretsModule } from '../platform';
import { RoutingModule } from '../routing';
import { automaticChoice } from './choice';
import { DecisionQuery } from './decisions/decision.query';
import { JudgedDecisions } from './decisions/judged-decisions';
import { AutoLearner } from './learning/auto-learner';
import { AutoSalts } from './learning/auto-salts';
import { AutoSessions } from './learning/auto-sessions';
import { AutoStates } from './learning/auto-states';
import { StateMaintenance } from './learning/state-maintenance';
import { AutoPolicies } from './policy/auto-policies';
import { AutoSettingsStore } from './policy/auto-settings.store';

/**
 * Automatic model choice (`auto`): chooses models for the gateway, learns from scored answers and explains its
 * decisions.
 */
@Module({
  imports: [AuditModule, BillingModule, CatalogueModule, GatewayModule, RoutingModule, SecretsModule],
  providers: [
    ...automaticChoice,
    AutoLearner,
    AutoPolicies,
    AutoSalts,
    AutoSessions,
    AutoSettingsStore,
    AutoStates,
    DecisionQuery,
    JudgedDecisions,
    StateMaintenance,
  ],
  exports: [
    AutoLearner,
    AutoPolicies,
    AutoSalts,
    AutoSessions,
    AutoSettingsStore,
    AutoStates,
    DecisionQuery,
    JudgedDecisions,
  ],
})
export class AutorouterModule {}
