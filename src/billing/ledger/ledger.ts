import { Injectable } from '@nestjs/common';
import type { Nano } from '../../kernel';
import { Database, type TableRow, type Tx } from '../../platform';

/** The account on the other side of a posting. */
type Counterpart = 'processor' | 'promotion' | 'adjustment' | 'receipt';

export const postingKinds = [
  'top-up',
  'refund',
  'refund-failed',
  'dispute',
  'dispute-won',
  'adjustment',
  'promotion',
  'promotion-expired',
  'merge',
  'rerate',
  'invoice-payment',
  'invoice-payment-undone',
  'invoice-left',
] as const;

export type PostingKind = (typeof postingKinds)[number];

export interface Posting {
  /** Id of the user who pays from the wallet; negated for an account of invoices. */
  readonly walletId: number;
  /** Negative for refunds, disputes and corrections; the balance can fall below zero. */
  readonly amount: Nano;
  readonly against: Counterpart;
  /** Kind and reference are permanently unique together: a repeated posting changes nothing. */
  readonly kind: string;
  readonly ref: string;
}

export interface WalletState {
  /** Credits minus spending; negative if the wallet owes money. */
  readonly balance: Nano;
  readonly creditLimit: Nano;
  readonly spent: Nano;
  /** Amount that nodes hold for requests in flight. */
  readonly escrowed: Nano;
}

export interface LedgerLine {
  readonly transactionId: bigint;
  readonly kind: string;
  readonly ref: string;
  readonly at: Date;
  readonly amount: Nano;
}

type WalletRow = TableRow<'spending_window', 'limit_nano, spent, escrowed'> & {
  readonly creditLimit: string | null;
};

/** Moves money in and out of wallets, except for requests, which are settled in batches. */
@Injectable()
export class Ledger {
  constructor(private readonly database: Database) {}

  /** Returns false if the posting was made before. */
  async post(tx: Tx, posting: Posting): Promise<boolean> {
    if (posting.amount === 0n) throw new RangeError('a posting cannot be of nothing');
    const rows = await tx.query<{ posted: boolean }[]>('SELECT money_credit($1, $2, $3, $4, $5) AS posted', [
      posting.walletId,
      posting.amount.toString(),
      posting.against,
      posting.kind,
      posting.ref,
    ]);
    return rows[0]?.posted ?? false;
  }

  async wallet(walletId: number): Promise<WalletState> {
    const [row] = await this.database.rows<WalletRow>(
      `SELECT w.limit_nano, w.spent, w.escrowed, r.limit_nano AS credit_limit
         FROM spending_window w LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
        WHERE w.kind = 'wallet' AND w.owner_id = $1`,
      [walletId],
    );
    if (row === undefined) return { balance: 0n, creditLimit: 0n, spent: 0n, escrowed: 0n };
    const creditLimit = BigInt(row.creditLimit ?? 0);
    const spent = BigInt(row.spent);
    return {
      balance: BigInt(row.limitNano) - creditLimit - spent,
      creditLimit,
      spent,
      escrowed: BigInt(row.escrowed),
    };
  }

  /**
   * Lists the newest lines of a wallet without settlements of requests; `before` is the last line of the previous page.
   */
  async lines(walletId: number, limit: number, before?: bigint): Promise<LedgerLine[]> {
    const rows = await this.database.rows<
      TableRow<'ledger_transaction', 'kind, ref'> & { transactionId: string; at: Date; amount: string }
    >(
      `SELECT t.id AS transaction_id, t.kind, t.ref, t.created_at AS at, e.amount
         FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id AND e.is_posting
         JOIN ledger_transaction t ON t.id = e.transaction_id
        WHERE a.kind = 'wallet' AND a.owner_id = $1 AND ($3::bigint IS NULL OR t.id < $3)
        ORDER BY t.id DESC LIMIT $2`,
      [walletId, limit, before?.toString() ?? null],
    );
    return rows.map((row) => ({
      ...row,
      transactionId: BigInt(row.transactionId),
      amount: BigInt(row.amount),
    }));
  }
}
