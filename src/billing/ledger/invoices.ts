import { Injectable } from '@nestjs/common';
import { fault, formatUsd, invoiceAccountOf, type Nano } from '../../kernel';
import {
  Database,
  Keyset,
  Logger,
  type Page,
  type PageRequest,
  readRows,
  RepeatingJob,
  type TableRow,
  type Tx,
} from '../../platform';
import { Ledger } from './ledger';
import { Limits } from './limits';

export interface InvoiceState {
  /** Usage that is not paid, invoiced or not; negative if more was paid. */
  readonly owed: Nano;
  readonly credit: Nano;
  /** Amount that nodes hold for requests in flight. */
  readonly escrowed: Nano;
}

export interface InvoicePayment {
  readonly id: number;
  /** The payer's reference, unique per payment; identifies repeated entries. */
  readonly reference: string;
  readonly amount: Nano;
  readonly recordedAt: Date;
  /** Null unless the payment was reversed. */
  readonly undoneAt: Date | null;
}

type InvoicePaymentRow = TableRow<'invoice_payment'>;

const newestFirst = new Keyset([{ sql: 'id', kind: 'integer' }], 'descending');
const MAX_FORMER_PER_RUN = 500;

@Injectable()
export class Invoices {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly limits: Limits,
    private readonly logger: Logger,
  ) {}

  async state(payerId: number): Promise<InvoiceState> {
    const { balance, creditLimit, escrowed } = await this.ledger.wallet(invoiceAccountOf(payerId));
    return { owed: -balance, credit: creditLimit, escrowed };
  }

  /**
   * Sets the credit of an invoiced payer: their credit limit, or else the lower of their budgets. Budgets raise the
   * credit only if the platform acts (`canRaise`), since organisations set one of them.
   */
  async updateCredit(tx: Tx, payerId: number, canRaise: boolean): Promise<void> {
    const account = invoiceAccountOf(payerId);
    const rows = await readRows<TableRow<'spending_rule', 'owner_id, limit_nano'>>(
      tx,
      `SELECT owner_id, limit_nano FROM spending_rule WHERE kind = 'wallet' AND owner_id IN ($1, $2)`,
      [payerId, account],
    );
    const ruleOf = (id: number): Nano =>
      BigInt(rows.find((row) => row.ownerId === String(id))?.limitNano ?? 0);
    const limit = ruleOf(payerId);
    const former = ruleOf(account);
    const byBudget = await this.lowestBudget(tx, payerId);
    const bounded = canRaise || byBudget < former ? byBudget : former;
    await this.setCredit(tx, payerId, limit > 0n ? limit : bounded);
  }

  /**
   * Moves what a payer owes by invoice to a negative wallet, when the payer is no longer invoiced. Returns the amount.
   */
  async moveToWallet(tx: Tx, payerId: number): Promise<Nano> {
    await this.setCredit(tx, payerId, 0n);
    const [row] = await tx.query<{ moved: string }[]>('SELECT money_leave_invoices($1) AS moved', [payerId]);
    return -BigInt(row?.moved ?? 0);
  }

  /** Returns null if the payment was recorded before. */
  async record(tx: Tx, payerId: number, reference: string, amount: Nano): Promise<InvoicePayment | null> {
    const [created] = await readRows<InvoicePaymentRow>(
      tx,
      `INSERT INTO invoice_payment (payer_id, reference, amount_nano) VALUES ($1, $2, $3)
       ON CONFLICT (payer_id, reference) DO NOTHING RETURNING *`,
      [payerId, reference, amount.toString()],
    );
    if (created === undefined) {
      const [existing] = await readRows<InvoicePaymentRow>(
        tx,
        'SELECT * FROM invoice_payment WHERE payer_id = $1 AND reference = $2',
        [payerId, reference],
      );
      if (existing !== undefined && BigInt(existing.amountNano) === amount && existing.undoneAt === null)
        return null;
      throw referenceTakenFault(existing);
    }
    await this.post(tx, payerId, 'invoice-payment', created.id, amount);
    return paymentOf(created);
  }

  /** Reverses a payment with a posting. Returns null if it was reversed before. */
  async undo(tx: Tx, payerId: number, paymentId: number): Promise<InvoicePayment | null> {
    const [payment] = await readRows<InvoicePaymentRow>(
      tx,
      'SELECT * FROM invoice_payment WHERE id = $1 AND payer_id = $2 FOR NO KEY UPDATE',
      [paymentId, payerId],
    );
    if (payment === undefined) throw fault('not_found', { param: 'payment_id' });
    if (payment.undoneAt !== null) return null;
    await tx.query('UPDATE invoice_payment SET undone_at = clock_timestamp() WHERE id = $1', [paymentId]);
    await this.post(tx, payerId, 'invoice-payment-undone', payment.id, -BigInt(payment.amountNano));
    return paymentOf(payment);
  }

  async payments(payerId: number, request: PageRequest): Promise<Page<InvoicePayment>> {
    const keyset = newestFirst.clause(request, 2);
    const rows = await this.database.rows<InvoicePaymentRow>(
      `SELECT *, ${newestFirst.positions} FROM invoice_payment
        WHERE payer_id = $1 AND ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
      [payerId, ...keyset.parameters],
    );
    const page = newestFirst.page(rows, request);
    return { ...page, rows: page.rows.map(paymentOf) };
  }

  /** Moves charges of requests that were still in flight when their payer stopped being invoiced. */
  @RepeatingJob({ name: 'former-invoices', cron: '50 * * * * *' })
  async moveFormerCharges(): Promise<void> {
    const rows = await this.database.query<TableRow<'user_account', 'id'>>(
      `SELECT u.id FROM spending_window w JOIN user_account u ON u.id = -w.owner_id AND u.billing_type <> 'invoiced'
        LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
       WHERE w.kind = 'wallet' AND w.owner_id < 0 AND w.limit_nano - coalesce(r.limit_nano, 0) <> w.spent
       ORDER BY u.id LIMIT ${MAX_FORMER_PER_RUN}`,
    );
    for (const { id } of rows) {
      const work = async (tx: Tx): Promise<void> => {
        const [formerPayer] = await tx.query<object[]>(
          `SELECT 1 FROM user_account WHERE id = $1 AND billing_type <> 'invoiced' FOR NO KEY UPDATE`,
          [id],
        );
        if (formerPayer !== undefined) await this.moveToWallet(tx, id);
      };
      await this.database
        .transaction(work, { withoutActivity: 'the change of the billing type is on record' })
        .catch((error: unknown) => this.logger.warn('what is owed stays with the invoices', { error, id }));
    }
  }

  private async setCredit(tx: Tx, payerId: number, credit: Nano): Promise<void> {
    await this.limits.setCreditLimit(tx, invoiceAccountOf(payerId), credit);
  }

  private async lowestBudget(tx: Tx, payerId: number): Promise<Nano> {
    const [row] = await tx.query<{ lowest: string | null }[]>(
      `SELECT min(limit_nano) AS lowest FROM spending_rule WHERE kind IN ('user', 'user_budget') AND owner_id = $1`,
      [payerId],
    );
    return BigInt(row?.lowest ?? 0);
  }

  private async post(tx: Tx, payerId: number, kind: string, paymentId: string, amount: Nano): Promise<void> {
    const walletId = invoiceAccountOf(payerId);
    await this.ledger.post(tx, { walletId, amount, against: 'receipt', kind, ref: paymentId });
  }
}

const referenceTakenFault = (existing: InvoicePaymentRow | undefined) =>
  fault('conflict', {
    param: 'reference',
    message:
      existing === undefined || existing.undoneAt === null
        ? `A payment with this reference is recorded, of $${formatUsd(BigInt(existing?.amountNano ?? 0))}.`
        : 'A payment with this reference was recorded and undone. Give another reference.',
    details: { reason: 'reference' },
  });

const paymentOf = (row: InvoicePaymentRow): InvoicePayment => ({
  id: Number(row.id),
  reference: row.reference,
  amount: BigInt(row.amountNano),
  recordedAt: row.recordedAt,
  undoneAt: row.undoneAt,
});
