import { execFileSync } from 'node:child_process';
import Stripe from 'stripe';
import { refusalCode } from '../../../simulator/processor/facts';
import { ProcessorSimulator } from '../../../simulator/processor/processor-simulator';

describe('the simulated payment processor refuses what Stripe refuses', () => {
  let simulator: ProcessorSimulator;
  let client: Stripe;
  let customer: string;

  beforeAll(async () => {
    simulator = await ProcessorSimulator.start();
    client = new Stripe(simulator.environment['PROCESSOR_SECRET_KEY'] ?? '', {
      host: '127.0.0.1',
      port: new URL(simulator.url).port,
      protocol: 'http',
      maxNetworkRetries: 0,
      telemetry: false,
    });
    customer = (await client.customers.create({ email: 'ada@example.com', name: 'Ada' })).id;
  });
  afterAll(() => simulator.stop());

  const card = (): string => simulator.account.addCard(customer, '4242424242424242').id;
  const charge = (more: object, options: Stripe.RequestOptions = {}): Promise<Stripe.PaymentIntent> =>
    client.paymentIntents.create({ amount: 500, currency: 'usd', customer, ...more }, options);
  const refused = async (work: Promise<unknown>): Promise<unknown> => {
    const error = await work.then(
      () => 'taken',
      (one: unknown) => one,
    );
    return error instanceof Stripe.errors.StripeError ? (error.code ?? error.param ?? error.type) : error;
  };
  const session = (more: object): Promise<unknown> =>
    client.checkout.sessions.create({
      mode: 'payment',
      customer,
      success_url: 'http://localhost/paid',
      line_items: [
        { quantity: 1, price_data: { currency: 'usd', unit_amount: 500, product_data: { name: 'credit' } } },
      ],
      ...more,
    });

  test('what is known of its interface is what the SDK says', () => {
    execFileSync(process.execPath, ['scripts/processor-facts.cjs', '--check'], { stdio: 'pipe' });
    expect(() => refusalCode('no_such_code')).toThrow('Stripe refuses nothing');
  });

  test('charges: ways of paying that lead away, and what goes with a confirmation alone', async () => {
    const paid = { payment_method: card(), confirm: true, off_session: true };
    expect(await refused(charge(paid))).toBe('return_url');
    const never = { automatic_payment_methods: { enabled: true, allow_redirects: 'never' } };
    expect(await refused(charge({ ...paid, ...never }))).toBe('taken');
    expect(await refused(charge({ ...paid, return_url: 'https://example.com' }))).toBe('taken');
    expect(await refused(charge({ ...paid, return_url: 'nowhere' }))).toBe('url_invalid');
    expect(await refused(charge({ ...paid, automatic_payment_methods: { allow_redirects: 'never' } }))).toBe(
      'parameter_missing',
    );
    expect(await refused(charge({ confirm: true, ...never }))).toBe('payment_intent_unexpected_state');
    expect(await refused(charge({ off_session: true }))).toBe('payment_intent_invalid_parameter');
    expect(await refused(charge({ return_url: 'https://example.com' }))).toBe(
      'payment_intent_invalid_parameter',
    );
    simulator.account.hasRedirects = false;
    expect(await refused(charge(paid))).toBe('taken');
    simulator.account.hasRedirects = true;
  });

  test('amounts, unknown parameters, wrong kinds and values, and what is missing', async () => {
    expect(await refused(charge({ amount: 49 }))).toBe('amount_too_small');
    expect(await refused(charge({ amount: 100_000_000 }))).toBe('amount_too_large');
    expect(await refused(charge({ amount: 5.5 }))).toBe('parameter_invalid_integer');
    expect(await refused(charge({ payment_method_types: ['card'] }))).toBe('parameter_unknown');
    expect(await refused(charge({ confirm: 'perhaps' }))).toBe('confirm');
    expect(await refused(charge({ currency: undefined }))).toBe('parameter_missing');
    expect(await refused(charge({ metadata: { long: 'x'.repeat(501) } }))).toBe('metadata');
    expect(await refused(client.paymentIntents.list({ limit: 101 }))).toBe('limit');
    expect(await refused(client.paymentIntents.list({ expand: ['data.amount'] }))).toBe('expand');
    expect(await refused(client.refunds.create({ payment_intent: 'pi_none', reason: 'fraudulent' }))).toBe(
      'resource_missing',
    );
  });

  test('checkouts: what each mode needs', async () => {
    expect(await refused(session({}))).toBe('taken');
    expect(await refused(session({ success_url: undefined }))).toBe('parameter_missing');
    expect(await refused(session({ success_url: '/paid' }))).toBe('url_invalid');
    expect(await refused(session({ mode: 'setup' }))).toBe('line_items');
    expect(await refused(session({ mode: 'setup', line_items: undefined }))).toBe('parameter_missing');
    expect(await refused(session({ line_items: [{ quantity: 1, price_data: { unit_amount: 500 } }] }))).toBe(
      'parameter_missing',
    );
    expect(await refused(session({ client_reference_id: 'x'.repeat(201) }))).toBe('client_reference_id');
    expect(await refused(session({ customer: 'cus_none' }))).toBe('resource_missing');
  });

  test('a key belongs to its first parameters, and to no call that was not begun', async () => {
    const paid = { payment_method: card(), confirm: true, return_url: 'https://example.com' };
    expect(await refused(charge({ ...paid, amount: 1 }, { idempotencyKey: 'one' }))).toBe('amount_too_small');
    const first = await charge(paid, { idempotencyKey: 'one' });
    expect((await charge(paid, { idempotencyKey: 'one' })).id).toBe(first.id);
    expect(await refused(charge({ ...paid, amount: 600 }, { idempotencyKey: 'one' }))).toBe(
      'StripeIdempotencyError',
    );
    expect(await refused(charge(paid, { idempotencyKey: 'x'.repeat(256) }))).toBe(
      'StripeInvalidRequestError',
    );
  });

  test('a payment that a bank has taken is not refunded, and an inquiry hinders nothing', async () => {
    const { id } = await charge({ payment_method: card(), confirm: true, return_url: 'https://example.com' });
    const inquiry = simulator.account.back.inquire(id);
    expect(await refused(client.refunds.create({ payment_intent: id, amount: 100 }))).toBe('taken');
    simulator.account.back.escalate(inquiry.id);
    expect(await refused(client.refunds.create({ payment_intent: id, amount: 100 }))).toBe(
      'refund_disputed_payment',
    );
  });

  test('only the version is answered that the facts are of', async () => {
    const old = new Stripe(simulator.environment['PROCESSOR_SECRET_KEY'] ?? '', {
      host: '127.0.0.1',
      port: new URL(simulator.url).port,
      protocol: 'http',
      maxNetworkRetries: 0,
    });
    expect(await refused(old.customers.create({}, { apiVersion: '2020-08-27' }))).toBe(
      'StripeInvalidRequestError',
    );
  });

  test('events are listed by their time and type, the newest first', async () => {
    simulator.account.told.length = 0;
    for (let n = 0; n < 3; n += 1)
      await charge({ payment_method: card(), confirm: true, return_url: 'http://x' });
    const types = ['payment_intent.succeeded'];
    const [newest] = (await client.events.list({ types, limit: 1 })).data;
    const all = await client.events.list({ types, limit: 2 }).autoPagingToArray({ limit: 10 });
    expect([all.length, all[0]?.id]).toEqual([3, newest?.id]);
    expect((await client.events.list({ types: ['charge.refunded'] })).data).toEqual([]);
  });
});
