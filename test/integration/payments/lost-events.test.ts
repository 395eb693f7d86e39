import { EventSweep, handledEvents } from '#product/billing';
import { describedEvents } from '../../../simulator/processor/facts';
import { deliver } from '../../../simulator/processor/processor-simulator';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;

describe('events of the processor that are lost', () => {
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
  const sweep = () => house.app.application.get(EventSweep, { strict: false }).run();
  const lose = (): void => void account().events.splice(0);
  const intentOf = (session: string): string => String(account().sessions.get(session)?.['payment_intent']);
  const stateOf = async (): Promise<string | undefined> => {
    const rows = await house.rows<{ state: string }>('SELECT state FROM payment WHERE wallet_id = $1', [
      payer.userId,
    ]);
    return rows[0]?.state;
  };
  const begun = (): Promise<string> => house.checkout(payer, 10);
  const cards = async (): Promise<unknown[]> =>
    (await house.send('GET', '/api/billing/payment-methods', payer)).body['data'] as unknown[];

  test('a payment, its refund and its refused refund are found in the list', async () => {
    account().pay(await begun());
    lose();
    await sweep();
    expect([await house.balance(payer), (await cards()).length]).toEqual([10n * USD, 1]);
    const intent = [...account().intents.keys()].at(-1) ?? '';
    const { id } = account().back.refund(intent);
    lose();
    await sweep();
    expect(await house.balance(payer)).toBe(0n);
    account().back.failRefund(id, true);
    lose();
    await sweep();
    expect(await house.balance(payer)).toBe(10n * USD);
  });

  test.each([
    ['created', 0n],
    ['lost', 0n],
    ['won', 10n],
  ])('a dispute that was %s is found in the list', async (state, balance) => {
    const intent = await house.topUp(payer, 10);
    const { id } = account().back.dispute(intent);
    if (state !== 'created') account().back.closeDispute(id, state === 'won' ? 'won' : 'lost');
    lose();
    await sweep();
    expect(await house.balance(payer)).toBe(balance * USD);
  });

  test('a payment that takes days, whether it comes or fails, and a checkout that ends', async () => {
    const kept = await begun();
    account().promise(kept);
    account().settleDelayedPayment(kept, true);
    lose();
    await sweep();
    expect(await house.balance(payer)).toBe(10n * USD);
    payer = await house.payer();
    const failed = await begun();
    account().promise(failed);
    account().settleDelayedPayment(failed, false);
    lose();
    await sweep();
    expect(await stateOf()).toBe('failed');
    payer = await house.payer();
    account().expire(await begun());
    lose();
    await sweep();
    expect(await stateOf()).toBe('expired');
  });

  test('a saved card is found, and an event that came late after all changes nothing', async () => {
    const { body } = await house.send('POST', '/api/billing/payment-method', payer);
    account().pay(String(body['url']).split('/').at(-1) ?? '');
    const events = account().events.splice(0);
    await sweep();
    expect(await cards()).toHaveLength(1);
    for (const event of events) {
      expect(await (await deliver(house.app.url, event)).json()).toMatchObject({ outcome: 'repeated' });
    }
    expect(await sweep()).toBe(0);
  });

  test.each(['order', 'reverse'])(
    'a raised dispute takes more, and one won after it was lost gives all back, told in %s',
    async (order) => {
      const intent = await house.topUp(payer, 50);
      const { id } = account().back.dispute(intent, 1_000);
      account().back.raise(id, 2_632);
      const raised = account().events.splice(0);
      for (const event of order === 'order' ? raised : raised.reverse()) await deliver(house.app.url, event);
      expect(await house.balance(payer)).toBe(50n * USD - (50n * USD * 2_632n) / 5_264n);
      account().back.closeDispute(id, 'lost');
      account().back.appeal(id);
      account().back.closeDispute(id, 'won');
      const closed = account().events.splice(0);
      for (const event of order === 'order' ? closed : closed.reverse()) await deliver(house.app.url, event);
      for (const event of raised) await deliver(house.app.url, event);
      expect(await house.balance(payer)).toBe(50n * USD);
    },
  );

  test('a list that cannot be read is read the next time', async () => {
    account().pay(await begun());
    lose();
    house.simulator.outages.push(500, 500, 500);
    await expect(sweep()).rejects.toMatchObject({ code: 'billing_unavailable' });
    expect(await house.balance(payer)).toBe(0n);
    await sweep();
    expect(await house.balance(payer)).toBe(10n * USD);
  });

  test('payments of others on the same account are no question to an operator', async () => {
    const strangers = account();
    const metadata = {};
    strangers.emit('checkout.session.completed', { customer: 'cus_other', mode: 'payment', metadata });
    strangers.emit('payment_intent.succeeded', { amount_received: 500, currency: 'eur', metadata });
    strangers.emit('charge.refunded', { payment_intent: 'pi_other', amount: 500, currency: 'eur', metadata });
    strangers.emit('refund.created', {
      payment_intent: 'pi_other',
      amount: 500,
      currency: 'eur',
      status: 'succeeded',
    });
    strangers.emit('charge.dispute.created', {
      payment_intent: 'pi_other',
      amount: 500,
      currency: 'eur',
      status: 'lost',
    });
    expect(await house.deliverAll()).toEqual([200, 200, 200, 200, 200]);
    const rows = await house.rows<{ outcome: string }>(
      `SELECT outcome FROM processor_event WHERE outcome = 'quarantined' AND problem = 'payment'`,
    );
    expect(rows).toEqual([]);
    const session = await begun();
    expect(intentOf(session)).toBe('null');
  });

  test('every event that is handled is one that the processor tells', () => {
    expect([...describedEvents.keys()].sort()).toEqual([...handledEvents].sort());
  });
});
