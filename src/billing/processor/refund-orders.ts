import { Injectable } from '@nestjs/common';
import { fault, formatUsd, nanoPerCent, uuidv7 } from '../../kernel';
import { Database, readRows, type Row, type Tx } from '../../platform';
import { type Payment, paymentOf, type PaymentRow } from './payments';

/** The processor keeps idempotency keys for at least a day; an older unanswered order was never carried out. */
const GIVE_UP_AFTER_HOURS = 20;

export interface RefundOrder {
  readonly id: string;
  readonly payment: Payment;
  readonly intentId: string;
  readonly amountCents: bigint;
  /** False if the form of an unanswered order was sent again. */
  readonly isNew: boolean;
}

type OrderRow = Row<'refund_order'> & { readonly isOld: boolean };

/**
 * Refunds as operators order them. An order without an answer may have been carried out. The payment takes no other
 * order until the same form was sent again, under the same idempotency key.
 */
@Injectable()
export class RefundOrders {
  constructor(private readonly database: Database) {}

  /** The order of this form; null where it was carried out before. Without an amount it is the whole rest. */
  async place(tx: Tx, publicId: string, cents: bigint | null, token: string): Promise<RefundOrder | null> {
    const payment = await locked(tx, publicId);
    const { intentId } = payment;
    const [known] = await readRows<OrderRow>(
      tx,
      `SELECT *, created_at < now() - interval '${GIVE_UP_AFTER_HOURS} hours' AS is_old FROM refund_order
        WHERE payment_id = $1 AND (state = 'open' OR (state = 'made' AND token = $2)) ORDER BY token = $2 DESC LIMIT 1`,
      [payment.id, token],
    );
    const state = known === undefined ? null : await settledState(tx, known, payment);
    if (known !== undefined && state === 'made' && known.token === token) return null;
    const left = payment.state === 'paid' ? payment.grossCents - payment.refundedCents : 0n;
    const wanted = cents ?? left;
    if (intentId === null || left <= 0n || wanted > left) {
      throw fault('conflict', { message: `Of this payment ${usd(left)} US dollars can be given back.` });
    }
    if (known !== undefined && state === 'open') {
      const amountCents = BigInt(known.amountCents);
      if (known.token !== token || amountCents !== wanted) throw unanswered(amountCents);
      return { id: known.id, payment, intentId, amountCents, isNew: false };
    }
    const id = uuidv7();
    await tx.query(
      `INSERT INTO refund_order (id, token, payment_id, amount_cents, total_after_cents) VALUES ($1, $2, $3, $4, $5)`,
      [id, token, payment.id, wanted.toString(), (takenBack(payment) + wanted).toString()],
    );
    return { id, payment, intentId, amountCents: wanted, isNew: true };
  }

  async close({ id }: RefundOrder, state: 'made' | 'refused'): Promise<void> {
    await this.database.query(`UPDATE refund_order SET state = $2 WHERE id = $1 AND state = 'open'`, [
      id,
      state,
    ]);
  }
}

/** Refunds of a payment, those that the bank refused among them: never falls. */
const takenBack = ({ refundedCents, failedRefundCents }: Payment): bigint =>
  refundedCents + failedRefundCents;

const usd = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

/** An open order is closed where its events came meanwhile, or where it is too old to be carried out yet. */
async function settledState(
  tx: Tx,
  { id, state, totalAfterCents: totalAfter, isOld }: OrderRow,
  payment: Payment,
): Promise<'open' | 'made' | 'unanswered'> {
  if (state === 'made') return state;
  const isMade = takenBack(payment) >= BigInt(totalAfter);
  if (!isMade && !isOld) return 'open';
  const settled = isMade ? 'made' : 'unanswered';
  await tx.query('UPDATE refund_order SET state = $2 WHERE id = $1', [id, settled]);
  return settled;
}

async function locked(tx: Tx, publicId: string): Promise<Payment> {
  const [row] = await readRows<PaymentRow>(
    tx,
    'SELECT * FROM payment WHERE public_id = $1 FOR NO KEY UPDATE',
    [publicId],
  );
  if (row === undefined) throw fault('not_found');
  return paymentOf(row);
}

function unanswered(cents: bigint): Error {
  const amount = usd(cents);
  return fault('conflict', {
    message: `A refund of ${amount} US dollars was ordered and is not answered yet. Reload the page and order it again.`,
    details: { reason: 'refund-unanswered', amount },
  });
}
