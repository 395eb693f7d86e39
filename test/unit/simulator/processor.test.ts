import { execFileSync } from 'node:child_process';
import Stripe from 'stripe';
import { requireErrorCode } from '../../../simulator/processor/facts';
import { ProcessorSimulator } from '../../../simulator/processor/processor-simulator';

describe('Simulated payment processor', () => {
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

  const addCard = (): string => simulator.account.addCard(customer, '4242424242424242').id;
  const createCharge = (more: object, options: Stripe.RequestOptions = {}): Promise<Stripe.PaymentIntent> =>
    client.paymentIntents.create({ amount: 500, currency: 'usd', customer, ...more }, options);
  const errorOf = async (work: Promise<unknown>): Promise<unknown> => {
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

  test('knows exactly the parameters of the SDK', () => {
    execFileSync(process.execPath, ['scripts/processor-facts.cjs', '--check'], { stdio: 'pipe' });
    expect(() => requireErrorCode('no_such_code')).toThrow('Stripe refuses nothing');
  });

  test('rejects charges with redirecting payment methods or misplaced confirmation parameters', async () => {
    const chargeParameters = { payment_method: addCard(), confirm: true, off_session: true };
    expect(await errorOf(createCharge(chargeParameters))).toBe('return_url');
    const withoutRedirects = { automatic_payment_methods: { enabled: true, allow_redirects: 'never' } };
    expect(await errorOf(createCharge({ ...chargeParameters, ...withoutRedirects }))).toBe('taken');
    expect(await errorOf(createCharge({ ...chargeParameters, return_url: 'https://example.com' }))).toBe(
      'taken',
    );
    expect(await errorOf(createCharge({ ...chargeParameters, return_url: 'nowhere' }))).toBe('url_invalid');
    expect(
      await errorOf(
        createCharge({ ...chargeParameters, automatic_payment_methods: { allow_redirects: 'never' } }),
      ),
    ).toBe('parameter_missing');
    expect(await errorOf(createCharge({ confirm: true, ...withoutRedirects }))).toBe(
      'payment_intent_unexpected_state',
    );
    expect(await errorOf(createCharge({ off_session: true }))).toBe('payment_intent_invalid_parameter');
    expect(await errorOf(createCharge({ return_url: 'https://example.com' }))).toBe(
      'payment_intent_invalid_parameter',
    );
    simulator.account.hasRedirects = false;
    expect(await errorOf(createCharge(chargeParameters))).toBe('taken');
    simulator.account.hasRedirects = true;
  });

  test('rejects invalid amounts, unknown parameters, wrong types and missing values', async () => {
    expect(await errorOf(createCharge({ amount: 49 }))).toBe('amount_too_small');
    expect(await errorOf(createCharge({ amount: 100_000_000 }))).toBe('amount_too_large');
    expect(await errorOf(createCharge({ amount: 5.5 }))).toBe('parameter_invalid_integer');
    expect(await errorOf(createCharge({ payment_method_types: ['card'] }))).toBe('parameter_unknown');
    expect(await errorOf(createCharge({ confirm: 'perhaps' }))).toBe('confirm');
    expect(await errorOf(createCharge({ currency: undefined }))).toBe('parameter_missing');
    expect(await errorOf(createCharge({ metadata: { long: 'x'.repeat(501) } }))).toBe('metadata');
    expect(await errorOf(client.paymentIntents.list({ limit: 101 }))).toBe('limit');
    expect(await errorOf(client.paymentIntents.list({ expand: ['data.amount'] }))).toBe('expand');
    expect(await errorOf(client.refunds.create({ payment_intent: 'pi_none', reason: 'fraudulent' }))).toBe(
      'resource_missing',
    );
  });

  test('rejects checkouts that lack what their mode needs', async () => {
    expect(await errorOf(session({}))).toBe('taken');
    expect(await errorOf(session({ success_url: undefined }))).toBe('parameter_missing');
    expect(await errorOf(session({ success_url: '/paid' }))).toBe('url_invalid');
    expect(await errorOf(session({ mode: 'setup' }))).toBe('line_items');
    expect(await errorOf(session({ mode: 'setup', line_items: undefined }))).toBe('parameter_missing');
    expect(await errorOf(session({ line_items: [{ quantity: 1, price_data: { unit_amount: 500 } }] }))).toBe(
      'parameter_missing',
    );
    expect(await errorOf(session({ client_reference_id: 'x'.repeat(201) }))).toBe('client_reference_id');
    expect(await errorOf(session({ customer: 'cus_none' }))).toBe('resource_missing');
  });

  test('binds an idempotency key to its first parameters, and only to calls that were executed', async () => {
    const chargeParameters = { payment_method: addCard(), confirm: true, return_url: 'https://example.com' };
    expect(await errorOf(createCharge({ ...chargeParameters, amount: 1 }, { idempotencyKey: 'one' }))).toBe(
      'amount_too_small',
    );
    const firstCharge = await createCharge(chargeParameters, { idempotencyKey: 'one' });
    expect((await createCharge(chargeParameters, { idempotencyKey: 'one' })).id).toBe(firstCharge.id);
    expect(await errorOf(createCharge({ ...chargeParameters, amount: 600 }, { idempotencyKey: 'one' }))).toBe(
      'StripeIdempotencyError',
    );
    expect(await errorOf(createCharge(chargeParameters, { idempotencyKey: 'x'.repeat(256) }))).toBe(
      'StripeInvalidRequestError',
    );
  });

  test('rejects the refund of a payment disputed at the bank, but not during an inquiry', async () => {
    const { id } = await createCharge({
      payment_method: addCard(),
      confirm: true,
      return_url: 'https://example.com',
    });
    const inquiry = simulator.account.refundsAndDisputes.inquire(id);
    expect(await errorOf(client.refunds.create({ payment_intent: id, amount: 100 }))).toBe('taken');
    simulator.account.refundsAndDisputes.escalate(inquiry.id);
    expect(await errorOf(client.refunds.create({ payment_intent: id, amount: 100 }))).toBe(
      'refund_disputed_payment',
    );
  });

  test('responds only to the API version of its data', async () => {
    const oldClient = new Stripe(simulator.environment['PROCESSOR_SECRET_KEY'] ?? '', {
      host: '127.0.0.1',
      port: new URL(simulator.url).port,
      protocol: 'http',
      maxNetworkRetries: 0,
    });
    expect(await errorOf(oldClient.customers.create({}, { apiVersion: '2020-08-27' }))).toBe(
      'StripeInvalidRequestError',
    );
  });

  test('lists events by time and type, newest first', async () => {
    simulator.account.listedEvents.length = 0;
    for (let n = 0; n < 3; n += 1)
      await createCharge({ payment_method: addCard(), confirm: true, return_url: 'http://x' });
    const types = ['payment_intent.succeeded'];
    const [newest] = (await client.events.list({ types, limit: 1 })).data;
    const listedEvents = await client.events.list({ types, limit: 2 }).autoPagingToArray({ limit: 10 });
    expect([listedEvents.length, listedEvents[0]?.id]).toEqual([3, newest?.id]);
    expect((await client.events.list({ types: ['charge.refunded'] })).data).toEqual([]);
  });
});
