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
  type Row,
  type Tx,
} from '../../platform';
import { Ledger } from './ledger';
import { Limits } from './limits';

export interface InvoiceState {
  /** The payer owes what was used and is not paid, billed or not; negative where more was paid. */
  readonly owed: Nano;
  /** So much may be owed. */
  readonly credit: Nano;
  /** Nodes hold it for requests in flight. */
  readonly escrowed: Nano;
}

/** An operator recorded this payment of a payer's invoices. */
export interface InvoicePayment {
  readonly id: number;
  /** The payer's, unique to the payment: by it a repetition is known. */
  readonly reference: string;
  readonly amount: Nano;
  readonly recordedAt: Date;
  /** It is null while the payment stands. */
  readonly undoneAt: Date | null;
}

type PaymentRow = Row<'invoice_payment'>;

const newestFirst = new Keyset([{ sql: 'id', kind: 'integer' }], 'descending');
const MOST_FORMER = 500;

/** Accounts of those who are billed by invoice: what they owe, may owe, and paid. */
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
   * An invoiced payer may owe up to the credit limit, else up to the lower of their budgets. Only where the
   * platform acts (`mayRaise`) do budgets give more than there was, since organisations set one of them.
   */
  async followCredit(tx: Tx, payerId: number, mayRaise: boolean): Promise<void> {
    const account = invoiceAccountOf(payerId);
    const rows = await readRows<Row<'spending_rule', 'owner_id, limit_nano'>>(
      tx,
      `SELECT owner_id, limit_nano FROM spending_rule WHERE kind = 'wallet' AND owner_id IN ($1, $2)`,
      [payerId, account],
    );
    const ruleOf = (id: number): Nano =>
      BigInt(rows.find((row) => row.ownerId === String(id))?.limitNano ?? 0);
    const limit = ruleOf(payerId);
    const former = ruleOf(account);
    const byBudget = await this.lowestBudget(tx, payerId);
    const bounded = mayRaise || byBudget < former ? byBudget : former;
    await this.setCredit(tx, payerId, limit > 0n ? limit : bounded);
  }

  /**
   * A payer who is billed by invoice no more owes nothing there: it becomes a debt of the wallet. Returns
   * what was owed.
   */
  async leave(tx: Tx, payerId: number): Promise<Nano> {
    await this.setCredit(tx, payerId, 0n);
    const [row] = await tx.query<{ moved: string }[]>('SELECT money_leave_invoices($1) AS moved', [payerId]);
    return -BigInt(row?.moved ?? 0);
  }

  /** It is null where the same payment was recorded before. */
  async record(tx: Tx, payerId: number, reference: string, amount: Nano): Promise<InvoicePayment | null> {
    const [made] = await readRows<PaymentRow>(
      tx,
      `INSERT INTO invoice_payment (payer_id, reference, amount_nano) VALUES ($1, $2, $3)
       ON CONFLICT (payer_id, reference) DO NOTHING RETURNING *`,
      [payerId, reference, amount.toString()],
    );
    if (made === undefined) {
      const [known] = await readRows<PaymentRow>(
        tx,
        'SELECT * FROM invoice_payment WHERE payer_id = $1 AND reference = $2',
        [payerId, reference],
      );
      if (known !== undefined && BigInt(known.amountNano) === amount && known.undoneAt === null) return null;
      throw referenceTaken(known);
    }
    await this.post(tx, payerId, 'invoice-payment', made.id, amount);
    return paymentOf(made);
  }

  /** A posting reverses it. It is null where the payment was undone before. */
  async undo(tx: Tx, payerId: number, paymentId: number): Promise<InvoicePayment | null> {
    const [found] = await readRows<PaymentRow>(
      tx,
      'SELECT * FROM invoice_payment WHERE id = $1 AND payer_id = $2 FOR NO KEY UPDATE',
      [paymentId, payerId],
    );
    if (found === undefined) throw fault('not_found', { param: 'payment_id' });
    if (found.undoneAt !== null) return null;
    await tx.query('UPDATE invoice_payment SET undone_at = clock_timestamp() WHERE id = $1', [paymentId]);
    await this.post(tx, payerId, 'invoice-payment-undone', found.id, -BigInt(found.amountNano));
    return paymentOf(found);
  }

  /** The newest first. */
  async payments(payerId: number, request: PageRequest): Promise<Page<InvoicePayment>> {
    const keyset = newestFirst.clause(request, 2);
    const rows = await this.database.rows<PaymentRow>(
      `SELECT *, ${newestFirst.positions} FROM invoice_payment
        WHERE payer_id = $1 AND ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
      [payerId, ...keyset.parameters],
    );
    const page = newestFirst.page(rows, request);
    return { ...page, rows: page.rows.map(paymentOf) };
  }

  /** A request in flight when its payer left the invoices is charged there all the same, and follows them here. */
  @RepeatingJob({ name: 'former-invoices', cron: '50 * * * * *' })
  async followFormer(): Promise<void> {
    const rows = await this.database.query<Row<'user_account', 'id'>>(
      `SELECT u.id FROM spending_window w JOIN user_account u ON u.id = -w.owner_id AND u.billing_type <> 'invoiced'
        LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
       WHERE w.kind = 'wallet' AND w.owner_id < 0 AND w.limit_nano - coalesce(r.limit_nano, 0) <> w.spent
       ORDER BY u.id LIMIT ${MOST_FORMER}`,
    );
    for (const { id } of rows) {
      const work = async (tx: Tx): Promise<void> => {
        const [still] = await tx.query<object[]>(
          `SELECT 1 FROM user_account WHERE id = $1 AND billing_type <> 'invoiced' FOR NO KEY UPDATE`,
          [id],
        );
        if (still !== undefined) await this.leave(tx, id);
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

const referenceTaken = (known: PaymentRow | undefined) =>
  fault('conflict', {
    param: 'reference',
    message:
      known === undefined || known.undoneAt === null
        ? `A payment with this reference is recorded, of $${formatUsd(BigInt(known?.amountNano ?? 0))}.`
        : 'A payment with this reference was recorded and undone. Give another reference.',
    details: { reason: 'reference' },
  });

const paymentOf = (row: PaymentRow): InvoicePayment => ({
  id: Number(row.id),
  reference: row.reference,
  amount: BigInt(row.amountNano),
  recordedAt: row.recordedAt,
  undoneAt: row.undoneAt,
});
