import type Stripe from 'stripe';
import { Injectable } from '@nestjs/common';
import { ActivityLog, type ActivitySubject } from '../../audit';
import { fault } from '../../kernel';
import { Database, Logger, OnUserErasure, type TableRow, type Tx } from '../../platform';
import { BillingAccounts } from './billing-accounts';
import { PaymentProcessor } from './payment-processor';

const COLUMNS = 'm.id, m.processor_id, m.brand, m.last4, m.exp_month, m.exp_year, m.wallet';

/**
 * `id` is that of our row, `processorId` the processor's. `wallet` is where the card is stored, such as a phone's
 * wallet.
 */
export interface Card extends TableRow<'payment_method', typeof COLUMNS> {
  readonly isDefault: boolean;
}

const MAX_CARDS = 100;

/** Saved cards: the processor stores them, and we store what is displayed. */
@Injectable()
export class Cards {
  constructor(
    private readonly database: Database,
    private readonly accounts: BillingAccounts,
    private readonly processor: PaymentProcessor,
    private readonly activity: ActivityLog,
    private readonly logger: Logger,
  ) {}

  /** Returns the default card first, then the newest. */
  list(walletId: number): Promise<Card[]> {
    return this.database.rows<Card>(
      `SELECT ${COLUMNS}, m.id = a.default_method_id IS TRUE AS is_default
         FROM payment_method m JOIN billing_account a ON a.wallet_id = m.wallet_id
        WHERE m.wallet_id = $1 AND m.removed_at IS NULL ORDER BY is_default DESC, m.id DESC LIMIT ${MAX_CARDS}`,
      [walletId],
    );
  }

  /** Finds a card of this wallet by either id; throws `not_found` for cards of other wallets. */
  async find(walletId: number, id: string | number): Promise<Card> {
    const cards = await this.list(walletId);
    const card = cards.find((one) => (typeof id === 'number' ? one.id === id : one.processorId === id));
    if (card === undefined) throw fault('not_found', { message: 'There is no such payment method.' });
    return card;
  }

  async remove(walletId: number, card: Card, concerns: ActivitySubject): Promise<void> {
    await this.detach(card);
    await this.database.transaction(async (tx) => {
      await this.accounts.lock(tx, walletId);
      await tx.query('UPDATE payment_method SET removed_at = now() WHERE id = $1 AND removed_at IS NULL', [
        card.id,
      ]);
      await chooseDefault(tx, walletId);
      await this.activity.write(tx, {
        action: 'billing.card-removed',
        object: auditObjectOf(card),
        concerns,
      });
    });
  }

  async makeDefault(walletId: number, card: Card, concerns: ActivitySubject): Promise<void> {
    await this.database.transaction(async (tx) => {
      const { defaultMethodId } = await this.accounts.lock(tx, walletId);
      if (defaultMethodId === card.id) {
        this.activity.reportNoChange();
        return;
      }
      await tx.query('UPDATE billing_account SET default_method_id = $2 WHERE wallet_id = $1', [
        walletId,
        card.id,
      ]);
      await this.activity.write(tx, {
        action: 'billing.default-card-changed',
        object: auditObjectOf(card),
        concerns,
      });
    });
  }

  /** Removes the cards of an erased account, which is no longer charged. Payments keep their card details. */
  @OnUserErasure()
  async forget(tx: Tx, walletId: number): Promise<void> {
    await tx.query(
      'UPDATE payment_method SET removed_at = now() WHERE wallet_id = $1 AND removed_at IS NULL',
      [walletId],
    );
    await tx.query(
      'UPDATE billing_account SET automatic = false, default_method_id = NULL WHERE wallet_id = $1',
      [walletId],
    );
  }

  /** Synchronises the cards with the processor. Failures are only logged. */
  async refreshCustomer(customerId: string): Promise<void> {
    const [account] = await this.database.rows<TableRow<'billing_account', 'wallet_id'>>(
      'SELECT wallet_id FROM billing_account WHERE customer_id = $1',
      [customerId],
    );
    if (account === undefined) return;
    try {
      await this.refresh(account.walletId, customerId);
    } catch (error) {
      this.logger.warn('cards could not be refreshed', { error, wallet: account.walletId });
    }
  }

  /** The processor refuses to detach a card that is already detached, without a code that says so. */
  private async detach({ processorId }: Card): Promise<void> {
    try {
      await this.processor.call((client) => client.paymentMethods.detach(processorId));
    } catch (error) {
      if (isAbsent(error)) return;
      if (this.processor.refusalOf(error) === null || (await this.isAttached(processorId))) throw error;
    }
  }

  private async isAttached(processorId: string): Promise<boolean> {
    try {
      const { customer } = await this.processor.call((client) => client.paymentMethods.retrieve(processorId));
      return customer !== null;
    } catch (error) {
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  private async refresh(walletId: number, customerId: string): Promise<void> {
    const cards = await this.processor.call((client) =>
      client.paymentMethods
        .list({ customer: customerId, limit: MAX_CARDS })
        .autoPagingToArray({ limit: MAX_CARDS }),
    );
    await this.database.transaction(
      async (tx) => {
        await this.accounts.lock(tx, walletId);
        for (const method of cards) {
          const { brand, last4, expMonth, expYear, wallet } = cardDetailsOf(method);
          await tx.query(
            `INSERT INTO payment_method AS m (wallet_id, processor_id, brand, last4, exp_month, exp_year, wallet)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (processor_id) DO UPDATE SET
               exp_month = excluded.exp_month, exp_year = excluded.exp_year, wallet = excluded.wallet
               WHERE m.wallet_id = excluded.wallet_id`,
            [walletId, method.id, brand, last4, expMonth, expYear, wallet],
          );
        }
        await tx.query(
          `UPDATE payment_method SET removed_at = now()
            WHERE wallet_id = $1 AND removed_at IS NULL AND processor_id <> ALL ($2)`,
          [walletId, cards.map(({ id }) => id)],
        );
        await chooseDefault(tx, walletId);
      },
      { withoutActivity: 'what the processor keeps is mirrored' },
    );
  }
}

/** An account with cards has a default card: the newest, until another is chosen. */
const chooseDefault = (tx: Tx, walletId: number): Promise<unknown> =>
  tx.query(
    `UPDATE billing_account a SET default_method_id = (SELECT max(m.id) FROM payment_method m
        WHERE m.wallet_id = a.wallet_id AND m.removed_at IS NULL)
      WHERE a.wallet_id = $1 AND NOT EXISTS (SELECT FROM payment_method m
        WHERE m.id = a.default_method_id AND m.removed_at IS NULL)`,
    [walletId],
  );

/** Anything that can be charged later counts as a card: wallets and bank accounts too, without an expiry date. */
function cardDetailsOf(
  method: Stripe.PaymentMethod,
): Pick<Card, 'brand' | 'last4' | 'expMonth' | 'expYear' | 'wallet'> {
  const { type, card, sepa_debit: sepa, us_bank_account: account } = method;
  return {
    brand: card?.brand ?? type,
    last4: card?.last4 ?? sepa?.last4 ?? account?.last4 ?? '',
    expMonth: card?.exp_month ?? 0,
    expYear: card?.exp_year ?? 0,
    wallet: card?.wallet?.type ?? null,
  };
}

const auditObjectOf = ({ id, brand, last4 }: Card) =>
  ({ type: 'card', id, label: last4 === '' ? brand : `${brand} •••• ${last4}` }) as const;

const isAbsent = (error: unknown): boolean => (error as { code?: unknown }).code === 'not_found';
