import { EventSweep, handledEvents } from '#product/billing';
import { describedEvents } from '../../../simulator/processor/facts';
import { deliver } from '../../../simulator/processor/processor-simulator';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;

describe('Lost processor events', () => {
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
  const sweep = () => fixture.app.application.get(EventSweep, { strict: false }).run();
  const dropEvents = (): void => void account().events.splice(0);
  const intentOf = (session: string): string => String(account().sessions.get(session)?.['payment_intent']);
  const stateOf = async (): Promise<string | undefined> => {
    const rows = await fixture.rows<{ state: string }>('SELECT state FROM payment WHERE wallet_id = $1', [
      payer.userId,
    ]);
    return rows[0]?.state;
  };
  const startCheckout = (): Promise<string> => fixture.checkout(payer, 10);
  const cards = async (): Promise<unknown[]> =>
    (await fixture.send('GET', '/api/billing/payment-methods', payer)).body['data'] as unknown[];

  test('the event sweep finds a payment, its refund and its failed refund', async () => {
    account().pay(await startCheckout());
    dropEvents();
    await sweep();
    expect([await fixture.balance(payer), (await cards()).length]).toEqual([10n * USD, 1]);
    const intent = [...account().intents.keys()].at(-1) ?? '';
    const { id } = account().refundsAndDisputes.refund(intent);
    dropEvents();
    await sweep();
    expect(await fixture.balance(payer)).toBe(0n);
    account().refundsAndDisputes.failRefund(id, true);
    dropEvents();
    await sweep();
    expect(await fixture.balance(payer)).toBe(10n * USD);
  });

  test.each([
    ['created', 0n],
    ['lost', 0n],
    ['won', 10n],
  ])('the event sweep finds a dispute that was %s', async (state, balance) => {
    const intent = await fixture.topUp(payer, 10);
    const { id } = account().refundsAndDisputes.dispute(intent);
    if (state !== 'created') account().refundsAndDisputes.closeDispute(id, state === 'won' ? 'won' : 'lost');
    dropEvents();
    await sweep();
    expect(await fixture.balance(payer)).toBe(balance * USD);
  });

  test('the event sweep finds delayed payments that succeed or fail and an expired checkout', async () => {
    const pendingCheckout = await startCheckout();
    account().payDelayed(pendingCheckout);
    account().settleDelayedPayment(pendingCheckout, true);
    dropEvents();
    await sweep();
    expect(await fixture.balance(payer)).toBe(10n * USD);
    payer = await fixture.payer();
    const failedCheckout = await startCheckout();
    account().payDelayed(failedCheckout);
    account().settleDelayedPayment(failedCheckout, false);
    dropEvents();
    await sweep();
    expect(await stateOf()).toBe('failed');
    payer = await fixture.payer();
    account().expire(await startCheckout());
    dropEvents();
    await sweep();
    expect(await stateOf()).toBe('expired');
  });

  test('the event sweep finds a saved card, and a late event changes nothing', async () => {
    const { body } = await fixture.send('POST', '/api/billing/payment-method', payer);
    account().pay(String(body['url']).split('/').at(-1) ?? '');
    const events = account().events.splice(0);
    await sweep();
    expect(await cards()).toHaveLength(1);
    for (const event of events) {
      expect(await (await deliver(fixture.app.url, event)).json()).toMatchObject({ outcome: 'repeated' });
    }
    expect(await sweep()).toBe(0);
  });

  test.each(['order', 'reverse'])(
    'a raised dispute takes more credit, and one won after a loss returns all of it, with events in %s',
    async (order) => {
      const intent = await fixture.topUp(payer, 50);
      const { id } = account().refundsAndDisputes.dispute(intent, 1_000);
      account().refundsAndDisputes.increaseDispute(id, 2_632);
      const raisedEvents = account().events.splice(0);
      for (const event of order === 'order' ? raisedEvents : raisedEvents.reverse())
        await deliver(fixture.app.url, event);
      expect(await fixture.balance(payer)).toBe(50n * USD - (50n * USD * 2_632n) / 5_264n);
      account().refundsAndDisputes.closeDispute(id, 'lost');
      account().refundsAndDisputes.reopenDispute(id);
      account().refundsAndDisputes.closeDispute(id, 'won');
      const closedEvents = account().events.splice(0);
      for (const event of order === 'order' ? closedEvents : closedEvents.reverse())
        await deliver(fixture.app.url, event);
      for (const event of raisedEvents) await deliver(fixture.app.url, event);
      expect(await fixture.balance(payer)).toBe(50n * USD);
    },
  );

  test('a list that cannot be read is read in the next run', async () => {
    account().pay(await startCheckout());
    dropEvents();
    fixture.simulator.outages.push(500, 500, 500);
    await expect(sweep()).rejects.toMatchObject({ code: 'billing_unavailable' });
    expect(await fixture.balance(payer)).toBe(0n);
    await sweep();
    expect(await fixture.balance(payer)).toBe(10n * USD);
  });

  test('payments of other systems on the same account are not reported to operators', async () => {
    const otherAccount = account();
    const metadata = {};
    otherAccount.emit('checkout.session.completed', { customer: 'cus_other', mode: 'payment', metadata });
    otherAccount.emit('payment_intent.succeeded', { amount_received: 500, currency: 'eur', metadata });
    otherAccount.emit('charge.refunded', {
      payment_intent: 'pi_other',
      amount: 500,
      currency: 'eur',
      metadata,
    });
    otherAccount.emit('refund.created', {
      payment_intent: 'pi_other',
      amount: 500,
      currency: 'eur',
      status: 'succeeded',
    });
    otherAccount.emit('charge.dispute.created', {
      payment_intent: 'pi_other',
      amount: 500,
      currency: 'eur',
      status: 'lost',
    });
    expect(await fixture.deliverAll()).toEqual([200, 200, 200, 200, 200]);
    const rows = await fixture.rows<{ outcome: string }>(
      `SELECT outcome FROM processor_event WHERE outcome = 'quarantined' AND problem = 'payment'`,
    );
    expect(rows).toEqual([]);
    const session = await startCheckout();
    expect(intentOf(session)).toBe('null');
  });

  test('every handled event type is one that the processor sends', () => {
    expect([...describedEvents.keys()].sort()).toEqual([...handledEvents].sort());
  });
});
