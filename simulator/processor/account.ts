import { AccountStore, notFound, newId, type ProcessorObject } from './account-store';
import { testPaymentMethod, type TestPaymentMethod } from './cards';
import { requireErrorCode } from './facts';
import { RefundsAndDisputes } from './refunds-and-disputes';
import { ApiError, invalid, listOf, objectOf, type Parameters } from './parameters';

type PaymentOutcome = 'paid' | 'declined' | 'unconfirmed';

const DAY_SECONDS = 86_400;
const VISA = '4242424242424242';

/** An account at the payment processor: what our calls create, and what customers, banks and time do to it. */
export class ProcessorAccount extends AccountStore {
  /** Charges of saved cards settle only after days. */
  hasDelayedSettlement = false;
  /** Payment methods that redirect the customer are enabled, as in a new account. */
  hasRedirects = true;
  /** Customers abroad see prices in their own currency, unless a checkout disables it. */
  hasAdaptivePricing = true;
  readonly refundsAndDisputes = new RefundsAndDisputes(this);
  private readonly testMethods = new WeakMap<ProcessorObject, TestPaymentMethod>();
  private readonly ordered = new WeakMap<ProcessorObject, Record<string, string>>();

  constructor(live = false) {
    super(live);
  }

  createCustomer(parameters: Parameters): ProcessorObject {
    return this.store(this.customers, ['customer', 'cus'], {
      email: parameters.get('email') ?? null,
      name: parameters.get('name') ?? null,
      metadata: objectOf(parameters, 'metadata'),
    });
  }

  createSession(parameters: Parameters, origin: string): ProcessorObject {
    const mode = parameters.get('mode');
    if (!this.customers.has(parameters.get('customer') ?? '')) throw notFound('customer');
    const total =
      Number(parameters.get('line_items[0][price_data][unit_amount]')) *
      Number(parameters.get('line_items[0][quantity]') ?? 1);
    const isAdaptive = this.hasAdaptivePricing && parameters.get('adaptive_pricing[enabled]') !== 'false';
    const session = this.store(this.sessions, ['checkout.session', this.live ? 'cs_live' : 'cs_test'], {
      mode,
      status: 'open',
      payment_status: mode === 'setup' ? 'no_payment_required' : 'unpaid',
      payment_method_types: ['card', 'link'],
      customer: parameters.get('customer'),
      client_reference_id: parameters.get('client_reference_id') ?? null,
      currency: parameters.get('line_items[0][price_data][currency]') ?? parameters.get('currency') ?? null,
      amount_subtotal: mode === 'payment' ? total : null,
      amount_total: mode === 'payment' ? total : null,
      metadata: objectOf(parameters, 'metadata'),
      expires_at: Math.floor(Date.now() / 1_000) + DAY_SECONDS,
      success_url: parameters.get('success_url'),
      cancel_url: parameters.get('cancel_url') ?? null,
      ui_mode: 'hosted_page',
      ...(mode === 'payment' ? { adaptive_pricing: { enabled: isAdaptive } } : {}),
    });
    session['url'] = `${origin}/c/pay/${session.id}`;
    this.ordered.set(session, objectOf(parameters, 'payment_intent_data[metadata]'));
    return session;
  }

  createEndpoint(parameters: Parameters): ProcessorObject {
    const endpoint = this.createObject('webhook_endpoint', 'we', {
      url: parameters.get('url'),
      enabled_events: listOf(parameters, 'enabled_events'),
      api_version: parameters.get('api_version') ?? null,
      status: 'enabled',
    });
    this.endpoints.push(endpoint);
    return endpoint;
  }

  /** Charges a saved card off-session. */
  createIntent(parameters: Parameters): ProcessorObject {
    const method = this.methods.get(parameters.get('payment_method') ?? '');
    if (method === undefined) throw notFound('payment_method');
    if (method['customer'] === null)
      throw invalid('This way of paying was taken off its customer.', 'payment_method');
    if (method['customer'] !== parameters.get('customer')) throw notFound('payment_method');
    const intent = this.newIntent({
      amount: Number(parameters.get('amount')),
      currency: parameters.get('currency') ?? '',
      customer: method['customer'],
      metadata: objectOf(parameters, 'metadata'),
    });
    intent['payment_method'] = method.id;
    const { behaviour, declineCode } = this.testMethodOf(method);
    if (this.hasDelayedSettlement) return Object.assign(intent, { status: 'processing' });
    if (behaviour === 'succeeds') {
      this.succeed(intent);
      return intent;
    }
    const requiresAuthentication = behaviour === 'asks-its-owner';
    const code = requireErrorCode(requiresAuthentication ? 'authentication_required' : 'card_declined');
    const errorCode = requiresAuthentication ? 'authentication_required' : declineCode;
    this.refuse(intent, code, errorCode);
    throw new ApiError(402, {
      type: 'card_error',
      code,
      decline_code: errorCode,
      message: 'The bank declines.',
      payment_intent: intent,
    });
  }

  settleIntent(id: string, hasSucceeded: boolean): void {
    const intent = this.intents.get(id);
    if (intent === undefined) throw notFound('payment_intent');
    if (hasSucceeded) this.succeed(intent);
    else this.refuse(intent, 'payment_intent_payment_attempt_failed', null);
  }

  /** The customer pays on the hosted page; `confirmed` completes 3-D Secure. */
  pay(sessionId: string, number = VISA, confirmed = true): PaymentOutcome {
    const session = this.openSession(sessionId);
    const testMethod = testPaymentMethod(number);
    if (testMethod === null) throw new Error(`no test card: ${number}`);
    if (session['mode'] === 'setup') return this.saveCard(session, number, testMethod);
    const intent = this.intentOf(session);
    if (testMethod.behaviour === 'declines') {
      this.refuse(intent, 'card_declined', testMethod.declineCode);
      return 'declined';
    }
    if (testMethod.behaviour === 'asks-its-owner' && !confirmed) {
      this.refuse(intent, 'payment_intent_authentication_failure', null);
      return 'unconfirmed';
    }
    intent['payment_method'] = this.addCard(String(session['customer']), number).id;
    this.succeed(intent);
    Object.assign(
      session,
      { status: 'complete', payment_status: 'paid', url: null },
      this.presentmentFields(session),
    );
    this.emit('checkout.session.completed', session);
    return 'paid';
  }

  /** Pays with a delayed payment method: the checkout is complete but not paid yet. */
  payDelayed(sessionId: string): void {
    const session = this.openSession(sessionId);
    const intent = this.intentOf(session);
    Object.assign(intent, { status: 'processing' });
    Object.assign(session, { status: 'complete', payment_intent: intent.id, url: null });
    this.emit('checkout.session.completed', session);
  }

  settleDelayedPayment(sessionId: string, hasSucceeded: boolean): void {
    const session = this.sessions.get(sessionId);
    const intent = this.intents.get(String(session?.['payment_intent']));
    if (session === undefined || intent === undefined) throw notFound('session');
    if (hasSucceeded) {
      this.succeed(intent);
      session['payment_status'] = 'paid';
    } else this.refuse(intent, 'payment_intent_payment_attempt_failed', null);
    this.emit(`checkout.session.async_payment_${hasSucceeded ? 'succeeded' : 'failed'}`, session);
  }

  expire(sessionId: string): void {
    const session = this.openSession(sessionId);
    Object.assign(session, { status: 'expired', url: null });
    this.emit('checkout.session.expired', session);
  }

  addCard(customer: string, number: string): ProcessorObject {
    const testMethod = testPaymentMethod(number);
    if (testMethod === null) throw new Error(`no test card: ${number}`);
    const method = this.store(this.methods, ['payment_method', 'pm'], { customer, ...testMethod.details });
    this.testMethods.set(method, testMethod);
    return method;
  }

  detach(id: string): ProcessorObject {
    const method = this.methods.get(id);
    if (method === undefined) throw notFound('payment_method');
    if (method['customer'] === null) throw invalid('This way of paying is on no customer.');
    method['customer'] = null;
    return method;
  }

  /** Presentment fields of a checkout with a customer abroad whose currency differs. */
  private presentmentFields(session: ProcessorObject): object {
    const adaptive = session['adaptive_pricing'] as { enabled: boolean } | null;
    if (adaptive?.enabled !== true) return {};
    return {
      presentment_details: { presentment_amount: session['amount_total'], presentment_currency: 'eur' },
    };
  }

  /** All attempts of a session share one payment intent. */
  private intentOf(session: ProcessorObject): ProcessorObject {
    const intent =
      this.intents.get(String(session['payment_intent'])) ??
      this.newIntent({
        amount: session['amount_total'],
        currency: session['currency'],
        customer: session['customer'],
        metadata: this.ordered.get(session) ?? {},
      });
    session['payment_intent'] = intent.id;
    return intent;
  }

  private saveCard(
    session: ProcessorObject,
    number: string,
    { behaviour }: TestPaymentMethod,
  ): PaymentOutcome {
    if (behaviour === 'declines') return 'declined';
    const card = this.addCard(String(session['customer']), number);
    const intent = this.createObject('setup_intent', 'seti', {
      customer: session['customer'],
      payment_method: card.id,
      payment_method_types: [card['type']],
      status: 'succeeded',
      usage: 'off_session',
    });
    this.emit('setup_intent.succeeded', intent);
    Object.assign(session, { status: 'complete', setup_intent: intent.id, url: null });
    this.emit('checkout.session.completed', session);
    return 'paid';
  }

  private newIntent(fields: object): ProcessorObject {
    return this.store(this.intents, ['payment_intent', 'pi'], {
      ...fields,
      capture_method: 'automatic_async',
      payment_method_types: ['card', 'link'],
      status: 'requires_payment_method',
    });
  }

  private succeed(intent: ProcessorObject): void {
    const charge = this.store(this.charges, ['charge', 'ch'], {
      amount: intent['amount'],
      amount_captured: intent['amount'],
      captured: true,
      paid: true,
      currency: intent['currency'],
      customer: intent['customer'],
      payment_intent: intent.id,
      payment_method: intent['payment_method'],
      metadata: { ...(intent['metadata'] as object) },
      balance_transaction: newId('txn'),
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

  private refuse(intent: ProcessorObject, code: string, declineCode: string | null): void {
    intent['status'] = 'requires_payment_method';
    intent['last_payment_error'] = {
      type: 'card_error',
      code: requireErrorCode(code),
      ...(declineCode === null ? {} : { decline_code: declineCode }),
    };
    this.emit('payment_intent.payment_failed', intent);
  }

  private testMethodOf(method: ProcessorObject): TestPaymentMethod {
    const testMethod = this.testMethods.get(method);
    if (testMethod === undefined) throw new Error(`no way of paying was kept for ${method.id}`);
    return testMethod;
  }

  private openSession(id: string): ProcessorObject {
    const session = this.sessions.get(id);
    if (session?.['status'] !== 'open') throw notFound('session');
    return session;
  }
}
