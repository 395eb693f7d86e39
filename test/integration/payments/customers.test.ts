import { AutomaticTopUp, Checkout } from '#product/billing';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };

describe('Customers unknown to the processor', () => {
  let fixture: PaymentFixture;
  let payer: Payer;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
  });
  beforeEach(async () => {
    payer = await fixture.payer();
    await fixture.topUp(payer, 10);
    expect((await fixture.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
  });
  afterAll(() => fixture.close());

  const customer = async () => {
    const [row] = await fixture.rows<{ customer_id: string; customer_live: boolean; automatic: boolean }>(
      'SELECT customer_id, customer_live, automatic FROM billing_account WHERE wallet_id = $1',
      [payer.userId],
    );
    return row;
  };
  const cards = async (): Promise<unknown[]> =>
    (await fixture.send('GET', '/api/billing/payment-methods', payer)).body['data'] as unknown[];
  const overview = async (): Promise<string> =>
    (await fixture.raw('GET', '/dashboard/billing', payer)).body['text'] as string;

  test.each([
    ['a top-up', () => fixture.topUp(payer, 15)],
    [
      'the addition of a card',
      async () => {
        const { body } = await fixture.send('POST', '/api/billing/payment-method', payer);
        fixture.simulator.account.pay(String(body['url']).split('/').at(-1) ?? '', '5555555555554444');
        await fixture.deliverAll();
      },
    ],
  ])('a customer deleted at the processor is replaced by %s', async (_, act) => {
    const customerBefore = await customer();
    fixture.simulator.account.customers.delete(customerBefore?.customer_id ?? '');
    for (const method of fixture.simulator.account.methods.values())
      if (method.customer === customerBefore?.customer_id) method.customer = null;
    await act();
    const customerAfter = await customer();
    expect(customerAfter?.customer_id).not.toBe(customerBefore?.customer_id);
    expect(customerAfter).toMatchObject({ customer_live: false, automatic: false });
    expect(await cards()).toHaveLength(1);
    const entries = await fixture.rows<{ actor_label: string }>(
      `SELECT actor_label FROM activity WHERE action = 'billing.auto-top-up-changed' AND user_id = $1
        ORDER BY actor_label`,
      [payer.userId],
    );
    expect(entries.map(({ actor_label: label }) => label)).toContain('payment processor');
    // The next call finds the new customer.
    const customerCount = fixture.simulator.account.customers.size;
    await fixture.topUp(payer, 5);
    expect(fixture.simulator.account.customers.size).toBe(customerCount);
  });

  // "A payment begun with a deleted customer cannot be taken over".
  test('a checkout started before its customer was deleted and replaced can still be paid', async () => {
    const session = await fixture.checkout(payer, 20);
    const customerBefore = await customer();
    fixture.simulator.account.customers.delete(customerBefore?.customer_id ?? '');
    await fixture.topUp(payer, 5);
    expect((await customer())?.customer_id).not.toBe(customerBefore?.customer_id);
    fixture.simulator.account.pay(session);
    await fixture.deliverAll();
    expect(await payment(session)).toBe('paid');
    expect(await fixture.balance(payer)).toBe(35n * USD);
  });

  test('a customer of the other mode is replaced, and its cards are neither shown nor charged before that', async () => {
    const customerBefore = await customer();
    await fixture.rows('UPDATE billing_account SET customer_live = true WHERE wallet_id = $1', [
      payer.userId,
    ]);
    expect(await cards()).toEqual([]);
    expect(await overview()).not.toContain('Visa •••• 4242');
    const chargesBefore = fixture.simulator.account.charges.size;
    await fixture.app.application.get(AutomaticTopUp, { strict: false }).trigger(payer.userId);
    expect(fixture.simulator.account.charges.size).toBe(chargesBefore);
    expect((await fixture.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(402);
    await fixture.topUp(payer, 15);
    expect(await fixture.balance(payer)).toBe(25n * USD);
    const customerAfter = await customer();
    expect(customerAfter).toMatchObject({ customer_live: false, automatic: false });
    expect(customerAfter?.customer_id).not.toBe(customerBefore?.customer_id);
    expect(await cards()).toHaveLength(1);
  });

  const poll = () => fixture.app.application.get(Checkout, { strict: false }).pollOpen();
  const payment = async (session: string) => {
    const [row] = await fixture.rows<{ state: string }>('SELECT state FROM payment WHERE session_id = $1', [
      session,
    ]);
    return row?.state;
  };
  const moveBackOneHour = (session: string) =>
    fixture.rows(`UPDATE payment SET created_at = now() - interval '1 hour' WHERE session_id = $1`, [
      session,
    ]);

  test('polling closes a delayed payment that failed and whose event was lost', async () => {
    const { account } = fixture.simulator;
    const [failed, running] = [await fixture.checkout(payer, 15), await fixture.checkout(payer, 16)];
    for (const session of [failed, running]) {
      account.payDelayed(session);
      await moveBackOneHour(session);
    }
    account.settleDelayedPayment(failed, false);
    account.events.length = 0;
    await poll();
    expect(await payment(failed)).toBe('failed');
    expect(await payment(running)).toBe('open');
  });

  test('a poll response that contradicts the stored checkout is quarantined once', async () => {
    const session = await fixture.checkout(payer, 15);
    fixture.simulator.account.pay(session);
    fixture.simulator.account.events.length = 0;
    Object.assign(fixture.simulator.account.sessions.get(session) ?? {}, { amount_total: 999 });
    await moveBackOneHour(session);
    await poll();
    await poll();
    expect(
      await fixture.rows(
        `SELECT type, problem FROM processor_event WHERE outcome = 'quarantined' AND fact->>'sessionId' = $1`,
        [session],
      ),
    ).toEqual([{ type: 'asked.session', problem: 'amount' }]);
    expect(await fixture.balance(payer)).toBe(10n * USD);
  });

  test('open checkouts of the other mode are not polled', async () => {
    const session = await fixture.checkout(payer, 15);
    await fixture.rows(
      `UPDATE payment SET live_mode = true, created_at = now() - interval '1 hour'
        WHERE wallet_id = $1 AND state = 'open'`,
      [payer.userId],
    );
    await poll();
    expect(await fixture.rows('SELECT polled_at FROM payment WHERE session_id = $1', [session])).toEqual([
      { polled_at: null },
    ]);
    await fixture.rows('UPDATE payment SET live_mode = false WHERE session_id = $1', [session]);
  });
});
