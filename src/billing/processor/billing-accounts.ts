import { Injectable } from '@nestjs/common';
import { ActivityLog, systemActor } from '../../audit';
import { fault, type Nano } from '../../kernel';
import { Database, readRows, type TableRow, type Tx } from '../../platform';
import { PaymentProcessor } from './payment-processor';

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
  /** Threshold, amount, and maximum per calendar month in UTC. */
  readonly threshold: Nano;
  readonly amountCents: bigint;
  readonly monthlyCeilingCents: bigint;
}

export interface BillingAccount {
  readonly walletId: number;
  /** Also null if the customer belongs to the processor's other mode, in which nothing can be paid. */
  readonly customerId: string | null;
  readonly defaultMethodId: number | null;
  readonly invoice: InvoiceDetails;
  readonly lowBalance: Nano;
  readonly automatic: AutomaticTopUpRule;
  readonly failures: number;
  readonly pausedUntil: Date | null;
  readonly failureCode: string | null;
}

type BillingAccountRow = TableRow<'billing_account'>;

@Injectable()
export class BillingAccounts {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly activity: ActivityLog,
  ) {}

  async findOrCreate(walletId: number): Promise<BillingAccount> {
    const find = (): Promise<BillingAccountRow[]> =>
      this.database.rows<BillingAccountRow>('SELECT * FROM billing_account WHERE wallet_id = $1', [walletId]);
    const [existing] = await find();
    if (existing !== undefined) return this.accountOf(existing);
    await this.database.query('INSERT INTO billing_account (wallet_id) VALUES ($1) ON CONFLICT DO NOTHING', [
      walletId,
    ]);
    const [created] = await find();
    if (created === undefined) throw fault('not_found');
    return this.accountOf(created);
  }

  /** Returns the account, locked until the transaction ends. */
  async lock(tx: Tx, walletId: number): Promise<BillingAccount> {
    await tx.query('INSERT INTO billing_account (wallet_id) VALUES ($1) ON CONFLICT DO NOTHING', [walletId]);
    const [row] = await readRows<BillingAccountRow>(
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

  /** Returns the customer at the processor; created on first use. */
  async customerOf(walletId: number): Promise<string> {
    return (await this.findOrCreate(walletId)).customerId ?? this.newCustomer(walletId);
  }

  /**
   * Calls the processor for this wallet's customer. A customer that the processor does not know, such as a deleted one,
   * is replaced once.
   */
  async forCustomer<Result>(
    walletId: number,
    work: (customerId: string) => Promise<Result>,
  ): Promise<Result> {
    const customerId = await this.customerOf(walletId);
    try {
      return await work(customerId);
    } catch (error) {
      if (!this.processor.isMissingCustomer(error)) throw error;
      return work(await this.newCustomer(walletId, customerId));
    }
  }

  /** The idempotency key gives concurrent calls the same customer. */
  private async newCustomer(walletId: number, unknownCustomerId?: string): Promise<string> {
    const [account] = await this.database.rows<Pick<BillingAccountRow, 'customerId'>>(
      'SELECT customer_id FROM billing_account WHERE wallet_id = $1',
      [walletId],
    );
    const formerId = account?.customerId ?? null;
    if (formerId !== null && unknownCustomerId !== undefined && formerId !== unknownCustomerId)
      return formerId;
    const owner = await this.owner(walletId);
    const { email, name } = owner;
    const key = `customer-${walletId}-${email}${formerId === null ? '' : `-after-${formerId}`}`;
    const { id, livemode } = await this.processor.call((client) =>
      client.customers.create(
        { email, name, metadata: { wallet: String(walletId) } },
        { idempotencyKey: key },
      ),
    );
    await this.database.transaction((tx) => this.replaceCustomer(tx, owner, formerId, { id, livemode }), {
      withoutActivity: 'the customer at the processor mirrors the wallet',
    });
    return (await this.findOrCreate(walletId)).customerId ?? id;
  }

  /** Removes the former customer's cards, which are gone, and the rule made for them, which must not charge others. */
  private async replaceCustomer(
    tx: Tx,
    { walletId, organisationId }: WalletOwner,
    formerId: string | null,
    { id, livemode }: { readonly id: string; readonly livemode: boolean },
  ): Promise<void> {
    const { automatic } = await this.lock(tx, walletId);
    const [replaced] = await tx.query<[object[], number]>(
      `UPDATE billing_account SET customer_id = $2, customer_live = $3,
              former_customers = array_remove(former_customers || customer_id, NULL)
        WHERE wallet_id = $1 AND customer_id IS NOT DISTINCT FROM $4 RETURNING wallet_id`,
      [walletId, id, livemode, formerId],
    );
    if (replaced.length === 0 || formerId === null) return;
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

  private accountOf(row: BillingAccountRow): BillingAccount {
    return {
      walletId: row.walletId,
      customerId: this.processor.isFromOtherMode(row.customerLive) ? null : row.customerId,
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
