import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, systemActor } from '../../audit';
import { formatUsd, isUuid, nanoPerCent } from '../../kernel';
import { readRows, type Tx } from '../../platform';
import { Ledger, type PostingKind } from '../ledger/ledger';
import { remainingCredit } from '../top-up';
import { AutomaticFailures } from './automatic-failures';
import type { Fact } from './events';
import { type Payment, paymentOf, type PaymentRow } from './payments';
import { concernsOfWallet } from './wallet-concern';

/** Reason for rejecting a fact: it contradicts our order to the processor, or concerns no known payment. */
export type Problem = 'payment' | 'amount' | 'currency' | 'wallet' | 'customer' | 'mode';

export interface AppliedFact {
  readonly payment: Payment | null;
  readonly problem: Problem | null;
}

type PaymentFact = Exclude<Fact, { kind: 'cards' }>;

/**
 * Refunded amount of payment `p`, and the amount that a bank refused. Single refunds count, and so does a larger total
 * of the charge minus failed refunds: processors differ in whether the total includes them.
 */
export const REFUNDED = `
  SELECT greatest(coalesce(sum(r.amount_cents) FILTER (WHERE r.state = 'made'), 0),
           coalesce((SELECT c.refunded_cents FROM processor_charge c WHERE c.payment_intent_id = p.payment_intent_id), 0)
             - coalesce(sum(r.amount_cents) FILTER (WHERE r.state = 'failed'), 0)),
         coalesce(sum(r.amount_cents) FILTER (WHERE r.state = 'failed'), 0)
    FROM processor_refund r WHERE r.payment_intent_id = p.payment_intent_id`;

/** Disputed or lost amount of payment `p`: the full amount for a dispute in another currency. */
export const DISPUTED = `
  coalesce((SELECT sum(CASE WHEN d.currency <> p.currency THEN p.gross_cents ELSE d.amount_cents END) FROM processor_dispute d
    WHERE d.payment_intent_id = p.payment_intent_id AND d.state <> 'won'), 0)`;

/**
 * A dispute can be raised, and won after it was lost: the last observation counts, in whatever order it arrives. Facts
 * quarantined by an earlier version have no time.
 */
const STORE_DISPUTE = `
  INSERT INTO processor_dispute AS d (dispute_id, payment_intent_id, amount_cents, state, observed_at, movements, currency)
  VALUES ($1, $2, $3, $4, coalesce($5::bigint, 0), coalesce($6::integer, 0), $7)
  ON CONFLICT (dispute_id) DO UPDATE SET amount_cents = excluded.amount_cents, state = excluded.state,
      currency = excluded.currency, observed_at = excluded.observed_at, movements = excluded.movements
    WHERE (d.observed_at, d.movements, array_position(ARRAY['open', 'lost', 'won'], d.state), d.amount_cents)
        < (excluded.observed_at, excluded.movements,
           array_position(ARRAY['open', 'lost', 'won'], excluded.state), excluded.amount_cents)
  RETURNING dispute_id`;

interface PaymentPosting {
  readonly kind: PostingKind;
  readonly action: ActionName;
}

/**
 * Applies facts about payments from the processor. After each one the due credit is recomputed and the ledger gets the
 * difference, so that order and repetition do not matter.
 */
@Injectable()
export class PaymentFacts {
  constructor(
    private readonly ledger: Ledger,
    private readonly failures: AutomaticFailures,
    private readonly activity: ActivityLog,
  ) {}

  async apply(tx: Tx, fact: PaymentFact): Promise<AppliedFact> {
    // Facts of one charge are processed one at a time, even before its owner is known.
    if (fact.intentId !== null) await lockIntent(tx, fact.intentId);
    const payment = await this.find(tx, fact);
    const problem = payment === null ? null : await findMismatch(tx, payment, fact);
    if (problem !== null) return { payment, problem };
    if (payment === null && isOfOtherApplication(fact)) return { payment, problem: 'payment' };
    const isNew = await this.store(tx, fact);
    if (payment === null) return { payment, problem: 'payment' };
    await this.updatePayment(tx, payment, fact);
    const settled = await this.settle(tx, payment);
    if (fact.kind === 'dispute' && isNew) await this.recordDispute(tx, payment, settled, fact.state);
    return { payment: settled, problem: null };
  }

  /**
   * Stores refunds and disputes, which can arrive before their payment. Returns false if a newer dispute state was
   * stored already.
   */
  private async store(tx: Tx, fact: PaymentFact): Promise<boolean> {
    if (fact.kind === 'charge') {
      await tx.query(
        `INSERT INTO processor_charge AS c (payment_intent_id, refunded_cents) VALUES ($1, $2)
         ON CONFLICT (payment_intent_id) DO UPDATE SET refunded_cents = greatest(c.refunded_cents, excluded.refunded_cents)`,
        [fact.intentId, fact.refundedCents],
      );
    } else if (fact.kind === 'refund') {
      await tx.query(
        `INSERT INTO processor_refund AS r (refund_id, payment_intent_id, amount_cents, state) VALUES ($1, $2, $3, $4)
         ON CONFLICT (refund_id) DO UPDATE SET state = excluded.state WHERE r.state = 'made'`,
        [fact.refundId, fact.intentId, fact.amountCents, fact.state],
      );
    } else if (fact.kind === 'dispute') {
      const stored = await tx.query<object[]>(STORE_DISPUTE, [
        fact.disputeId,
        fact.intentId,
        fact.amountCents,
        fact.state,
        fact.observedAt,
        fact.movements,
        fact.currency,
      ]);
      return stored.length > 0;
    }
    return true;
  }

  private async find(tx: Tx, fact: PaymentFact): Promise<Payment | null> {
    const [where, values] = identification(fact);
    const [row] = await readRows<PaymentRow>(
      tx,
      `SELECT * FROM payment WHERE ${where} ORDER BY id LIMIT 1 FOR NO KEY UPDATE`,
      values,
    );
    return row === undefined ? null : paymentOf(row);
  }

  private async updatePayment(tx: Tx, payment: Payment, fact: PaymentFact): Promise<void> {
    if (fact.kind !== 'session' && fact.kind !== 'intent') return;
    const isPaid = fact.state === 'paid';
    // A refused attempt says nothing about the attempt that pays.
    const intentId = fact.state === 'refused' ? null : fact.intentId;
    await tx.query(
      `UPDATE payment SET payment_intent_id = coalesce(payment_intent_id, $2), session_id = coalesce(session_id, $3),
              state = CASE WHEN $4 THEN 'paid' ELSE state END,
              paid_at = CASE WHEN $4 THEN coalesce(paid_at, clock_timestamp()) ELSE paid_at END
        WHERE id = $1`,
      [payment.id, intentId, fact.kind === 'session' ? fact.sessionId : null, isPaid],
    );
    if (isPaid) await this.failures.resetFailures(tx, payment);
    else if (fact.kind === 'intent') await this.refuse(tx, payment, fact.failureCode ?? 'refused');
    else if (fact.state !== 'open') await this.end(tx, payment, fact.state);
  }

  /** A checkout stays open after a card was refused: the user can try another. */
  private async refuse(tx: Tx, payment: Payment, code: string): Promise<void> {
    if (payment.kind === 'automatic') {
      await this.failures.fail(tx, payment, code);
      return;
    }
    await tx.query(`UPDATE payment SET failure_code = $2 WHERE id = $1 AND state = 'open'`, [
      payment.id,
      code.slice(0, 100),
    ]);
    await this.record(tx, 'billing.payment-failed', payment, { failure: [null, code] });
  }

  private async end(tx: Tx, payment: Payment, state: 'failed' | 'expired'): Promise<void> {
    const [ended] = await tx.query<[object[], number]>(
      `UPDATE payment SET state = $2 WHERE id = $1 AND state = 'open' RETURNING id`,
      [payment.id, state],
    );
    if (ended.length === 0 || state === 'expired') return;
    await this.record(tx, 'billing.payment-failed', payment, { failure: [null, state] });
  }

  /** Computes the due credit and posts the difference to the current credit. */
  private async settle(tx: Tx, previous: Payment): Promise<Payment> {
    const [row] = await readRows<PaymentRow>(
      tx,
      `UPDATE payment p SET
          (refunded_cents, failed_refund_cents) = (${REFUNDED}),
          disputed_cents = ${DISPUTED}
        WHERE id = $1 RETURNING p.*`,
      [previous.id],
    );
    if (row === undefined) throw new Error('a payment that is locked cannot be gone');
    const payment = paymentOf(row);
    const dueCredit =
      payment.state === 'paid'
        ? remainingCredit(payment.netCents, payment.grossCents, payment.refundedCents + payment.disputedCents)
        : 0n;
    const difference = dueCredit - payment.creditedNano;
    if (difference !== 0n) await this.post(tx, payment, difference, dueCredit, previous);
    if (payment.intentId !== null) await resolveEarlierEvents(tx, payment);
    return { ...payment, creditedNano: dueCredit };
  }

  private async post(
    tx: Tx,
    payment: Payment,
    amount: bigint,
    dueCredit: bigint,
    previous: Payment,
  ): Promise<void> {
    const { kind, action } = postingOf(payment, previous, amount);
    const ref = `payment:${payment.publicId}:${payment.postings + 1}`;
    const isPosted = await this.ledger.post(tx, {
      walletId: payment.holderId,
      amount,
      against: 'processor',
      kind,
      ref,
    });
    if (!isPosted) throw new Error(`the ledger has ${kind} ${ref} already, and the payment does not know`);
    await tx.query('UPDATE payment SET credited_nano = $2, postings = postings + 1 WHERE id = $1', [
      payment.id,
      dueCredit.toString(),
    ]);
    await this.record(tx, action, payment, {
      credit_usd: [formatUsd(payment.creditedNano), formatUsd(dueCredit)],
    });
  }

  private async recordDispute(
    tx: Tx,
    previous: Payment,
    { disputedCents }: Payment,
    state: 'open' | 'won' | 'lost',
  ): Promise<void> {
    if (state === 'open' && previous.disputedCents === disputedCents) return;
    await this.record(tx, state === 'open' ? 'billing.dispute-opened' : 'billing.dispute-closed', previous, {
      disputed_usd: [usdOf(previous.disputedCents), usdOf(disputedCents)],
      outcome: [null, state],
    });
  }

  private async record(
    tx: Tx,
    action: ActionName,
    payment: Payment,
    changes: Record<string, [string | null, string]>,
  ): Promise<void> {
    await this.activity.write(tx, {
      action,
      actor: systemActor('payment processor'),
      object: { type: 'payment', id: payment.id, label: `${usdOf(payment.netCents)} USD` },
      concerns: await concernsOfWallet(tx, payment.holderId),
      changes,
    });
  }
}

const usdOf = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

const lockIntent = (tx: Tx, intentId: string): Promise<unknown> =>
  tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('payment intent ' || $1, 0))`, [intentId]);

/** Our orders name their wallet. A refund or dispute is recognised as ours only by its payment. */
export const isOfOtherApplication = (fact: Fact): boolean =>
  (fact.kind === 'session' || fact.kind === 'intent' || fact.kind === 'charge') && fact.wallet === null;

const uuidOrNull = (text: string | null): string | null => (isUuid(text) ? text : null);

function identification(fact: PaymentFact): [where: string, values: unknown[]] {
  switch (fact.kind) {
    case 'session':
      return [
        '(session_id = $1 OR (session_id IS NULL AND public_id = $2))',
        [fact.sessionId, uuidOrNull(fact.reference)],
      ];
    case 'intent':
      return [
        '(payment_intent_id = $1 OR (payment_intent_id IS NULL AND public_id = $2))',
        [fact.intentId, uuidOrNull(fact.reference)],
      ];
    case 'charge':
    case 'refund':
    case 'dispute':
      return ['payment_intent_id = $1', [fact.intentId]];
  }
}

/** Returns why an event does not match our order: its charge, amount, currency, customer or wallet. */
async function findMismatch(tx: Tx, payment: Payment, fact: PaymentFact): Promise<Problem | null> {
  // A dispute can exceed its charge, or be in the currency of the bank. At most the credit is taken.
  if (fact.kind === 'dispute') return null;
  if (fact.currency !== payment.currency) return 'currency';
  if (fact.kind === 'refund') return BigInt(fact.amountCents) > payment.grossCents ? 'amount' : null;
  if (fact.amountCents === null || BigInt(fact.amountCents) !== payment.grossCents) return 'amount';
  if (fact.kind === 'charge') return BigInt(fact.refundedCents) > payment.grossCents ? 'amount' : null;
  if (fact.wallet !== String(payment.walletId)) return 'wallet';
  if (payment.intentId !== null && fact.intentId !== null && payment.intentId !== fact.intentId)
    return 'payment';
  // A checkout might have been started with a customer who was deleted and replaced since.
  const accounts = await tx.query<object[]>(
    `SELECT FROM billing_account WHERE wallet_id = $1
        AND (customer_id IS NOT DISTINCT FROM $2 OR $2 = ANY (former_customers))`,
    [payment.walletId, fact.customerId],
  );
  return accounts.length > 0 ? null : 'customer';
}

function postingOf(payment: Payment, previous: Payment, difference: bigint): PaymentPosting {
  if (difference > 0n && payment.postings === 0) return { kind: 'top-up', action: 'billing.topped-up' };
  if (payment.refundedCents < previous.refundedCents)
    return { kind: 'refund-failed', action: 'billing.refund-failed' };
  if (difference > 0n) return { kind: 'dispute-won', action: 'billing.dispute-closed' };
  return payment.disputedCents > previous.disputedCents
    ? { kind: 'dispute', action: 'billing.dispute-opened' }
    : { kind: 'refund', action: 'billing.refunded' };
}

const resolveEarlierEvents = (tx: Tx, payment: Payment): Promise<unknown> =>
  tx.query(
    `UPDATE processor_event SET outcome = 'applied', problem = NULL, payment_id = $2
      WHERE outcome IN ('quarantined', 'ignored') AND problem = 'payment' AND payment_intent_id = $1
        AND (type LIKE 'charge.%' OR type LIKE 'refund.%') AND resolved_at IS NULL`,
    [payment.intentId, payment.id],
  );
