import { AutomaticTopUp, Checkout } from '#product/billing';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };

describe('customers that the processor does not know any more', () => {
  let house: PaymentHouse;
  let payer: Payer;

  beforeAll(async () => {
    house = await PaymentHouse.start();
  });
  beforeEach(async () => {
    payer = await house.payer();
    await house.topUp(payer, 10);
    expect((await house.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
  });
  afterAll(() => house.close());

  const customer = async () => {
    const [row] = await house.rows<{ customer_id: string; customer_live: boolean; automatic: boolean }>(
      'SELECT customer_id, customer_live, automatic FROM billing_account WHERE wallet_id = $1',
      [payer.userId],
    );
    return row;
  };
  const cards = async (): Promise<unknown[]> =>
    (await house.send('GET', '/api/billing/payment-methods', payer)).body['data'] as unknown[];
  const overview = async (): Promise<string> =>
    (await house.raw('GET', '/dashboard/billing', payer)).body['text'] as string;

  test.each([
    ['a top-up', () => house.topUp(payer, 15)],
    [
      'the addition of a card',
      async () => {
        const { body } = await house.send('POST', '/api/billing/payment-method', payer);
        house.simulator.account.pay(String(body['url']).split('/').at(-1) ?? '', '5555555555554444');
        await house.deliverAll();
      },
    ],
  ])('after one was deleted there, %s makes a new one', async (_, act) => {
    const before = await customer();
    house.simulator.account.customers.delete(before?.customer_id ?? '');
    for (const method of house.simulator.account.methods.values())
      if (method.customer === before?.customer_id) method.customer = null;
    await act();
    const after = await customer();
    expect(after?.customer_id).not.toBe(before?.customer_id);
    expect(after).toMatchObject({ customer_live: false, automatic: false });
    expect(await cards()).toHaveLength(1);
    const entries = await house.rows<{ actor_label: string }>(
      `SELECT actor_label FROM activity WHERE action = 'billing.auto-top-up-changed' AND user_id = $1
        ORDER BY actor_label`,
      [payer.userId],
    );
    expect(entries.map(({ actor_label: label }) => label)).toContain('payment processor');
    // The next one finds the new customer known.
    const made = house.simulator.account.customers.size;
    await house.topUp(payer, 5);
    expect(house.simulator.account.customers.size).toBe(made);
  });

  // "A payment begun with a deleted customer cannot be taken over".
  test('pay the checkout that was begun before they were deleted and replaced', async () => {
    const session = await house.checkout(payer, 20);
    const before = await customer();
    house.simulator.account.customers.delete(before?.customer_id ?? '');
    await house.topUp(payer, 5);
    expect((await customer())?.customer_id).not.toBe(before?.customer_id);
    house.simulator.account.pay(session);
    await house.deliverAll();
    expect(await payment(session)).toBe('paid');
    expect(await house.balance(payer)).toBe(35n * USD);
  });

  test('one of the other mode is replaced, and until then its cards are neither shown nor charged', async () => {
    const before = await customer();
    await house.rows('UPDATE billing_account SET customer_live = true WHERE wallet_id = $1', [payer.userId]);
    expect(await cards()).toEqual([]);
    expect(await overview()).not.toContain('Visa •••• 4242');
    const charges = house.simulator.account.charges.size;
    await house.app.application.get(AutomaticTopUp, { strict: false }).trigger(payer.userId);
    expect(house.simulator.account.charges.size).toBe(charges);
    expect((await house.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(402);
    await house.topUp(payer, 15);
    expect(await house.balance(payer)).toBe(25n * USD);
    const after = await customer();
    expect(after).toMatchObject({ customer_live: false, automatic: false });
    expect(after?.customer_id).not.toBe(before?.customer_id);
    expect(await cards()).toHaveLength(1);
  });

  const poll = () => house.app.application.get(Checkout, { strict: false }).pollOpen();
  const payment = async (session: string) => {
    const [row] = await house.rows<{ state: string }>('SELECT state FROM payment WHERE session_id = $1', [
      session,
    ]);
    return row?.state;
  };
  const anHourAgo = (session: string) =>
    house.rows(`UPDATE payment SET created_at = now() - interval '1 hour' WHERE session_id = $1`, [session]);

  test('a payment that took days and failed is closed by the poll, when its event was lost', async () => {
    const { account } = house.simulator;
    const [failed, running] = [await house.checkout(payer, 15), await house.checkout(payer, 16)];
    for (const session of [failed, running]) {
      account.promise(session);
      await anHourAgo(session);
    }
    account.settleDelayedPayment(failed, false);
    account.events.length = 0;
    await poll();
    expect(await payment(failed)).toBe('failed');
    expect(await payment(running)).toBe('open');
  });

  test('an answer to the poll that contradicts us waits in quarantine, once', async () => {
    const session = await house.checkout(payer, 15);
    house.simulator.account.pay(session);
    house.simulator.account.events.length = 0;
    Object.assign(house.simulator.account.sessions.get(session) ?? {}, { amount_total: 999 });
    await anHourAgo(session);
    await poll();
    await poll();
    expect(
      await house.rows(
        `SELECT type, problem FROM processor_event WHERE outcome = 'quarantined' AND fact->>'sessionId' = $1`,
        [session],
      ),
    ).toEqual([{ type: 'asked.session', problem: 'amount' }]);
    expect(await house.balance(payer)).toBe(10n * USD);
  });

  test('open checkouts of the other mode are not asked for', async () => {
    const session = await house.checkout(payer, 15);
    await house.rows(
      `UPDATE payment SET live_mode = true, created_at = now() - interval '1 hour'
        WHERE wallet_id = $1 AND state = 'open'`,
      [payer.userId],
    );
    await poll();
    expect(await house.rows('SELECT polled_at FROM payment WHERE session_id = $1', [session])).toEqual([
      { polled_at: null },
    ]);
    await house.rows('UPDATE payment SET live_mode = false WHERE session_id = $1', [session]);
  });
});
