import { Injectable } from '@nestjs/common';
import {
  Database,
  everyRow,
  Keyset,
  type Page,
  type PageRequest,
  type TableRow,
  type Tx,
} from '../../platform';
import type { TopUpCents } from '../top-up';

export type PaymentStatus = PaymentRow['state'] | 'partially_refunded' | 'refunded' | 'disputed';

export interface Payment {
  readonly id: string;
  readonly publicId: string;
  readonly walletId: number;
  /** Wallet that holds the credit; a different one after a merge of organisations. */
  readonly holderId: number;
  readonly kind: PaymentRow['kind'];
  readonly state: PaymentRow['state'];
  readonly status: PaymentStatus;
  readonly live: boolean;
  readonly currency: string;
  readonly netCents: bigint;
  readonly feeCents: bigint;
  readonly grossCents: bigint;
  readonly refundedCents: bigint;
  /** Refunds that the bank refused, possibly days later. */
  readonly failedRefundCents: bigint;
  readonly disputedCents: bigint;
  readonly creditedNano: bigint;
  readonly postings: number;
  readonly sessionId: string | null;
  readonly intentId: string | null;
  readonly failureCode: string | null;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
}

export interface OwnedPayment {
  readonly payment: Payment;
  readonly email: string;
  /** Token of a refund order without a response, which the next form repeats; null if there is none. */
  readonly refundToken: string | null;
}

export type PaymentRow = TableRow<'payment'>;

export interface NewPayment {
  readonly publicId: string;
  readonly walletId: number;
  readonly kind: PaymentRow['kind'];
  readonly live: boolean;
  readonly amount: TopUpCents;
  readonly startedBy: number | null;
  /** Card to charge, if the customer does not choose it on the processor's page. */
  readonly methodId?: number;
}

const PAGE_SIZE = 1_000;
const newestFirst = new Keyset([{ sql: 'id', kind: 'integer' }], 'descending');
const newestOfAll = new Keyset([{ sql: 'p.id', kind: 'integer' }], 'descending');

@Injectable()
export class Payments {
  constructor(private readonly database: Database) {}

  async add(tx: Tx, payment: NewPayment): Promise<void> {
    const { net, fee, gross } = payment.amount;
    await tx.query(
      `INSERT INTO payment (public_id, wallet_id, kind, live_mode, net_cents, fee_cents, gross_cents, started_by, method_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        payment.publicId,
        payment.walletId,
        payment.kind,
        payment.live,
        net.toString(),
        fee.toString(),
        gross.toString(),
        payment.startedBy,
        payment.methodId ?? null,
      ],
    );
  }

  async linkSession(publicId: string, sessionId: string): Promise<void> {
    await this.database.query(
      'UPDATE payment SET session_id = $2 WHERE public_id = $1 AND session_id IS NULL',
      [publicId, sessionId],
    );
  }

  async linkIntent(id: string, intentId: string): Promise<void> {
    await this.database.query(
      'UPDATE payment SET payment_intent_id = $2 WHERE id = $1 AND payment_intent_id IS NULL',
      [id, intentId],
    );
  }

  async handOver(tx: Tx, from: number, to: number): Promise<void> {
    await tx.query(
      `UPDATE payment SET holder_wallet_id = $2
        WHERE (wallet_id = $1 AND holder_wallet_id IS NULL) OR holder_wallet_id = $1`,
      [from, to],
    );
  }

  /** Marks a payment as failed that never reached the processor, so nothing was charged. */
  async abandon(publicId: string, code: string): Promise<void> {
    await this.database.query(
      `UPDATE payment SET state = 'failed', failure_code = $2 WHERE public_id = $1 AND state = 'open'`,
      [publicId, code],
    );
  }

  async page(walletId: number, request: PageRequest): Promise<Page<Payment>> {
    const keyset = newestFirst.clause(request, 2);
    const rows = await this.database.rows<PaymentRow>(
      `SELECT *, ${newestFirst.positions} FROM payment WHERE wallet_id = $1 AND ${keyset.where}
        ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
      [walletId, ...keyset.parameters],
    );
    const page = newestFirst.page(rows, request);
    return { ...page, rows: page.rows.map(paymentOf) };
  }

  all(walletId: number, limit: number): AsyncGenerator<Payment> {
    return everyRow(limit, PAGE_SIZE, (page) => this.page(walletId, page));
  }

  /**
   * Searches payments of all wallets, the newest first. The query matches part of the owner's email, the owner's
   * number, or an id of the payment here or at the processor.
   */
  async search(query: string, request: PageRequest): Promise<Page<OwnedPayment>> {
    const keyset = newestOfAll.clause(request, 2);
    const rows = await this.database.rows<PaymentRow & Omit<OwnedPayment, 'payment'>>(
      `SELECT p.*, u.email, ${newestOfAll.positions},
              (SELECT o.token FROM refund_order o WHERE o.payment_id = p.id AND o.state = 'open'
                AND p.refunded_cents + p.failed_refund_cents < o.total_after_cents) AS refund_token
         FROM payment p JOIN user_account u ON u.id = p.wallet_id
        WHERE ($1 = '' OR strpos(lower(u.email), lower($1)) > 0 OR u.id::text = $1
            OR p.public_id::text = lower($1) OR p.payment_intent_id = $1)
          AND ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
      [query, ...keyset.parameters],
    );
    const page = newestOfAll.page(rows, request);
    return {
      ...page,
      rows: page.rows.map(({ email, refundToken, ...row }) => ({
        payment: paymentOf(row),
        email,
        refundToken,
      })),
    };
  }

  /** Returns payments of one mode that were paid, or otherwise started, since the instant. */
  async listSince(instant: Date, live: boolean, limit: number): Promise<Payment[]> {
    const rows = await this.database.rows<PaymentRow>(
      `SELECT * FROM payment WHERE coalesce(paid_at, created_at) >= $1 AND live_mode = $2
        ORDER BY id DESC LIMIT $3`,
      [instant, live, limit],
    );
    return rows.map(paymentOf);
  }

  async findByPublicId(publicId: string): Promise<Payment | null> {
    const [row] = await this.database.rows<PaymentRow>('SELECT * FROM payment WHERE public_id = $1', [
      publicId,
    ]);
    return row === undefined ? null : paymentOf(row);
  }
}

export function paymentOf(row: PaymentRow): Payment {
  const amounts = {
    netCents: BigInt(row.netCents),
    feeCents: BigInt(row.feeCents),
    grossCents: BigInt(row.grossCents),
    refundedCents: BigInt(row.refundedCents),
    failedRefundCents: BigInt(row.failedRefundCents),
    disputedCents: BigInt(row.disputedCents),
  };
  return {
    ...row,
    ...amounts,
    holderId: row.holderWalletId ?? row.walletId,
    status: row.state === 'paid' ? statusOf(amounts) : row.state,
    live: row.liveMode,
    creditedNano: BigInt(row.creditedNano),
    intentId: row.paymentIntentId,
  };
}

function statusOf({
  grossCents,
  refundedCents,
  disputedCents,
}: Pick<Payment, 'grossCents' | 'refundedCents' | 'disputedCents'>): PaymentStatus {
  if (disputedCents > 0n) return 'disputed';
  if (refundedCents === 0n) return 'paid';
  return refundedCents >= grossCents ? 'refunded' : 'partially_refunded';
}
