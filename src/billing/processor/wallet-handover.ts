import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { Database, RepeatingJob, type Row, type Tx } from '../../platform';
import { followTransfer, transferWallet, type WalletTransfer } from '../ledger/wallet-transfer';
import { PromotionBook } from '../promotions/promotion-book';
import { BillingAccounts } from './billing-accounts';
import { BillingMails } from './billing-mails';
import { Payments } from './payments';
import { concernsOfWallet } from './wallet-concern';

/** Nodes return what they hold for no request within milliseconds of the call. */
const CALL_BACK_MS = 50;
const MAX_CALL_BACK_ROUNDS = 10;

/**
 * Another wallet pays from now on. It takes the balance, and with it what may be taken back of payments and
 * promotions. The card of the former one is charged no more.
 */
@Injectable()
export class WalletHandover {
  constructor(
    private readonly database: Database,
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly promotions: PromotionBook,
    private readonly mails: BillingMails,
    private readonly activity: ActivityLog,
  ) {}

  /** Makes nodes return what they drew from these wallets, apart from what requests in flight hold. */
  async callBack(walletIds: readonly number[]): Promise<void> {
    let before: string | null = null;
    for (let round = 0; round < MAX_CALL_BACK_ROUNDS; round += 1) {
      const [row]: { escrowed: string | null }[] = await this.database.query(
        `SELECT sum(escrowed)::text AS escrowed, min(pg_notify('money', format('limit wallet %s', owner_id))::text)
           FROM spending_window WHERE kind = 'wallet' AND owner_id = ANY ($1::bigint[]) AND escrowed > 0`,
        [walletIds],
      );
      const escrowed = row?.escrowed ?? null;
      if (escrowed === null || escrowed === before) return;
      before = escrowed;
      await delay(CALL_BACK_MS);
    }
  }

  /** The answer says whether an automatic top-up was switched off; its owner is told once this is committed. */
  async carryOut(tx: Tx, transfer: WalletTransfer): Promise<boolean> {
    const { from, to } = transfer;
    const wasAutomatic = await this.switchOff(tx, from);
    // Payments and promotions are locked before their wallets, as their postings do.
    await this.payments.handOver(tx, from, to);
    await this.promotions.handOver(tx, from, to);
    await transferWallet(tx, transfer);
    return wasAutomatic;
  }

  /** Moves what nodes return after a transfer, for as long as requests or dead nodes hold some of it. */
  @RepeatingJob({ name: 'wallet-handovers', cron: '*/5 * * * * *' })
  async followAll(signal?: AbortSignal): Promise<void> {
    const open = await this.database.rows<Row<'wallet_handover', 'from_wallet'>>(
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

  async tell(walletId: number): Promise<void> {
    await this.mails.automaticTopUpEnded(walletId);
  }

  private async switchOff(tx: Tx, walletId: number): Promise<boolean> {
    const { automatic } = await this.accounts.locked(tx, walletId);
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
