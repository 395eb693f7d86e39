import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import {
  BeforeOrganisationMerge,
  Database,
  OnOrganisationMerge,
  type OrganisationMerger,
  RepeatingJob,
  type TableRow,
  type Tx,
} from '../../platform';
import { followTransfer, transferWallet, type WalletTransfer } from '../ledger/wallet-transfer';
import { PromotionStore } from '../promotions/promotion-store';
import { BillingAccounts } from './billing-accounts';
import { BillingMails } from './billing-mails';
import { Payments } from './payments';
import { concernsOfWallet } from './wallet-concern';

/** Nodes return unused money within milliseconds of the recall. */
const RECALL_WAIT_MS = 50;
const MAX_RECALL_ROUNDS = 10;

/**
 * Replaces the wallet that pays. The new one takes the balance, and what can be taken back of payments and promotions;
 * the former one's card is no longer charged.
 */
@Injectable()
export class WalletHandover {
  constructor(
    private readonly database: Database,
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly promotions: PromotionStore,
    private readonly mails: BillingMails,
    private readonly activity: ActivityLog,
  ) {}

  /** Makes nodes return what they drew from these wallets, except what requests in flight hold. */
  @BeforeOrganisationMerge()
  async recall(walletIds: readonly number[]): Promise<void> {
    let previous: string | null = null;
    for (let round = 0; round < MAX_RECALL_ROUNDS; round += 1) {
      const [row]: { escrowed: string | null }[] = await this.database.query(
        `SELECT sum(escrowed)::text AS escrowed, min(pg_notify('money', format('limit wallet %s', owner_id))::text)
           FROM spending_window WHERE kind = 'wallet' AND owner_id = ANY ($1::bigint[]) AND escrowed > 0`,
        [walletIds],
      );
      const escrowed = row?.escrowed ?? null;
      if (escrowed === null || escrowed === previous) return;
      previous = escrowed;
      await delay(RECALL_WAIT_MS);
    }
  }

  /** Each former payer hands over to the chosen one; without one, all accounts keep paying as before. */
  @OnOrganisationMerge()
  async mergePayers(tx: Tx, merger: OrganisationMerger): Promise<void> {
    const { sourceIds, targetId, payers, billingUserId, afterwards } = merger;
    if (billingUserId === null) return;
    const formerPayers = new Set(payers.filter((id) => id !== billingUserId));
    for (const from of formerPayers) {
      const ref = `${sourceIds.join('+')} into ${targetId}: ${from} to ${billingUserId}`;
      const isEnded = await this.execute(tx, { from, to: billingUserId, kind: 'merge', ref });
      if (isEnded) afterwards(() => this.mails.automaticTopUpEnded(from));
    }
    // Makes nodes return what they drew from the former wallets in the meantime.
    afterwards(async () => {
      await this.recall([...formerPayers]);
      await this.followAll();
    });
  }

  /** Returns whether an automatic top-up was switched off; its owner is notified after the commit. */
  private async execute(tx: Tx, transfer: WalletTransfer): Promise<boolean> {
    const { from, to } = transfer;
    const wasAutomatic = await this.disableAutomaticTopUp(tx, from);
    // Locks payments and promotions before their wallets, as their postings do.
    await this.payments.handOver(tx, from, to);
    await this.promotions.handOver(tx, from, to);
    await transferWallet(tx, transfer);
    return wasAutomatic;
  }

  /** Moves what nodes return after a transfer, as long as requests or dead nodes hold some of it. */
  @RepeatingJob({ name: 'wallet-handovers', cron: '*/5 * * * * *' })
  async followAll(signal?: AbortSignal): Promise<void> {
    const open = await this.database.rows<TableRow<'wallet_handover', 'from_wallet'>>(
      'SELECT from_wallet FROM wallet_handover ORDER BY opened_at',
    );
    for (const { fromWallet } of open) {
      if (signal?.aborted === true) return;
      await this.follow(Number(fromWallet));
    }
  }

  private async follow(from: number): Promise<void> {
    await this.database.transaction(
      async (tx) => {
        const { to, spent } = await followTransfer(tx, from);
        if (to !== null) await this.promotions.spendHandedOver(tx, to, spent);
      },
      { withoutActivity: 'the merge is on record' },
    );
  }

  private async disableAutomaticTopUp(tx: Tx, walletId: number): Promise<boolean> {
    const { automatic } = await this.accounts.lock(tx, walletId);
    if (!automatic.enabled) return false;
    await tx.query('UPDATE billing_account SET automatic = false WHERE wallet_id = $1', [walletId]);
    await this.activity.write(tx, {
      action: 'billing.auto-top-up-changed',
      object: { type: 'setting', id: walletId },
      concerns: await concernsOfWallet(tx, walletId),
      changes: { enabled: ['true', 'false'] },
    });
    return true;
  }
}
