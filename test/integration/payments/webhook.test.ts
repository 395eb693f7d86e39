import { deliver, signature } from '../../../simulator/processor/processor-simulator';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;

describe('top-ups and the events of the processor', () => {
  let house: PaymentHouse;
  let payer: Payer;

  beforeAll(async () => {
    house = await PaymentHouse.start();
  });
  beforeEach(async () => {
    payer = await house.payer();
  });
  afterAll(() => house.close());

  const account = () => house.simulator.account;
  const post = (text: string, header: string): Promise<number> =>
    deliver(house.app.url, { text }, header).then(({ status }) => status);

  test('a top-up charges amount / 0.95 rounded up, and credits the amount once its event comes', async () => {
    const session = await house.checkout(payer, 50);
    expect(account().sessions.get(session)).toMatchObject({ amount_total: 5264, currency: 'usd' });
    expect(account().pay(session)).toBe('paid');
    expect(await house.balance(payer)).toBe(0n);
    expect(await house.deliverAll()).toEqual([200, 200]);
    expect(await house.balance(payer)).toBe(50n * USD);
    const { body } = await house.send('GET', '/api/billing/payments', payer);
    expect(body['data']).toMatchObject([
      { status: 'paid', amount_usd: 52.64, fee_usd: 2.64, credit_usd: 50, credited_usd: 50 },
    ]);
    const [entry] = await house.rows<{ actor_label: string; user_id: number }>(
      `SELECT actor_label, user_id FROM activity WHERE action = 'billing.topped-up' AND user_id = $1`,
      [payer.userId],
    );
    expect(entry).toEqual({ actor_label: 'payment processor', user_id: payer.userId });
  });

  test('prices are in our currency, whatever the account shows customers abroad', async () => {
    expect(account().hasAdaptivePricing).toBe(true);
    const session = await house.checkout(payer, 50);
    account().pay(session);
    expect(account().sessions.get(session)).toMatchObject({ adaptive_pricing: { enabled: false } });
    expect(account().sessions.get(session)).not.toHaveProperty('presentment_details');
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(50n * USD);
  });

  test('ten deliveries of every event at once credit once', async () => {
    const session = await house.checkout(payer, 20);
    account().pay(session);
    const events = account().events.splice(0);
    const statuses = await Promise.all(
      Array.from({ length: 10 }, () => events)
        .flat()
        .map((event) => deliver(house.app.url, event).then(({ status }) => status)),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await house.balance(payer)).toBe(20n * USD);
  });

  test('refunds claw back in proportion, in any order, and nothing is left after a full one', async () => {
    const session = await house.checkout(payer, 30);
    account().pay(session);
    const intent = String(account().sessions.get(session)?.['payment_intent']);
    account().back.refund(intent, 1000);
    account().back.refund(intent, 500);
    const events = account().events.splice(0).reverse();
    for (const event of events) expect((await deliver(house.app.url, event)).status).toBe(200);
    // Of 31.58 charged, 15.00 went back: 30 - floor(30 * 1500 / 3158) in nano-dollars.
    const net = 30n * USD;
    expect(await house.balance(payer)).toBe(net - (net * 1500n) / 3158n);
    expect(
      await house.rows(`SELECT 1 FROM processor_event WHERE outcome = 'quarantined' AND problem = 'payment'`),
    ).toEqual([]);
    account().back.refund(intent);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(0n);
    const { body } = await house.send('GET', '/api/billing/payments', payer);
    expect(body['data'][0]).toMatchObject({ status: 'refunded', credited_usd: 0, refunded_usd: 31.58 });
  });

  test.each([
    ['is taken off the total of the charge', true],
    ['stays in the total of the charge', false],
  ])('a refund that the bank refuses days later is credit again, where it %s', async (_, isTakenOff) => {
    const intent = await house.topUp(payer, 30);
    account().back.refund(intent, 1000);
    const { id } = account().back.refund(intent, 500);
    const net = 30n * USD;
    const early = account().events.splice(0);
    for (const event of early) await deliver(house.app.url, event);
    expect(await house.balance(payer)).toBe(net - (net * 1500n) / 3158n);
    account().back.failRefund(id, isTakenOff);
    const late = account().events.splice(0).reverse();
    // Late, twice, and with what was told before once more after it.
    for (const event of [...late, ...late, ...early.toReversed()])
      expect((await deliver(house.app.url, event)).status).toBe(200);
    expect(await house.balance(payer)).toBe(net - (net * 1000n) / 3158n);
    const { body } = await house.send('GET', '/api/billing/payments', payer);
    expect(body['data'][0]).toMatchObject({ status: 'partially_refunded', refunded_usd: 10 });
    const entries = await house.rows<{ changes: object }>(
      `SELECT changes FROM activity WHERE action = 'billing.refund-failed' AND user_id = $1`,
      [payer.userId],
    );
    expect(entries).toHaveLength(1);
    const kinds = await house.rows<{ kind: string }>(
      `SELECT t.kind FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id
         JOIN ledger_transaction t ON t.id = e.transaction_id
        WHERE a.kind = 'wallet' AND a.owner_id = $1 ORDER BY t.id`,
      [payer.userId],
    );
    expect(kinds.map(({ kind }) => kind)).toEqual(['top-up', 'refund', 'refund', 'refund-failed']);
  });

  test('the failure of a refund that is told before all else is not forgotten', async () => {
    const session = await house.checkout(payer, 30);
    account().pay(session);
    const intent = String(account().sessions.get(session)?.['payment_intent']);
    const { id } = account().back.refund(intent);
    account().back.failRefund(id, true);
    for (const event of account().events.splice(0).reverse())
      expect((await deliver(house.app.url, event)).status).toBe(200);
    expect(await house.balance(payer)).toBe(30n * USD);
    expect(
      await house.rows(`SELECT 1 FROM processor_event WHERE outcome = 'quarantined' AND problem = 'payment'`),
    ).toEqual([]);
  });

  test('a dispute takes the credit, a won one gives it back, a lost one does not', async () => {
    const won = await house.topUp(payer, 10);
    const lost = await house.topUp(payer, 15);
    const [first, second] = [account().back.dispute(won), account().back.dispute(lost)];
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(0n);
    account().back.closeDispute(first.id, 'won');
    account().back.closeDispute(second.id, 'lost');
    for (const event of account().events.splice(0).reverse()) await deliver(house.app.url, event);
    expect(await house.balance(payer)).toBe(10n * USD);
  });

  test.each([
    ['after', false],
    ['before', true],
  ])('a dispute above its charge takes the credit, told %s the payment', async (_, isReversed) => {
    const session = await house.checkout(payer, 50);
    account().pay(session);
    const dispute = account().back.dispute(String(account().sessions.get(session)?.['payment_intent']), 5310);
    const events = account().events.splice(0);
    for (const event of isReversed ? events.toReversed() : events)
      expect((await deliver(house.app.url, event)).status).toBe(200);
    expect(await house.balance(payer)).toBe(0n);
    account().back.closeDispute(dispute.id, 'won');
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(50n * USD);
    expect(
      await house.rows(
        `SELECT 1 FROM processor_event WHERE outcome = 'quarantined' AND fact->>'disputeId' = $1`,
        [dispute.id],
      ),
    ).toEqual([]);
  });

  test('an inquiry takes nothing, and takes the credit once it becomes a dispute under the same id', async () => {
    const [closed, escalated] = [await house.topUp(payer, 10), await house.topUp(payer, 15)];
    const [first, second] = [account().back.inquire(closed), account().back.inquire(escalated)];
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(25n * USD);
    account().back.closeInquiry(first.id);
    account().back.escalate(second.id);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(10n * USD);
    account().back.closeDispute(second.id, 'won');
    for (const event of account().events.splice(0).reverse()) await deliver(house.app.url, event);
    expect(await house.balance(payer)).toBe(25n * USD);
  });

  test('a payment that takes days is credited when it is there, and not when it fails', async () => {
    const [kept, broken] = [await house.checkout(payer, 10), await house.checkout(payer, 11)];
    account().promise(kept);
    account().promise(broken);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(0n);
    account().settleDelayedPayment(kept, true);
    account().settleDelayedPayment(broken, false);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(10n * USD);
  });

  test('a declined card and an unconfirmed one leave the checkout open, and the next one pays', async () => {
    const session = await house.checkout(payer, 10);
    expect(account().pay(session, '4000000000000002')).toBe('declined');
    expect(account().pay(session, '4000002760003184', false)).toBe('unconfirmed');
    await house.deliverAll();
    expect((await house.send('GET', '/api/billing/payments', payer)).body['data'][0]).toMatchObject({
      status: 'open',
      failure_code: 'payment_intent_authentication_failure',
    });
    expect(account().pay(session, '4000002760003184', true)).toBe('paid');
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(10n * USD);
  });

  test('events that contradict our checkout are quarantined and credit nothing', async () => {
    const twist = async (
      change: (object: Record<string, unknown>, event: Record<string, unknown>) => void,
    ) => {
      const session = await house.checkout(payer, 10);
      account().pay(session);
      const [event] = account()
        .events.splice(0)
        .filter(({ type }) => type === 'checkout.session.completed');
      const twisted = JSON.parse(event?.text ?? '');
      change(twisted.data.object, twisted);
      const text = JSON.stringify(twisted);
      expect(await post(text, signature(text))).toBe(200);
      const [row] = await house.rows<{ outcome: string; problem: string }>(
        'SELECT outcome, problem FROM processor_event WHERE event_id = $1',
        [event?.id],
      );
      expect(row?.outcome).toBe('quarantined');
      return row?.problem;
    };
    expect(await twist((object) => (object['amount_total'] = 999))).toBe('amount');
    expect(await twist((object) => (object['currency'] = 'eur'))).toBe('currency');
    expect(await twist((object) => (object['metadata'] = { wallet: '1' }))).toBe('wallet');
    expect(await twist((object) => (object['customer'] = 'cus_other'))).toBe('customer');
    expect(await twist((object) => (object['id'] = 'cs_test_foreign'))).toBe('payment');
    expect(await twist((_object, event) => (event['livemode'] = true))).toBe('mode');
    expect(await house.balance(payer)).toBe(0n);
  });

  test('forged, stale, early, re-serialised and unsigned events are refused', async () => {
    await house.checkout(payer, 10);
    const text = JSON.stringify({ id: 'evt_forged', type: 'checkout.session.completed', livemode: false });
    const now = Math.floor(Date.now() / 1_000);
    expect(await post(text, signature(text, 'whsec_somebodyelses0001'))).toBe(400);
    expect(await post(text, signature(text, ''))).toBe(400);
    expect(await post(text, signature(text, undefined, now - 301))).toBe(400);
    expect(await post(text, signature(text, undefined, now + 360))).toBe(400);
    const stale = signature(text, undefined, now - 301);
    for (const twice of [`t=${now},${stale}`, `${stale},t=${now}`]) expect(await post(text, twice)).toBe(400);
    expect(await post(JSON.stringify(JSON.parse(text), null, 1), signature(text))).toBe(400);
    expect(await post(text, '')).toBe(400);
    expect(await post(text, 't=1,v1=')).toBe(400);
    expect(await house.rows(`SELECT 1 FROM processor_event WHERE event_id = 'evt_forged'`)).toEqual([]);
  });

  test('unknown events are taken and ignored; too large ones are not read; what is no event is refused', async () => {
    const unknown = JSON.stringify({ id: 'evt_unknown', type: 'invoice.paid', livemode: false, data: {} });
    expect(await post(unknown, signature(unknown))).toBe(200);
    const large = JSON.stringify({ id: 'evt_large', pad: 'x'.repeat(262_144) });
    expect(await post(large, signature(large))).toBe(413);
    const none = JSON.stringify({ id: 5 });
    expect(await post(none, signature(none))).toBe(400);
  });

  test('amounts other than plain dollars from 5 to 10,000 are refused', async () => {
    const bad = ['0', '-5', '4.99', '10000.01', '1e2', '"50"', '10.001', 'null', '[50]', 'true', '1e309'];
    for (const amount of bad) {
      const answer = await house.raw('POST', '/api/billing/checkout', payer, `{"amount":${amount}}`);
      expect([amount, answer.status]).toEqual([amount, 422]);
      expect(answer.body['code'] ?? answer.body['error']?.['code']).toBe('validation_error');
    }
    expect((await house.raw('POST', '/api/billing/checkout', payer, '{}')).status).toBe(422);
    expect((await house.raw('POST', '/api/billing/checkout', payer, '{"amount":10,"extra":1}')).status).toBe(
      422,
    );
    expect(await house.rows('SELECT 1 FROM payment WHERE wallet_id = $1', [payer.userId])).toEqual([]);
  });

  test('an outage of the processor sells nothing and says so', async () => {
    house.simulator.outages.push(500, 500, 500, 500);
    const answer = await house.send('POST', '/api/billing/checkout', payer, { amount: 10 });
    expect(answer.status).toBe(503);
    house.simulator.outages.length = 0;
  });
});

test('without a signing secret the webhook answers 503, and nothing is sold', async () => {
  const house = await PaymentHouse.start({ PROCESSOR_WEBHOOK_SECRET: '' });
  try {
    const text = JSON.stringify({ id: 'evt_1', type: 'checkout.session.completed', livemode: false });
    expect((await deliver(house.app.url, { text }, signature(text, ''))).status).toBe(503);
    const payer = await house.payer();
    expect((await house.send('POST', '/api/billing/checkout', payer, { amount: 10 })).status).toBe(503);
  } finally {
    await house.close();
  }
});
