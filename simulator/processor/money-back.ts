import { type AccountBooks, missing, newId, now, type Stored } from './books';
import { invalid } from './parameters';

/** Money that goes back: refunds, and what banks take in disputes. */
export class MoneyBack {
  constructor(private readonly books: AccountBooks) {}

  refund(intentId: string, amount?: number, reason?: string): Stored {
    const charge = this.books.chargeOf(intentId);
    const left = Number(charge['amount']) - Number(charge['amount_refunded']);
    const refunded = amount ?? left;
    if (this.isChargedBack(intentId))
      throw invalid('The bank has taken this payment.', 'payment_intent', 'refund_disputed_payment');
    if (left === 0) throw invalid('Nothing is left of this charge.', 'amount', 'charge_already_refunded');
    if (refunded > left) throw invalid('More than is left of this charge.', 'amount');
    charge['amount_refunded'] = Number(charge['amount_refunded']) + refunded;
    charge['refunded'] = charge['amount_refunded'] === charge['amount'];
    this.books.emit('charge.refunded', charge);
    const made = this.books.keep(this.books.refunds, ['refund', 're'], {
      amount: refunded,
      payment_intent: intentId,
      charge: charge.id,
      currency: charge['currency'],
      customer: charge['customer'],
      reason: reason ?? null,
      status: 'succeeded',
    });
    this.books.emit('refund.created', made);
    return made;
  }

  /** The bank returns the refund days later. Events differ in whether the charge's total falls. */
  failRefund(id: string, isTakenOff: boolean): void {
    const refund = this.books.refunds.get(id);
    if (refund === undefined) throw missing('refund');
    refund['status'] = 'failed';
    refund['failure_reason'] = 'expired_or_canceled_card';
    const charge = this.books.chargeOf(String(refund['payment_intent']));
    if (isTakenOff) charge['amount_refunded'] = Number(charge['amount_refunded']) - Number(refund['amount']);
    charge['refunded'] = charge['amount_refunded'] === charge['amount'];
    this.books.emit('refund.updated', refund);
    this.books.emit('refund.failed', refund);
    this.books.emit('charge.refund.updated', refund);
  }

  dispute(intentId: string, amount?: number): Stored {
    const dispute = this.newDispute(intentId, amount, 'needs_response');
    this.move(dispute, -Number(dispute['amount']));
    this.books.emit('charge.dispute.created', dispute);
    this.books.emit('charge.dispute.funds_withdrawn', dispute);
    return dispute;
  }

  /** The bank asks first, and takes no money. */
  inquire(intentId: string): Stored {
    const dispute = this.newDispute(intentId, undefined, 'warning_needs_response');
    dispute['is_charge_refundable'] = true;
    this.books.emit('charge.dispute.created', dispute);
    return dispute;
  }

  /** An inquiry becomes a dispute under the same id, and its money is withdrawn. */
  escalate(id: string): void {
    const dispute = this.disputed(id);
    Object.assign(dispute, { status: 'needs_response', is_charge_refundable: false });
    this.move(dispute, -Number(dispute['amount']));
    this.books.emit('charge.dispute.updated', dispute);
    this.books.emit('charge.dispute.funds_withdrawn', dispute);
  }

  /** The bank takes more than at first. */
  raise(id: string, amount: number): void {
    const dispute = this.disputed(id);
    this.move(dispute, Number(dispute['amount']) - amount);
    dispute['amount'] = amount;
    this.books.emit('charge.dispute.updated', dispute);
    this.books.emit('charge.dispute.funds_withdrawn', dispute);
  }

  /** A lost dispute is taken up once more. */
  appeal(id: string): void {
    const dispute = this.disputed(id);
    dispute['status'] = 'appeal_under_review';
    this.books.emit('charge.dispute.updated', dispute);
  }

  closeInquiry(id: string): void {
    const dispute = this.disputed(id);
    dispute['status'] = 'warning_closed';
    this.books.emit('charge.dispute.closed', dispute);
  }

  closeDispute(id: string, outcome: 'won' | 'lost'): void {
    const dispute = this.disputed(id);
    dispute['status'] = outcome;
    if (outcome === 'won') this.move(dispute, Number(dispute['amount']));
    this.books.emit('charge.dispute.closed', dispute);
    if (outcome === 'won') this.books.emit('charge.dispute.funds_reinstated', dispute);
  }

  private newDispute(intentId: string, amount: number | undefined, status: string): Stored {
    const charge = this.books.chargeOf(intentId);
    charge['disputed'] = true;
    return this.books.keep(this.books.disputes, ['dispute', 'du'], {
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
      (one) => one['payment_intent'] === intentId && one['is_charge_refundable'] === false,
    );
  }

  private disputed(id: string): Stored {
    const dispute = this.books.disputes.get(id);
    if (dispute === undefined) throw missing('dispute');
    return dispute;
  }

  /** Each movement of a dispute's money is an entry of its own. */
  private move(dispute: Stored, amount: number): void {
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
