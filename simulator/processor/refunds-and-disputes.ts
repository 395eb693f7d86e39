import { type AccountStore, notFound, newId, now, type ProcessorObject } from './account-store';
import { invalid } from './parameters';

/** Refunds and disputes of an account. */
export class RefundsAndDisputes {
  constructor(private readonly books: AccountStore) {}

  refund(intentId: string, amount?: number, reason?: string): ProcessorObject {
    const charge = this.books.chargeOf(intentId);
    const refundable = Number(charge['amount']) - Number(charge['amount_refunded']);
    const refundedAmount = amount ?? refundable;
    if (this.isChargedBack(intentId))
      throw invalid('The bank has taken this payment.', 'payment_intent', 'refund_disputed_payment');
    if (refundable === 0)
      throw invalid('Nothing is left of this charge.', 'amount', 'charge_already_refunded');
    if (refundedAmount > refundable) throw invalid('More than is left of this charge.', 'amount');
    charge['amount_refunded'] = Number(charge['amount_refunded']) + refundedAmount;
    charge['refunded'] = charge['amount_refunded'] === charge['amount'];
    this.books.emit('charge.refunded', charge);
    const createdRefund = this.books.store(this.books.refunds, ['refund', 're'], {
      amount: refundedAmount,
      payment_intent: intentId,
      charge: charge.id,
      currency: charge['currency'],
      customer: charge['customer'],
      reason: reason ?? null,
      status: 'succeeded',
    });
    this.books.emit('refund.created', createdRefund);
    return createdRefund;
  }

  /** The bank returns the refund days later. Events differ in whether the charge's refunded total decreases. */
  failRefund(id: string, isTotalReduced: boolean): void {
    const refund = this.books.refunds.get(id);
    if (refund === undefined) throw notFound('refund');
    refund['status'] = 'failed';
    refund['failure_reason'] = 'expired_or_canceled_card';
    const charge = this.books.chargeOf(String(refund['payment_intent']));
    if (isTotalReduced)
      charge['amount_refunded'] = Number(charge['amount_refunded']) - Number(refund['amount']);
    charge['refunded'] = charge['amount_refunded'] === charge['amount'];
    this.books.emit('refund.updated', refund);
    this.books.emit('refund.failed', refund);
    this.books.emit('charge.refund.updated', refund);
  }

  dispute(intentId: string, amount?: number): ProcessorObject {
    const dispute = this.newDispute(intentId, amount, 'needs_response');
    this.move(dispute, -Number(dispute['amount']));
    this.books.emit('charge.dispute.created', dispute);
    this.books.emit('charge.dispute.funds_withdrawn', dispute);
    return dispute;
  }

  /** Opens an inquiry, which withdraws no money. */
  inquire(intentId: string): ProcessorObject {
    const dispute = this.newDispute(intentId, undefined, 'warning_needs_response');
    dispute['is_charge_refundable'] = true;
    this.books.emit('charge.dispute.created', dispute);
    return dispute;
  }

  /** An inquiry becomes a dispute with the same id, and the money is withdrawn. */
  escalate(id: string): void {
    const dispute = this.requireDispute(id);
    Object.assign(dispute, { status: 'needs_response', is_charge_refundable: false });
    this.move(dispute, -Number(dispute['amount']));
    this.books.emit('charge.dispute.updated', dispute);
    this.books.emit('charge.dispute.funds_withdrawn', dispute);
  }

  /** The bank increases the disputed amount. */
  increaseDispute(id: string, amount: number): void {
    const dispute = this.requireDispute(id);
    this.move(dispute, Number(dispute['amount']) - amount);
    dispute['amount'] = amount;
    this.books.emit('charge.dispute.updated', dispute);
    this.books.emit('charge.dispute.funds_withdrawn', dispute);
  }

  /** A lost dispute is reopened. */
  reopenDispute(id: string): void {
    const dispute = this.requireDispute(id);
    dispute['status'] = 'appeal_under_review';
    this.books.emit('charge.dispute.updated', dispute);
  }

  closeInquiry(id: string): void {
    const dispute = this.requireDispute(id);
    dispute['status'] = 'warning_closed';
    this.books.emit('charge.dispute.closed', dispute);
  }

  closeDispute(id: string, outcome: 'won' | 'lost'): void {
    const dispute = this.requireDispute(id);
    dispute['status'] = outcome;
    if (outcome === 'won') this.move(dispute, Number(dispute['amount']));
    this.books.emit('charge.dispute.closed', dispute);
    if (outcome === 'won') this.books.emit('charge.dispute.funds_reinstated', dispute);
  }

  private newDispute(intentId: string, amount: number | undefined, status: string): ProcessorObject {
    const charge = this.books.chargeOf(intentId);
    charge['disputed'] = true;
    return this.books.store(this.books.disputes, ['dispute', 'du'], {
      amount: amount ?? charge['amount'],
      currency: charge['currency'],
      charge: charge.id,
      payment_intent: intentId,
      status,
      reason: 'fraudulent',
    });
  }

  private isChargedBack(intentId: string): boolean {
    return [...this.books.disputes.values()].some(
      (candidate) => candidate['payment_intent'] === intentId && candidate['is_charge_refundable'] === false,
    );
  }

  private requireDispute(id: string): ProcessorObject {
    const dispute = this.books.disputes.get(id);
    if (dispute === undefined) throw notFound('dispute');
    return dispute;
  }

  /** Adds a balance transaction for each movement of a dispute's money. */
  private move(dispute: ProcessorObject, amount: number): void {
    const entry = {
      id: newId('txn'),
      object: 'balance_transaction',
      amount,
      available_on: now(),
      balance_type: 'payments',
      created: now(),
      currency: dispute['currency'],
      description: null,
      exchange_rate: null,
      fee: 0,
      fee_details: [],
      net: amount,
      reporting_category: amount < 0 ? 'dispute' : 'dispute_reversal',
      source: dispute.id,
      status: 'available',
      type: 'adjustment',
    };
    dispute['balance_transactions'] = [...(dispute['balance_transactions'] as object[]), entry];
  }
}
