import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { WebModule } from '../../web';
import { Budgets } from './budgets';
import { DomainsController } from './domains/domains.controller';
import { DepartmentsController } from './departments.controller';
import { MarkupsController } from './markups.controller';
import { MergeController } from './merge.controller';
import { OrganisationDetailsQuery } from './organisation-details.query';
import { OrganisationsController } from './organisations.controller';

@Module({
  imports: [WebModule, BillingModule],
  controllers: [
    MergeController,
    MarkupsController,
    OrganisationsController,
    DepartmentsController,
    DomainsController,
  ],
  providers: [Budgets, OrganisationDetailsQuery],
  exports: [Budgets],
})
export class OrganisationsModule {}
