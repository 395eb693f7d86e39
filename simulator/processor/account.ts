import { AccountBooks, missing, newId, type Stored } from './books';
import { wayOfPaying, type WayOfPaying } from './cards';
import { refusalCode } from './facts';
import { MoneyBack } from './money-back';
import { ApiError, invalid, listOf, objectOf, type Parameters } from './parameters';

type Paid = 'paid' | 'declined' | 'unconfirmed';

const DAY_SECONDS = 86_400;
const VISA = '4242424242424242';

/** One account at the processor: what our calls made, and what customers, banks and time do to it. */
export class ProcessorAccount extends AccountBooks {
  /** Charges of saved cards take days. */
  takesDays = false;
  /** Ways of paying that lead a customer away are switched on, as in a new account. */
  hasRedirects = true;
  /** Customers abroad are shown prices of their own currency, unless a checkout says otherwise. */
  hasAdaptivePricing = true;
  readonly back = new MoneyBack(this);
  private readonly ways = new WeakMap<Stored, WayOfPaying>();
  private readonly ordered = new WeakMap<Stored, Record<string, string>>();

  constructor(live = false) {
    super(live);
  }

  createCustomer(given: Parameters): Stored {
    return this.keep(this.customers, ['customer', 'cus'], {
      email: given.get('email') ?? null,
      name: given.get('name') ?? null,
      metadata: objectOf(given, 'metadata'),
    });
  }

  createSession(given: Parameters, origin: string): Stored {
    const mode = given.get('mode');
    if (!this.customers.has(given.get('customer') ?? '')) throw missing('customer');
    const total =
      Number(given.get('line_items[0][price_data][unit_amount]')) *
      Number(given.get('line_items[0][quantity]') ?? 1);
    const isAdaptive = this.hasAdaptivePricing && given.get('adaptive_pricing[enabled]') !== 'false';
    const session = this.keep(this.sessions, ['checkout.session', this.live ? 'cs_live' : 'cs_test'], {
      mode,
      status: 'open',
      payment_status: mode === 'setup' ? 'no_payment_required' : 'unpaid',
      payment_method_types: ['card', 'link'],
      customer: given.get('customer'),
      client_reference_id: given.get('client_reference_id') ?? null,
      currency: given.get('line_items[0][price_data][currency]') ?? given.get('currency') ?? null,
      amount_subtotal: mode === 'payment' ? total : null,
      amount_total: mode === 'payment' ? total : null,
      metadata: objectOf(given, 'metadata'),
      expires_at: Math.floor(Date.now() / 1_000) + DAY_SECONDS,
      success_url: given.get('success_url'),
      cancel_url: given.get('cancel_url') ?? null,
      ui_mode: 'hosted_page',
      ...(mode === 'payment' ? { adaptive_pricing: { enabled: isAdaptive } } : {}),
    });
    session['url'] = `${origin}/c/pay/${session.id}`;
    this.ordered.set(session, objectOf(given, 'payment_intent_data[metadata]'));
    return session;
  }

  createEndpoint(given: Parameters): Stored {
    const endpoint = this.made('webhook_endpoint', 'we', {
      url: given.get('url'),
      enabled_events: listOf(given, 'enabled_events'),
      api_version: given.get('api_version') ?? null,
      status: 'enabled',
    });
    this.endpoints.push(endpoint);
    return endpoint;
  }

  /** A charge of a saved card while its owner is away. */
  createIntent(given: Parameters): Stored {
    const method = this.methods.get(given.get('payment_method') ?? '');
    if (method === undefined) throw missing('payment_method');
    if (method['customer'] === null)
      throw invalid('This way of paying was taken off its customer.', 'payment_method');
    if (method['customer'] !== given.get('customer')) throw missing('payment_method');
    const intent = this.newIntent({
      amount: Number(given.get('amount')),
      currency: given.get('currency') ?? '',
      customer: method['customer'],
      metadata: objectOf(given, 'metadata'),
    });
    intent['payment_method'] = method.id;
    const { behaviour, declineCode } = this.wayOf(method);
    if (this.takesDays) return Object.assign(intent, { status: 'processing' });
    if (behaviour === 'succeeds') {
      this.succeed(intent);
      return intent;
    }
    const asks = behaviour === 'asks-its-owner';
    const code = refusalCode(asks ? 'authentication_required' : 'card_declined');
    const told = asks ? 'authentication_required' : declineCode;
    this.refuse(intent, code, told);
    throw new ApiError(402, {
      type: 'card_error',
      code,
      decline_code: told,
      message: 'The bank declines.',
      payment_intent: intent,
    });
  }

  settleIntent(id: string, isKept: boolean): void {
    const intent = this.intents.get(id);
    if (intent === undefined) throw missing('payment_intent');
    if (isKept) this.succeed(intent);
    else this.refuse(intent, 'payment_intent_payment_attempt_failed', null);
  }

  /** The customer pays on the hosted page. `confirmed` answers the question of 3-D Secure. */
  pay(sessionId: string, number = VISA, confirmed = true): Paid {
    const session = this.openSession(sessionId);
    const way = wayOfPaying(number);
    if (way === null) throw new Error(`no test card: ${number}`);
    if (session['mode'] === 'setup') return this.saveCard(session, number, way);
    const intent = this.intentOf(session);
    if (way.behaviour === 'declines') {
      this.refuse(intent, 'card_declined', way.declineCode);
      return 'declined';
    }
    if (way.behaviour === 'asks-its-owner' && !confirmed) {
      this.refuse(intent, 'payment_intent_authentication_failure', null);
      return 'unconfirmed';
    }
    intent['payment_method'] = this.addCard(String(session['customer']), number).id;
    this.succeed(intent);
    Object.assign(
      session,
      { status: 'complete', payment_status: 'paid', url: null },
      this.presented(session),
    );
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
    } else this.refuse(intent, 'payment_intent_payment_attempt_failed', null);
    this.emit(`checkout.session.async_payment_${isKept ? 'succeeded' : 'failed'}`, session);
  }

  expire(sessionId: string): void {
    const session = this.openSession(sessionId);
    Object.assign(session, { status: 'expired', url: null });
    this.emit('checkout.session.expired', session);
  }

  addCard(customer: string, number: string): Stored {
    const way = wayOfPaying(number);
    if (way === null) throw new Error(`no test card: ${number}`);
    const method = this.keep(this.methods, ['payment_method', 'pm'], { customer, ...way.shown });
    this.ways.set(method, way);
    return method;
  }

  detach(id: string): Stored {
    const method = this.methods.get(id);
    if (method === undefined) throw missing('payment_method');
    if (method['customer'] === null) throw invalid('This way of paying is on no customer.');
    method['customer'] = null;
    return method;
  }

  /** A checkout with a customer abroad, where prices follow their currency. */
  private presented(session: Stored): object {
    const adaptive = session['adaptive_pricing'] as { enabled: boolean } | null;
    if (adaptive?.enabled !== true) return {};
    return {
      presentment_details: { presentment_amount: session['amount_total'], presentment_currency: 'eur' },
    };
  }

  /** One for all attempts of a session. */
  private intentOf(session: Stored): Stored {
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

  private saveCard(session: Stored, number: string, { behaviour }: WayOfPaying): Paid {
    if (behaviour === 'declines') return 'declined';
    const card = this.addCard(String(session['customer']), number);
    const intent = this.made('setup_intent', 'seti', {
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

  private newIntent(fields: object): Stored {
    return this.keep(this.intents, ['payment_intent', 'pi'], {
      ...fields,
      capture_method: 'automatic_async',
      payment_method_types: ['card', 'link'],
      status: 'requires_payment_method',
    });
  }

  private succeed(intent: Stored): void {
    const charge = this.keep(this.charges, ['charge', 'ch'], {
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

  private refuse(intent: Stored, code: string, declineCode: string | null): void {
    intent['status'] = 'requires_payment_method';
    intent['last_payment_error'] = {
      type: 'card_error',
      code: refusalCode(code),
      ...(declineCode === null ? {} : { decline_code: declineCode }),
    };
    this.emit('payment_intent.payment_failed', intent);
  }

  private wayOf(method: Stored): WayOfPaying {
    const way = this.ways.get(method);
    if (way === undefined) throw new Error(`no way of paying was kept for ${method.id}`);
    return way;
  }

  private openSession(id: string): Stored {
    const session = this.sessions.get(id);
    if (session?.['status'] !== 'open') throw missing('session');
    return session;
  }
}
