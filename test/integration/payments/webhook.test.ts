import { deliver, signatureHeader } from '../../../simulator/processor/processor-simulator';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;

describe('Top-ups and processor events', () => {
  let fixture: PaymentFixture;
  let payer: Payer;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
  });
  beforeEach(async () => {
    payer = await fixture.payer();
  });
  afterAll(() => fixture.close());

  const account = () => fixture.simulator.account;
  const post = (text: string, header: string): Promise<number> =>
    deliver(fixture.app.url, { text }, header).then(({ status }) => status);

  test('a top-up charges amount / 0.95 rounded up, and credits the amount once its event arrives', async () => {
    const session = await fixture.checkout(payer, 50);
    expect(account().sessions.get(session)).toMatchObject({ amount_total: 5264, currency: 'usd' });
    expect(account().pay(session)).toBe('paid');
    expect(await fixture.balance(payer)).toBe(0n);
    expect(await fixture.deliverAll()).toEqual([200, 200]);
    expect(await fixture.balance(payer)).toBe(50n * USD);
    const { body } = await fixture.send('GET', '/api/billing/payments', payer);
    expect(body['data']).toMatchObject([
      { status: 'paid', amount_usd: 52.64, fee_usd: 2.64, credit_usd: 50, credited_usd: 50 },
    ]);
    const [entry] = await fixture.rows<{ actor_label: string; user_id: number }>(
      `SELECT actor_label, user_id FROM activity WHERE action = 'billing.topped-up' AND user_id = $1`,
      [payer.userId],
    );
    expect(entry).toEqual({ actor_label: 'payment processor', user_id: payer.userId });
  });

  test("prices are in the platform's currency, whatever the processor shows to customers abroad", async () => {
    expect(account().hasAdaptivePricing).toBe(true);
    const session = await fixture.checkout(payer, 50);
    account().pay(session);
    expect(account().sessions.get(session)).toMatchObject({ adaptive_pricing: { enabled: false } });
    expect(account().sessions.get(session)).not.toHaveProperty('presentment_details');
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(50n * USD);
  });

  test('ten simultaneous deliveries of every event credit once', async () => {
    const session = await fixture.checkout(payer, 20);
    account().pay(session);
    const events = account().events.splice(0);
    const statuses = await Promise.all(
      Array.from({ length: 10 }, () => events)
        .flat()
        .map((event) => deliver(fixture.app.url, event).then(({ status }) => status)),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await fixture.balance(payer)).toBe(20n * USD);
  });

  test('refunds take back credit in proportion, in any order, and a full refund leaves nothing', async () => {
    const session = await fixture.checkout(payer, 30);
    account().pay(session);
    const intent = String(account().sessions.get(session)?.['payment_intent']);
    account().refundsAndDisputes.refund(intent, 1000);
    account().refundsAndDisputes.refund(intent, 500);
    const events = account().events.splice(0).reverse();
    for (const event of events) expect((await deliver(fixture.app.url, event)).status).toBe(200);
    // $31.58 charged, $15.00 refunded: 30 - floor(30 * 1500 / 3158) in nano-dollars.
    const net = 30n * USD;
    expect(await fixture.balance(payer)).toBe(net - (net * 1500n) / 3158n);
    expect(
      await fixture.rows(
        `SELECT 1 FROM processor_event WHERE outcome = 'quarantined' AND problem = 'payment'`,
      ),
    ).toEqual([]);
    account().refundsAndDisputes.refund(intent);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(0n);
    const { body } = await fixture.send('GET', '/api/billing/payments', payer);
    expect(body['data'][0]).toMatchObject({ status: 'refunded', credited_usd: 0, refunded_usd: 31.58 });
  });

  test.each([
    ['is taken off the total of the charge', true],
    ['stays in the total of the charge', false],
  ])('a refund that fails days later restores the credit if it %s', async (_, isTakenOff) => {
    const intent = await fixture.topUp(payer, 30);
    account().refundsAndDisputes.refund(intent, 1000);
    const { id } = account().refundsAndDisputes.refund(intent, 500);
    const net = 30n * USD;
    const earlyEvents = account().events.splice(0);
    for (const event of earlyEvents) await deliver(fixture.app.url, event);
    expect(await fixture.balance(payer)).toBe(net - (net * 1500n) / 3158n);
    account().refundsAndDisputes.failRefund(id, isTakenOff);
    const lateEvents = account().events.splice(0).reverse();
    // Late, twice, and followed by a redelivery of the earlier events.
    for (const event of [...lateEvents, ...lateEvents, ...earlyEvents.toReversed()])
      expect((await deliver(fixture.app.url, event)).status).toBe(200);
    expect(await fixture.balance(payer)).toBe(net - (net * 1000n) / 3158n);
    const { body } = await fixture.send('GET', '/api/billing/payments', payer);
    expect(body['data'][0]).toMatchObject({ status: 'partially_refunded', refunded_usd: 10 });
    const entries = await fixture.rows<{ changes: object }>(
      `SELECT changes FROM activity WHERE action = 'billing.refund-failed' AND user_id = $1`,
      [payer.userId],
    );
    expect(entries).toHaveLength(1);
    const kinds = await fixture.rows<{ kind: string }>(
      `SELECT t.kind FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id
         JOIN ledger_transaction t ON t.id = e.transaction_id
        WHERE a.kind = 'wallet' AND a.owner_id = $1 ORDER BY t.id`,
      [payer.userId],
    );
    expect(kinds.map(({ kind }) => kind)).toEqual(['top-up', 'refund', 'refund', 'refund-failed']);
  });

  test('a refund failure that arrives before every other event is applied', async () => {
    const session = await fixture.checkout(payer, 30);
    account().pay(session);
    const intent = String(account().sessions.get(session)?.['payment_intent']);
    const { id } = account().refundsAndDisputes.refund(intent);
    account().refundsAndDisputes.failRefund(id, true);
    for (const event of account().events.splice(0).reverse())
      expect((await deliver(fixture.app.url, event)).status).toBe(200);
    expect(await fixture.balance(payer)).toBe(30n * USD);
    expect(
      await fixture.rows(
        `SELECT 1 FROM processor_event WHERE outcome = 'quarantined' AND problem = 'payment'`,
      ),
    ).toEqual([]);
  });

  test('a dispute takes the credit, a win returns it, and a loss does not', async () => {
    const wonIntent = await fixture.topUp(payer, 10);
    const lostIntent = await fixture.topUp(payer, 15);
    const [first, second] = [
      account().refundsAndDisputes.dispute(wonIntent),
      account().refundsAndDisputes.dispute(lostIntent),
    ];
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(0n);
    account().refundsAndDisputes.closeDispute(first.id, 'won');
    account().refundsAndDisputes.closeDispute(second.id, 'lost');
    for (const event of account().events.splice(0).reverse()) await deliver(fixture.app.url, event);
    expect(await fixture.balance(payer)).toBe(10n * USD);
  });

  test.each([
    ['after', false],
    ['before', true],
  ])('a dispute above its charge takes the credit when delivered %s the payment', async (_, isReversed) => {
    const session = await fixture.checkout(payer, 50);
    account().pay(session);
    const dispute = account().refundsAndDisputes.dispute(
      String(account().sessions.get(session)?.['payment_intent']),
      5310,
    );
    const events = account().events.splice(0);
    for (const event of isReversed ? events.toReversed() : events)
      expect((await deliver(fixture.app.url, event)).status).toBe(200);
    expect(await fixture.balance(payer)).toBe(0n);
    account().refundsAndDisputes.closeDispute(dispute.id, 'won');
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(50n * USD);
    expect(
      await fixture.rows(
        `SELECT 1 FROM processor_event WHERE outcome = 'quarantined' AND fact->>'disputeId' = $1`,
        [dispute.id],
      ),
    ).toEqual([]);
  });

  test('an inquiry takes nothing until it becomes a dispute under the same id', async () => {
    const [closed, escalated] = [await fixture.topUp(payer, 10), await fixture.topUp(payer, 15)];
    const [first, second] = [
      account().refundsAndDisputes.inquire(closed),
      account().refundsAndDisputes.inquire(escalated),
    ];
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(25n * USD);
    account().refundsAndDisputes.closeInquiry(first.id);
    account().refundsAndDisputes.escalate(second.id);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(10n * USD);
    account().refundsAndDisputes.closeDispute(second.id, 'won');
    for (const event of account().events.splice(0).reverse()) await deliver(fixture.app.url, event);
    expect(await fixture.balance(payer)).toBe(25n * USD);
  });

  test('a delayed payment is credited when it succeeds, and not when it fails', async () => {
    const [kept, broken] = [await fixture.checkout(payer, 10), await fixture.checkout(payer, 11)];
    account().payDelayed(kept);
    account().payDelayed(broken);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(0n);
    account().settleDelayedPayment(kept, true);
    account().settleDelayedPayment(broken, false);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(10n * USD);
  });

  test('a declined card and an unconfirmed one leave the checkout open for the next card', async () => {
    const session = await fixture.checkout(payer, 10);
    expect(account().pay(session, '4000000000000002')).toBe('declined');
    expect(account().pay(session, '4000002760003184', false)).toBe('unconfirmed');
    await fixture.deliverAll();
    expect((await fixture.send('GET', '/api/billing/payments', payer)).body['data'][0]).toMatchObject({
      status: 'open',
      failure_code: 'payment_intent_authentication_failure',
    });
    expect(account().pay(session, '4000002760003184', true)).toBe('paid');
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(10n * USD);
  });

  test('events that contradict the stored checkout are quarantined and credit nothing', async () => {
    const deliverChanged = async (
      change: (object: Record<string, unknown>, event: Record<string, unknown>) => void,
    ) => {
      const session = await fixture.checkout(payer, 10);
      account().pay(session);
      const [event] = account()
        .events.splice(0)
        .filter(({ type }) => type === 'checkout.session.completed');
      const changedEvent = JSON.parse(event?.text ?? '');
      change(changedEvent.data.object, changedEvent);
      const text = JSON.stringify(changedEvent);
      expect(await post(text, signatureHeader(text))).toBe(200);
      const [row] = await fixture.rows<{ outcome: string; problem: string }>(
        'SELECT outcome, problem FROM processor_event WHERE event_id = $1',
        [event?.id],
      );
      expect(row?.outcome).toBe('quarantined');
      return row?.problem;
    };
    expect(await deliverChanged((object) => (object['amount_total'] = 999))).toBe('amount');
    expect(await deliverChanged((object) => (object['currency'] = 'eur'))).toBe('currency');
    expect(await deliverChanged((object) => (object['metadata'] = { wallet: '1' }))).toBe('wallet');
    expect(await deliverChanged((object) => (object['customer'] = 'cus_other'))).toBe('customer');
    expect(await deliverChanged((object) => (object['id'] = 'cs_test_foreign'))).toBe('payment');
    expect(await deliverChanged((_object, event) => (event['livemode'] = true))).toBe('mode');
    expect(await fixture.balance(payer)).toBe(0n);
  });

  test('forged, stale, early, re-serialised and unsigned events are refused', async () => {
    await fixture.checkout(payer, 10);
    const text = JSON.stringify({ id: 'evt_forged', type: 'checkout.session.completed', livemode: false });
    const now = Math.floor(Date.now() / 1_000);
    expect(await post(text, signatureHeader(text, 'whsec_somebodyelses0001'))).toBe(400);
    expect(await post(text, signatureHeader(text, ''))).toBe(400);
    expect(await post(text, signatureHeader(text, undefined, now - 301))).toBe(400);
    expect(await post(text, signatureHeader(text, undefined, now + 360))).toBe(400);
    const staleSignature = signatureHeader(text, undefined, now - 301);
    for (const header of [`t=${now},${staleSignature}`, `${staleSignature},t=${now}`])
      expect(await post(text, header)).toBe(400);
    expect(await post(JSON.stringify(JSON.parse(text), null, 1), signatureHeader(text))).toBe(400);
    expect(await post(text, '')).toBe(400);
    expect(await post(text, 't=1,v1=')).toBe(400);
    expect(await fixture.rows(`SELECT 1 FROM processor_event WHERE event_id = 'evt_forged'`)).toEqual([]);
  });

  test('unknown events are accepted and ignored, oversized ones are not read, and invalid ones are refused', async () => {
    const unknownEvent = JSON.stringify({
      id: 'evt_unknown',
      type: 'invoice.paid',
      livemode: false,
      data: {},
    });
    expect(await post(unknownEvent, signatureHeader(unknownEvent))).toBe(200);
    const largeEvent = JSON.stringify({ id: 'evt_large', pad: 'x'.repeat(262_144) });
    expect(await post(largeEvent, signatureHeader(largeEvent))).toBe(413);
    const invalidEvent = JSON.stringify({ id: 5 });
    expect(await post(invalidEvent, signatureHeader(invalidEvent))).toBe(400);
  });

  test('amounts other than plain dollars from 5 to 10,000 are refused', async () => {
    const invalidAmounts = [
      '0',
      '-5',
      '4.99',
      '10000.01',
      '1e2',
      '"50"',
      '10.001',
      'null',
      '[50]',
      'true',
      '1e309',
    ];
    for (const amount of invalidAmounts) {
      const answer = await fixture.raw('POST', '/api/billing/checkout', payer, `{"amount":${amount}}`);
      expect([amount, answer.status]).toEqual([amount, 422]);
      expect(answer.body['code'] ?? answer.body['error']?.['code']).toBe('validation_error');
    }
    expect((await fixture.raw('POST', '/api/billing/checkout', payer, '{}')).status).toBe(422);
    expect(
      (await fixture.raw('POST', '/api/billing/checkout', payer, '{"amount":10,"extra":1}')).status,
    ).toBe(422);
    expect(await fixture.rows('SELECT 1 FROM payment WHERE wallet_id = $1', [payer.userId])).toEqual([]);
  });

  test('a processor outage refuses top-ups with a clear message', async () => {
    fixture.simulator.outages.push(500, 500, 500, 500);
    const answer = await fixture.send('POST', '/api/billing/checkout', payer, { amount: 10 });
    expect(answer.status).toBe(503);
    fixture.simulator.outages.length = 0;
  });
});

test('without a signing secret the webhook returns 503, and top-ups are refused', async () => {
  const fixture = await PaymentFixture.start({ PROCESSOR_WEBHOOK_SECRET: '' });
  try {
    const text = JSON.stringify({ id: 'evt_1', type: 'checkout.session.completed', livemode: false });
    expect((await deliver(fixture.app.url, { text }, signatureHeader(text, ''))).status).toBe(503);
    const payer = await fixture.payer();
    expect((await fixture.send('POST', '/api/billing/checkout', payer, { amount: 10 })).status).toBe(503);
  } finally {
    await fixture.close();
  }
});
