import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import type { Tx } from '../../platform';
import { transferWallet, type WalletTransfer } from '../ledger/wallet-transfer';
import { PromotionBook } from '../promotions/promotion-book';
import { BillingAccounts } from './billing-accounts';
import { BillingMails } from './billing-mails';
import { Payments } from './payments';
import { concernsOfWallet } from './wallet-concern';

/**
 * Another wallet pays from now on. It takes the balance, and with it what may be taken back of payments and
 * promotions. The card of the former one is charged no more.
 */
@Injectable()
export class WalletHandover {
  constructor(
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly promotions: PromotionBook,
    private readonly mails: BillingMails,
    private readonly activity: ActivityLog,
  ) {}

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
