import { Module, type OnModuleInit } from '@nestjs/common';
import { BillingModule, Limits, WalletHandover } from '../../billing';
import { OrganisationMerge } from '../../identity';
import { KeyTransfers } from '../../keys';
import { moveEvaluation } from '../../quality';
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
export class OrganisationsModule implements OnModuleInit {
  constructor(
    private readonly merges: OrganisationMerge,
    private readonly keys: KeyTransfers,
    private readonly limits: Limits,
    private readonly handover: WalletHandover,
  ) {}

  onModuleInit(): void {
    this.merges.addMove(async (tx, { sourceIds, targetId }) => {
      await this.keys.moveOrganisations(tx, sourceIds, targetId);
      for (const id of sourceIds) await this.limits.remove(tx, { kind: 'organisation', id });
    });
    this.merges.addPreparation((payers) => this.handover.recall(payers));
    // Each former payer hands over to the chosen one; without one, all accounts keep paying as before.
    this.merges.addMove(async (tx, { sourceIds, targetId, payers, billingUserId, afterwards }) => {
      if (billingUserId === null) return;
      const formerPayers = new Set(payers.filter((id) => id !== billingUserId));
      for (const from of formerPayers) {
        const ref = `${sourceIds.join('+')} into ${targetId}: ${from} to ${billingUserId}`;
        const isEnded = await this.handover.execute(tx, { from, to: billingUserId, kind: 'merge', ref });
        if (isEnded) afterwards(() => this.handover.notifyOwner(from));
      }
      // Makes nodes return what they drew from the former wallets in the meantime.
      afterwards(async () => {
        await this.handover.recall([...formerPayers]);
        await this.handover.followAll();
      });
    });
    this.merges.addMove(async (tx, { sourceIds, targetId }) => {
      await tx.query(
        'UPDATE reseller_domain SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[])',
        [sourceIds, targetId],
      );
    });
    this.merges.addMove((tx, { sourceIds, targetId }) => moveEvaluation(tx, sourceIds, targetId));
    // Grants to a source become grants to the target; the sources' own switches are dropped.
    this.merges.addMove(async (tx, { sourceIds, targetId }) => {
      await tx.query(
        `INSERT INTO model_organisation_access (model_id, organisation_id, granted, enabled)
         SELECT DISTINCT model_id, $2::integer, true, true FROM model_organisation_access
          WHERE organisation_id = ANY ($1::integer[]) AND granted
         ON CONFLICT (model_id, organisation_id) DO UPDATE SET granted = true`,
        [sourceIds, targetId],
      );
    });
  }
}
