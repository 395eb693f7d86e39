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
import { OrganisationView } from './organisation-view';
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
  providers: [Budgets, OrganisationView],
  exports: [Budgets],
})
export class OrganisationsModule implements OnModuleInit {
  constructor(
    private readonly merges: OrganisationMerge,
    private readonly keys: KeyTransfers,
    private readonly limits: Limits,
    private readonly handover: WalletHandover,
  ) {}

  /** A merge moves data of other modules as well. */
  onModuleInit(): void {
    this.merges.also(async (tx, { sourceIds, targetId }) => {
      await this.keys.moveOrganisations(tx, sourceIds, targetId);
      for (const id of sourceIds) await this.limits.remove(tx, { kind: 'organisation', id });
    });
    this.merges.beforehand((payers) => this.handover.callBack(payers));
    // Each former payer hands over to the named one; without one, all accounts keep paying as before.
    this.merges.also(async (tx, { sourceIds, targetId, payers, billingUserId, afterwards }) => {
      if (billingUserId === null) return;
      const before = new Set(payers.filter((id) => id !== billingUserId));
      for (const from of before) {
        const ref = `${sourceIds.join('+')} into ${targetId}: ${from} to ${billingUserId}`;
        const isEnded = await this.handover.carryOut(tx, { from, to: billingUserId, kind: 'merge', ref });
        if (isEnded) afterwards(() => this.handover.tell(from));
      }
      // The notification of the transfer makes nodes return what they drew meanwhile.
      afterwards(async () => {
        await this.handover.callBack([...before]);
        await this.handover.followAll();
      });
    });
    this.merges.also(async (tx, { sourceIds, targetId }) => {
      await tx.query(
        'UPDATE reseller_domain SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[])',
        [sourceIds, targetId],
      );
    });
    this.merges.also((tx, { sourceIds, targetId }) => moveEvaluation(tx, sourceIds, targetId));
    // A grant to a source becomes a grant to the target. The switches of a source end with it.
    this.merges.also(async (tx, { sourceIds, targetId }) => {
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
