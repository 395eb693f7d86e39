import { Injectable } from '@nestjs/common';
import { ActivityLog, systemActor } from '../../audit';
import { fault, type Nano } from '../../kernel';
import { Database, readRows, type Row, type Tx } from '../../platform';
import { PaymentProcessor } from './payment-processor';

/** The name and address for the processor, mails and invoices. */
export interface WalletOwner {
  readonly walletId: number;
  readonly email: string;
  readonly name: string;
  readonly language: string;
  readonly organisationId: number | null;
}

export interface InvoiceDetails {
  readonly name: string | null;
  readonly address: string | null;
  readonly taxId: string | null;
}

export interface AutomaticTopUpRule {
  readonly enabled: boolean;
  /** The rule of automatic top-ups: threshold, amount, and the most a calendar month in UTC. */
  readonly threshold: Nano;
  readonly amountCents: bigint;
  readonly monthlyCeilingCents: bigint;
}

export interface BillingAccount {
  readonly walletId: number;
  /** Null also where it is one of the processor's other mode: with it, nothing can be paid. */
  readonly customerId: string | null;
  readonly defaultMethodId: number | null;
  readonly invoice: InvoiceDetails;
  readonly lowBalance: Nano;
  readonly automatic: AutomaticTopUpRule;
  readonly failures: number;
  readonly pausedUntil: Date | null;
  readonly failureCode: string | null;
}

type AccountRow = Row<'billing_account'>;

/** Keeps the billing data of a wallet beside its money. */
@Injectable()
export class BillingAccounts {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly activity: ActivityLog,
  ) {}

  /** The account is created on first use. */
  async of(walletId: number): Promise<BillingAccount> {
    const find = (): Promise<AccountRow[]> =>
      this.database.rows<AccountRow>('SELECT * FROM billing_account WHERE wallet_id = $1', [walletId]);
    const [known] = await find();
    if (known !== undefined) return this.accountOf(known);
    await this.database.query('INSERT INTO billing_account (wallet_id) VALUES ($1) ON CONFLICT DO NOTHING', [
      walletId,
    ]);
    const [made] = await find();
    if (made === undefined) throw fault('not_found');
    return this.accountOf(made);
  }

  /** The account, held until the transaction ends. */
  async locked(tx: Tx, walletId: number): Promise<BillingAccount> {
    await tx.query('INSERT INTO billing_account (wallet_id) VALUES ($1) ON CONFLICT DO NOTHING', [walletId]);
    const [row] = await readRows<AccountRow>(
      tx,
      'SELECT * FROM billing_account WHERE wallet_id = $1 FOR NO KEY UPDATE',
      [walletId],
    );
    if (row === undefined) throw fault('not_found');
    return this.accountOf(row);
  }

  async owner(walletId: number): Promise<WalletOwner> {
    const [row] = await this.database.rows<WalletOwner>(
      `SELECT id AS wallet_id, email, display_name AS name, preferred_language AS language, organisation_id
         FROM user_account WHERE id = $1`,
      [walletId],
    );
    if (row === undefined) throw fault('not_found');
    return row;
  }

  /** The customer at the processor; made on first use. */
  async customerOf(walletId: number): Promise<string> {
    return (await this.of(walletId)).customerId ?? this.newCustomer(walletId);
  }

  /**
   * Calls the processor for this wallet's customer. One that it does not know, as after it was deleted there, is
   * replaced once.
   */
  async forCustomer<Answer>(
    walletId: number,
    work: (customerId: string) => Promise<Answer>,
  ): Promise<Answer> {
    const customerId = await this.customerOf(walletId);
    try {
      return await work(customerId);
    } catch (error) {
      if (!this.processor.isWithoutCustomer(error)) throw error;
      return work(await this.newCustomer(walletId, customerId));
    }
  }

  /** Concurrent calls get the same one, by the idempotency key. */
  private async newCustomer(walletId: number, unknown?: string): Promise<string> {
    const [known] = await this.database.rows<Pick<AccountRow, 'customerId'>>(
      'SELECT customer_id FROM billing_account WHERE wallet_id = $1',
      [walletId],
    );
    const before = known?.customerId ?? null;
    if (before !== null && unknown !== undefined && before !== unknown) return before;
    const owner = await this.owner(walletId);
    const { email, name } = owner;
    const key = `customer-${walletId}-${email}${before === null ? '' : `-after-${before}`}`;
    const { id, livemode } = await this.processor.call((client) =>
      client.customers.create(
        { email, name, metadata: { wallet: String(walletId) } },
        { idempotencyKey: key },
      ),
    );
    await this.database.transaction((tx) => this.replaceCustomer(tx, owner, before, { id, livemode }), {
      withoutActivity: 'the customer at the processor mirrors the wallet',
    });
    return (await this.of(walletId)).customerId ?? id;
  }

  /** The cards of the customer before are gone with it, and a rule made for them must not charge others. */
  private async replaceCustomer(
    tx: Tx,
    { walletId, organisationId }: WalletOwner,
    before: string | null,
    { id, livemode }: { readonly id: string; readonly livemode: boolean },
  ): Promise<void> {
    const { automatic } = await this.locked(tx, walletId);
    const [replaced] = await tx.query<[object[], number]>(
      `UPDATE billing_account SET customer_id = $2, customer_live = $3,
              former_customers = array_remove(former_customers || customer_id, NULL)
        WHERE wallet_id = $1 AND customer_id IS NOT DISTINCT FROM $4 RETURNING wallet_id`,
      [walletId, id, livemode, before],
    );
    if (replaced.length === 0 || before === null) return;
    await tx.query(
      'UPDATE payment_method SET removed_at = now() WHERE wallet_id = $1 AND removed_at IS NULL',
      [walletId],
    );
    await tx.query(
      'UPDATE billing_account SET automatic = false, default_method_id = NULL WHERE wallet_id = $1',
      [walletId],
    );
    if (!automatic.enabled) return;
    await this.activity.write(tx, {
      action: 'billing.auto-top-up-changed',
      actor: systemActor('payment processor'),
      object: { type: 'setting', id: walletId },
      concerns: { userId: walletId, organisationId },
      changes: { enabled: ['true', 'false'] },
    });
  }

  async setAutomatic(tx: Tx, walletId: number, rule: AutomaticTopUpRule): Promise<void> {
    await tx.query(
      `UPDATE billing_account SET automatic = $2, threshold_nano = $3, top_up_cents = $4, monthly_ceiling_cents = $5,
              failures = 0, paused_until = NULL, failure_code = NULL WHERE wallet_id = $1`,
      [
        walletId,
        rule.enabled,
        rule.threshold.toString(),
        rule.amountCents.toString(),
        rule.monthlyCeilingCents.toString(),
      ],
    );
  }

  async setInvoice(tx: Tx, walletId: number, { name, address, taxId }: InvoiceDetails): Promise<void> {
    await tx.query(
      'UPDATE billing_account SET invoice_name = $2, invoice_address = $3, tax_id = $4 WHERE wallet_id = $1',
      [walletId, name, address, taxId],
    );
  }

  async setLowBalance(tx: Tx, walletId: number, limit: Nano): Promise<void> {
    await tx.query(
      'UPDATE billing_account SET low_balance_nano = $2, low_balance_mailed_at = NULL WHERE wallet_id = $1',
      [walletId, limit.toString()],
    );
  }

  private accountOf(row: AccountRow): BillingAccount {
    return {
      walletId: row.walletId,
      customerId: this.processor.isOfOtherMode(row.customerLive) ? null : row.customerId,
      defaultMethodId: row.defaultMethodId,
      invoice: { name: row.invoiceName, address: row.invoiceAddress, taxId: row.taxId },
      lowBalance: BigInt(row.lowBalanceNano),
      automatic: {
        enabled: row.automatic,
        threshold: BigInt(row.thresholdNano),
        amountCents: BigInt(row.topUpCents),
        monthlyCeilingCents: BigInt(row.monthlyCeilingCents),
      },
      failures: row.failures,
      pausedUntil: row.pausedUntil,
      failureCode: row.failureCode,
    };
  }
}
