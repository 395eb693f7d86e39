import { Injectable } from '@nestjs/common';
import { fault, formatUsd, nanoPerCent, uuidv7 } from '../../kernel';
import { Database, readRows, type TableRow, type Tx } from '../../platform';
import { type Payment, paymentOf, type PaymentRow } from './payments';

/** The processor keeps idempotency keys for at least a day; an older order without a response was never executed. */
const GIVE_UP_AFTER_HOURS = 20;

export interface RefundOrder {
  readonly id: string;
  readonly payment: Payment;
  readonly intentId: string;
  readonly amountCents: bigint;
  /** False if the form of an order without a response was sent again. */
  readonly isNew: boolean;
}

type RefundOrderRow = TableRow<'refund_order'> & { readonly isOld: boolean };

/**
 * Refunds ordered by operators. An order without a response might have been executed, so the payment accepts no other
 * order until the form is sent again under the same idempotency key.
 */
@Injectable()
export class RefundOrders {
  constructor(private readonly database: Database) {}

  /** Returns the order of this form; null if it was executed before. Without an amount it covers the complete rest. */
  async place(tx: Tx, publicId: string, cents: bigint | null, token: string): Promise<RefundOrder | null> {
    const payment = await lockPayment(tx, publicId);
    const { intentId } = payment;
    const [existing] = await readRows<RefundOrderRow>(
      tx,
      `SELECT *, created_at < now() - interval '${GIVE_UP_AFTER_HOURS} hours' AS is_old FROM refund_order
        WHERE payment_id = $1 AND (state = 'open' OR (state = 'made' AND token = $2)) ORDER BY token = $2 DESC LIMIT 1`,
      [payment.id, token],
    );
    const state = existing === undefined ? null : await currentState(tx, existing, payment);
    if (existing !== undefined && state === 'made' && existing.token === token) return null;
    const remainingCents = payment.state === 'paid' ? payment.grossCents - payment.refundedCents : 0n;
    const requestedCents = cents ?? remainingCents;
    if (intentId === null || remainingCents <= 0n || requestedCents > remainingCents) {
      throw fault('conflict', {
        message: `Of this payment ${usd(remainingCents)} US dollars can be given back.`,
      });
    }
    if (existing !== undefined && state === 'open') {
      const amountCents = BigInt(existing.amountCents);
      if (existing.token !== token || amountCents !== requestedCents) throw unansweredFault(amountCents);
      return { id: existing.id, payment, intentId, amountCents, isNew: false };
    }
    const id = uuidv7();
    await tx.query(
      `INSERT INTO refund_order (id, token, payment_id, amount_cents, total_after_cents) VALUES ($1, $2, $3, $4, $5)`,
      [
        id,
        token,
        payment.id,
        requestedCents.toString(),
        (totalRefundedCents(payment) + requestedCents).toString(),
      ],
    );
    return { id, payment, intentId, amountCents: requestedCents, isNew: true };
  }

  async close({ id }: RefundOrder, state: 'made' | 'refused'): Promise<void> {
    await this.database.query(`UPDATE refund_order SET state = $2 WHERE id = $1 AND state = 'open'`, [
      id,
      state,
    ]);
  }
}

/** Total of the refunds of a payment, including those that the bank refused; never falls. */
const totalRefundedCents = ({ refundedCents, failedRefundCents }: Payment): bigint =>
  refundedCents + failedRefundCents;

const usd = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

/** Closes an open order if its events arrived meanwhile, or if it is too old to be executed. */
async function currentState(
  tx: Tx,
  { id, state, totalAfterCents: totalAfter, isOld }: RefundOrderRow,
  payment: Payment,
): Promise<'open' | 'made' | 'unanswered'> {
  if (state === 'made') return state;
  const isMade = totalRefundedCents(payment) >= BigInt(totalAfter);
  if (!isMade && !isOld) return 'open';
  const settled = isMade ? 'made' : 'unanswered';
  await tx.query('UPDATE refund_order SET state = $2 WHERE id = $1', [id, settled]);
  return settled;
}

async function lockPayment(tx: Tx, publicId: string): Promise<Payment> {
  const [row] = await readRows<PaymentRow>(
    tx,
    'SELECT * FROM payment WHERE public_id = $1 FOR NO KEY UPDATE',
    [publicId],
  );
  if (row === undefined) throw fault('not_found');
  return paymentOf(row);
}

function unansweredFault(cents: bigint): Error {
  const amount = usd(cents);
  return fault('conflict', {
    message: `A refund of ${amount} US dollars was ordered and is not answered yet. Reload the page and order it again.`,
    details: { reason: 'refund-unanswered', amount },
  });
}
