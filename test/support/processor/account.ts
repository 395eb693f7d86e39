import { randomBytes } from 'node:crypto';
import { type CardDetails, cardOf } from './cards';
import { ApiError, invalid, objectOf, type Parameters } from './parameters';

export type Stored = Record<string, unknown> & { id: string };

export interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly text: string;
}

const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
const now = (): number => Math.floor(Date.now() / 1_000);

/** One account at the processor: what our calls made, and what customers, banks and time do to it. */
export class ProcessorAccount {
  readonly customers = new Map<string, Stored>();
  readonly sessions = new Map<string, Stored>();
  readonly intents = new Map<string, Stored>();
  readonly charges = new Map<string, Stored>();
  readonly methods = new Map<string, Stored & { details: CardDetails; customer: string | null }>();
  readonly disputes = new Map<string, Stored>();
  readonly refunds = new Map<string, Stored>();
  readonly endpoints: Stored[] = [];
  readonly events: SentEvent[] = [];
  /** Charges of saved cards take days. */
  takesDays = false;
  onEvent: (event: SentEvent) => void = () => undefined;

  constructor(readonly live = false) {}

  createCustomer(given: Parameters): Stored {
    return this.keep(this.customers, 'cus', {
      object: 'customer',
      email: given.get('email') ?? null,
      name: given.get('name') ?? null,
      metadata: objectOf(given, 'metadata'),
    });
  }

  createSession(given: Parameters, origin: string): Stored {
    const mode = given.get('mode');
    if (!this.customers.has(given.get('customer') ?? '')) throw missing('customer');
    const amount = Number(given.get('line_items[0][price_data][unit_amount]') ?? NaN);
    if (mode === 'payment' && !(amount >= 50))
      throw invalid('Amount is too small.', 'line_items', 'amount_too_small');
    if (mode === 'setup' && given.has('line_items[0][quantity]'))
      throw invalid('No line items here.', 'line_items');
    if (!given.has('success_url')) throw invalid('Missing required param: success_url.', 'success_url');
    const session = this.keep(this.sessions, this.live ? 'cs_live' : 'cs_test', {
      object: 'checkout.session',
      mode,
      status: 'open',
      payment_status: mode === 'setup' ? 'no_payment_required' : 'unpaid',
      customer: given.get('customer'),
      client_reference_id: given.get('client_reference_id') ?? null,
      currency: given.get('line_items[0][price_data][currency]') ?? given.get('currency') ?? null,
      amount_total: mode === 'payment' ? amount * Number(given.get('line_items[0][quantity]') ?? 1) : null,
      metadata: objectOf(given, 'metadata'),
      payment_intent: null,
      setup_intent: null,
      success_url: given.get('success_url'),
      cancel_url: given.get('cancel_url') ?? null,
    });
    session['url'] = `${origin}/c/pay/${session.id}`;
    intentDetails.set(session, objectOf(given, 'payment_intent_data[metadata]'));
    return session;
  }

  /** A charge of a saved card while its owner is away. */
  createIntent(given: Parameters): Stored {
    const method = this.methods.get(given.get('payment_method') ?? '');
    if (method === undefined) throw missing('payment_method');
    if (method.customer === null) throw invalid('The payment method was detached from a customer.');
    if (method.customer !== given.get('customer')) throw missing('payment_method');
    const intent = this.newIntent(
      Number(given.get('amount')),
      given.get('currency') ?? '',
      method.customer,
      objectOf(given, 'metadata'),
    );
    intent['payment_method'] = method.id;
    const { behaviour, declineCode } = method.details;
    if (this.takesDays) return Object.assign(intent, { status: 'processing' });
    if (behaviour === 'succeeds') {
      this.succeed(intent);
      return intent;
    }
    const asks = behaviour === 'asks-its-owner';
    const code = asks ? 'authentication_required' : 'card_declined';
    this.refuse(intent, code, asks ? 'authentication_required' : declineCode);
    throw new ApiError(402, {
      type: 'card_error',
      code,
      decline_code: asks ? 'authentication_required' : declineCode,
      message: 'Your card was declined.',
      payment_intent: intent,
    });
  }

  settleIntent(id: string, isKept: boolean): void {
    const intent = this.intents.get(id);
    if (intent === undefined) throw missing('payment_intent');
    if (isKept) this.succeed(intent);
    else {
      intent['status'] = 'requires_payment_method';
      this.refuse(intent, 'payment_failed', null);
    }
  }

  refund(intentId: string, amount?: number): Stored {
    const charge = this.chargeOf(intentId);
    const left = Number(charge['amount']) - Number(charge['amount_refunded']);
    const refunded = amount ?? left;
    if (refunded > left || left === 0)
      throw invalid('Refund amount is greater than what is left.', 'amount', 'charge_already_refunded');
    charge['amount_refunded'] = Number(charge['amount_refunded']) + refunded;
    charge['refunded'] = charge['amount_refunded'] === charge['amount'];
    this.emit('charge.refunded', charge);
    const made = this.keep(this.refunds, 're', {
      object: 'refund',
      amount: refunded,
      payment_intent: intentId,
      charge: charge.id,
      currency: 'usd',
      status: 'succeeded',
    });
    this.emit('refund.created', made);
    return made;
  }

  /** The bank returns the refund days later. Events differ in whether the charge's total falls. */
  failRefund(id: string, isTakenOff: boolean): void {
    const refund = this.refunds.get(id);
    if (refund === undefined) throw missing('refund');
    refund['status'] = 'failed';
    refund['failure_reason'] = 'expired_or_canceled_card';
    const charge = this.chargeOf(String(refund['payment_intent']));
    if (isTakenOff) charge['amount_refunded'] = Number(charge['amount_refunded']) - Number(refund['amount']);
    charge['refunded'] = charge['amount_refunded'] === charge['amount'];
    this.emit('refund.failed', refund);
    this.emit('charge.refund.updated', refund);
  }

  dispute(intentId: string, amount?: number): Stored {
    const dispute = this.newDispute(intentId, amount, 'needs_response');
    this.emit('charge.dispute.created', dispute);
    this.emit('charge.dispute.funds_withdrawn', dispute);
    return dispute;
  }

  /** The bank asks first, and takes no money. */
  inquire(intentId: string): Stored {
    const dispute = this.newDispute(intentId, undefined, 'warning_needs_response');
    this.emit('charge.dispute.created', dispute);
    return dispute;
  }

  /** An inquiry becomes a dispute under the same id, and its money is withdrawn. */
  escalate(id: string): void {
    const dispute = this.disputes.get(id);
    if (dispute === undefined) throw missing('dispute');
    dispute['status'] = 'needs_response';
    this.emit('charge.dispute.updated', dispute);
    this.emit('charge.dispute.funds_withdrawn', dispute);
  }

  closeInquiry(id: string): void {
    const dispute = this.disputes.get(id);
    if (dispute === undefined) throw missing('dispute');
    dispute['status'] = 'warning_closed';
    this.emit('charge.dispute.closed', dispute);
  }

  private newDispute(intentId: string, amount: number | undefined, status: string): Stored {
    const charge = this.chargeOf(intentId);
    charge['disputed'] = true;
    return this.keep(this.disputes, 'du', {
      object: 'dispute',
      amount: amount ?? charge['amount'],
      currency: charge['currency'],
      charge: charge.id,
      payment_intent: intentId,
      status,
      reason: 'fraudulent',
    });
  }

  closeDispute(id: string, outcome: 'won' | 'lost'): void {
    const dispute = this.disputes.get(id);
    if (dispute === undefined) throw missing('dispute');
    dispute['status'] = outcome;
    this.emit('charge.dispute.closed', dispute);
    if (outcome === 'won') this.emit('charge.dispute.funds_reinstated', dispute);
  }

  /** What the customer does on the hosted page. `confirmed` answers the question of 3-D Secure. */
  pay(sessionId: string, number = '4242424242424242', confirmed = true): 'paid' | 'declined' | 'unconfirmed' {
    const session = this.openSession(sessionId);
    const details = cardOf(number);
    const customer = String(session['customer']);
    if (session['mode'] === 'setup') return this.saveCard(session, details);
    const intent = this.intentOf(session);
    if (details.behaviour === 'declines') {
      this.refuse(intent, 'card_declined', details.declineCode);
      return 'declined';
    }
    if (details.behaviour === 'asks-its-owner' && !confirmed) {
      this.refuse(intent, 'payment_intent_authentication_failure', null);
      return 'unconfirmed';
    }
    intent['payment_method'] = this.addCard(customer, number).id;
    this.succeed(intent);
    Object.assign(session, { status: 'complete', payment_status: 'paid', url: null });
    this.emit('checkout.session.completed', session);
    return 'paid';
  }

  /** A way of paying that takes days: complete, and not paid yet. */
  promise(sessionId: string): void {
    const session = this.openSession(sessionId);
    const intent = this.intentOf(session);
    Object.assign(intent, { status: 'processing' });
    Object.assign(session, { status: 'complete', payment_intent: intent.id, url: null });
    this.emit('checkout.session.completed', session);
  }

  settleDelayedPayment(sessionId: string, isKept: boolean): void {
    const session = this.sessions.get(sessionId);
    const intent = this.intents.get(String(session?.['payment_intent']));
    if (session === undefined || intent === undefined) throw missing('session');
    if (isKept) {
      this.succeed(intent);
      session['payment_status'] = 'paid';
    } else this.refuse(intent, 'payment_failed', null);
    this.emit(`checkout.session.async_payment_${isKept ? 'succeeded' : 'failed'}`, session);
  }

  expire(sessionId: string): void {
    const session = this.openSession(sessionId);
    Object.assign(session, { status: 'expired', url: null });
    this.emit('checkout.session.expired', session);
  }

  addCard(customer: string, number: string): Stored {
    const details = cardOf(number);
    const stored = this.keep(this.methods, 'pm', {
      object: 'payment_method',
      type: 'card',
      customer,
      card: { brand: details.brand, last4: details.last4, exp_month: 8, exp_year: 2031 },
    });
    // Kept beside what is shown.
    Object.defineProperty(stored, 'details', { value: details, enumerable: false });
    return stored;
  }

  detach(id: string): Stored {
    const method = this.methods.get(id);
    if (method === undefined) throw missing('payment_method');
    if (method.customer === null)
      throw invalid('The payment method is not attached to a customer so detachment is impossible.');
    method.customer = null;
    return method;
  }

  emit(type: string, object: object): SentEvent {
    const id = newId('evt');
    const text = JSON.stringify({
      id,
      object: 'event',
      api_version: '2026-10-28.endive',
      created: now(),
      livemode: this.live,
      type,
      data: { object },
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
    });
    const event = { id, type, text };
    this.events.push(event);
    this.onEvent(event);
    return event;
  }

  /** One for all attempts of a session. */
  private intentOf(session: Stored): Stored {
    const intent =
      this.intents.get(String(session['payment_intent'])) ??
      this.newIntent(
        Number(session['amount_total']),
        String(session['currency']),
        String(session['customer']),
        intentDetails.get(session) ?? {},
      );
    session['payment_intent'] = intent.id;
    return intent;
  }

  private saveCard(session: Stored, { behaviour, last4 }: CardDetails): 'paid' | 'declined' {
    if (behaviour === 'declines') return 'declined';
    const number = ['4242424242424242', '4000000000000341', '4000002760003184', '5555555555554444'].find(
      (one) => one.endsWith(last4),
    );
    const card = this.addCard(String(session['customer']), number ?? '');
    const intent = {
      id: newId('seti'),
      object: 'setup_intent',
      customer: session['customer'],
      payment_method: card.id,
      status: 'succeeded',
    };
    this.emit('setup_intent.succeeded', intent);
    Object.assign(session, { status: 'complete', setup_intent: intent.id, url: null });
    this.emit('checkout.session.completed', session);
    return 'paid';
  }

  private newIntent(
    amount: number,
    currency: string,
    customer: string,
    metadata: Record<string, string>,
  ): Stored {
    return this.keep(this.intents, 'pi', {
      object: 'payment_intent',
      amount,
      amount_received: 0,
      currency,
      customer,
      metadata,
      status: 'requires_payment_method',
      latest_charge: null,
      last_payment_error: null,
    });
  }

  private succeed(intent: Stored): void {
    const charge = this.keep(this.charges, 'ch', {
      object: 'charge',
      amount: intent['amount'],
      amount_refunded: 0,
      refunded: false,
      disputed: false,
      currency: intent['currency'],
      customer: intent['customer'],
      payment_intent: intent.id,
      metadata: intent['metadata'],
      status: 'succeeded',
    });
    Object.assign(intent, {
      status: 'succeeded',
      amount_received: intent['amount'],
      latest_charge: charge.id,
      last_payment_error: null,
    });
    this.emit('payment_intent.succeeded', intent);
  }

  private refuse(intent: Stored, code: string, declineCode: string | null): void {
    intent['status'] = 'requires_payment_method';
    intent['last_payment_error'] = {
      type: 'card_error',
      code,
      ...(declineCode === null ? {} : { decline_code: declineCode }),
    };
    this.emit('payment_intent.payment_failed', intent);
  }

  private chargeOf(intentId: string): Stored {
    const charge = [...this.charges.values()].find((one) => one['payment_intent'] === intentId);
    if (charge === undefined) throw missing('payment_intent');
    return charge;
  }

  private openSession(id: string): Stored {
    const session = this.sessions.get(id);
    if (session?.['status'] !== 'open') throw missing('session');
    return session;
  }

  private keep(into: Map<string, Stored>, prefix: string, fields: Record<string, unknown>): Stored {
    const stored: Stored = { id: newId(prefix), created: now(), livemode: this.live, ...fields };
    into.set(stored.id, stored);
    return stored;
  }
}

const intentDetails = new WeakMap<Stored, Record<string, string>>();

const missing = (param: string): ApiError =>
  new ApiError(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${param}.`,
    param,
  });
