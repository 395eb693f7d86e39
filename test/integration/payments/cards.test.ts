import { AutomaticTopUp, Checkout } from '#product/billing';
import { Outbox } from '#product/platform';
import { startTestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { type Payer, PaymentHouse } from './payment-house';
import { until } from '../../support/until';

const USD = 1_000_000_000n;
const declinesLater = '4000000000000341';
const asksItsOwner = '4000002760003184';

describe('cards, automatic top-ups and open checkouts', () => {
  let house: PaymentHouse;
  let payer: Payer;

  beforeAll(async () => {
    house = await PaymentHouse.start();
  });
  beforeEach(async () => {
    payer = await house.payer();
  });
  afterAll(() => house.close());

  const automatic = () => house.app.application.get(AutomaticTopUp, { strict: false });
  const charges = () => house.simulator.calls.filter((call) => call === 'POST /v1/payment_intents').length;
  const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };
  const cardsOf = async (one: Payer): Promise<{ id: string; row_id: number }[]> =>
    (await house.send('GET', '/api/billing/payment-methods', one)).body['data'] as {
      id: string;
      row_id: number;
    }[];
  const mails = async (subject: string): Promise<number> =>
    (await house.app.application.get(Outbox, { strict: false }).list()).filter(
      (mail) => mail.subject === subject,
    ).length;

  const saveCard = async (number: string): Promise<void> => {
    const { body } = await house.send('POST', '/api/billing/payment-method', payer);
    house.simulator.account.pay(String(body['url']).split('/').at(-1) ?? '', number);
    await house.deliverAll();
  };

  test('a payment leaves its card, another is added on the processor’s page, and the first is the default', async () => {
    await house.topUp(payer, 10);
    await saveCard('5555555555554444');
    const cards = await cardsOf(payer);
    expect(cards).toMatchObject([
      { brand: 'visa', last4: '4242', default: true },
      { brand: 'mastercard', last4: '4444', default: false },
    ]);
    const second = `/api/billing/payment-methods/${cards[1]?.id}`;
    expect((await house.send('POST', `${second}/default`, payer)).status).toBe(200);
    expect((await cardsOf(payer))[0]).toMatchObject({ last4: '4444', default: true });
    expect((await house.send('DELETE', second, payer)).status).toBe(200);
    expect(await cardsOf(payer)).toMatchObject([{ last4: '4242', default: true }]);
    expect((await house.send('DELETE', second, payer)).status).toBe(404);
  });

  test('what wallets save is listed as cards are, named as it is, and charged', async () => {
    await house.topUp(payer, 10, 'link');
    await saveCard('apple_pay');
    expect(await cardsOf(payer)).toMatchObject([
      { brand: 'link', last4: '', exp_month: null, exp_year: null, wallet: null, default: true },
      { brand: 'visa', last4: '4242', wallet: 'apple_pay', default: false },
    ]);
    const html = await (
      await fetch(`${house.app.url}/dashboard/billing`, {
        headers: { cookie: payer.cookie, accept: 'text/html' },
      })
    ).text();
    expect(html).toContain('<b>Link</b>');
    expect(html).toContain('Visa •••• 4242 · Apple Pay');
    await house.send('POST', '/api/billing/auto-topup', payer, rule);
    await automatic().trigger(payer.userId);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(60n * USD);
  });

  test('the older paths take the number of our row, and a foreign card is as absent as none', async () => {
    await house.topUp(payer, 10);
    const [card] = await cardsOf(payer);
    const other = await house.payer();
    for (const path of [`payment-methods/${card?.id}`, `payment-method/${card?.row_id}`]) {
      expect((await house.send('DELETE', `/api/billing/${path}`, other)).status).toBe(404);
      expect((await house.send('POST', `/api/billing/${path}/default`, other)).status).toBe(404);
    }
    expect((await house.send('DELETE', '/api/billing/payment-method/abc', payer)).status).toBe(422);
    expect(
      (await house.send('POST', `/api/billing/payment-method/${card?.row_id}/default`, payer)).status,
    ).toBe(200);
    expect((await house.send('DELETE', `/api/billing/payment-method/${card?.row_id}`, payer)).status).toBe(
      200,
    );
    expect(await cardsOf(payer)).toEqual([]);
  });

  test('an automatic top-up on two nodes at once is one charge', async () => {
    await house.topUp(payer, 10);
    expect((await house.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
    const second = await startTestApp({
      environment: house.simulator.environment,
      sharedDatabase: {
        url: house.app.environment['DATABASE_URL'] ?? '',
        ownerUrl: house.app.environment['MIGRATION_DATABASE_URL'] ?? '',
      },
    });
    const intents = house.simulator.account.intents.size;
    try {
      const nodes = [automatic(), second.application.get(AutomaticTopUp, { strict: false })];
      await Promise.all(nodes.flatMap((node) => [node.trigger(payer.userId), node.trigger(payer.userId)]));
    } finally {
      await second.close();
    }
    expect(house.simulator.account.intents.size).toBe(intents + 1);
    expect(await house.balance(payer)).toBe(60n * USD);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(60n * USD);
  });

  test('it stops at the monthly ceiling and says so once', async () => {
    await house.topUp(payer, 10);
    await house.send('POST', '/api/billing/auto-topup', payer, { ...rule, threshold: 500, amount: 60 });
    await automatic().trigger(payer.userId);
    const before = charges();
    await automatic().run();
    await automatic().run();
    expect(charges()).toBe(before);
    expect(await house.balance(payer)).toBe(70n * USD);
  });

  test.each([
    [declinesLater, 'generic_decline'],
    [asksItsOwner, 'authentication_required'],
  ])(
    'a refused card (%s) is asked once, then left alone for an hour, and told by mail',
    async (card, code) => {
      await saveCard(card);
      await house.send('POST', '/api/billing/auto-topup', payer, rule);
      const before = charges();
      await automatic().trigger(payer.userId);
      await automatic().trigger(payer.userId);
      await house.deliverAll();
      await automatic().trigger(payer.userId);
      expect(charges()).toBe(before + 1);
      const [account] = await house.rows<{ failures: number; failure_code: string; hours: number }>(
        `SELECT failures, failure_code, round(extract(epoch FROM paused_until - now()) / 3600)::int AS hours
         FROM billing_account WHERE wallet_id = $1`,
        [payer.userId],
      );
      expect(account).toEqual({ failures: 1, failure_code: code, hours: 1 });
      await until(async () => (await mails('Your automatic top-up did not go through')) > 0);
      expect(await house.balance(payer)).toBe(0n);
    },
  );

  test('after five refusals in a row it is switched off', async () => {
    await saveCard(declinesLater);
    await house.send('POST', '/api/billing/auto-topup', payer, rule);
    for (let round = 0; round < 7; round += 1) {
      await house.rows('UPDATE billing_account SET paused_until = NULL WHERE wallet_id = $1', [payer.userId]);
      await automatic().trigger(payer.userId);
    }
    expect(
      await house.rows('SELECT automatic, failures FROM billing_account WHERE wallet_id = $1', [
        payer.userId,
      ]),
    ).toEqual([{ automatic: false, failures: 5 }]);
  });

  test('what the processor took while a node died is charged once, under the same key', async () => {
    await house.topUp(payer, 10);
    await house.send('POST', '/api/billing/auto-topup', payer, rule);
    house.simulator.outages.push(500, 500, 500);
    await expect(automatic().trigger(payer.userId)).rejects.toThrow('billing_unavailable');
    await automatic().trigger(payer.userId);
    expect(await house.balance(payer)).toBe(60n * USD);
    expect(
      await house.rows(`SELECT state FROM payment WHERE wallet_id = $1 AND kind = 'automatic'`, [
        payer.userId,
      ]),
    ).toEqual([{ state: 'paid' }]);
  });

  test('rules that cannot be are refused', async () => {
    await house.topUp(payer, 10);
    for (const wrong of [
      { amount: 4 },
      { amount: 20000 },
      { monthly_ceiling: 10 },
      { threshold: -1 },
      { enabled: 'yes' },
    ]) {
      const answer = await house.send('POST', '/api/billing/auto-topup', payer, { ...rule, ...wrong });
      expect([wrong, answer.status]).toEqual([wrong, 422]);
    }
    const without = await house.payer();
    expect((await house.send('POST', '/api/billing/auto-topup', without, rule)).status).toBe(402);
    expect((await house.send('POST', '/api/billing/auto-topup', payer, { enabled: false })).status).toBe(200);
  });

  test('a checkout whose events were lost is found by the hourly look', async () => {
    const session = await house.checkout(payer, 25);
    const expired = await house.checkout(payer, 26);
    house.simulator.account.pay(session);
    house.simulator.account.expire(expired);
    house.simulator.account.events.length = 0;
    await house.rows(`UPDATE payment SET created_at = now() - interval '1 hour' WHERE wallet_id = $1`, [
      payer.userId,
    ]);
    await house.app.application.get(Checkout, { strict: false }).pollOpen();
    expect(await house.balance(payer)).toBe(25n * USD);
    const { body } = await house.send('GET', '/api/billing/payments?limit=1', payer);
    expect(body).toMatchObject({ data: [{ status: 'expired' }], has_more: true });
    const next = await house.send(
      'GET',
      `/api/billing/payments?limit=1&cursor=${body['next_cursor']}`,
      payer,
    );
    expect(next.body['data']).toMatchObject([{ status: 'paid', credit_usd: 25 }]);
  });

  test('a refund of what was spent leaves a debt, and the next top-up pays it first', async () => {
    const customer = await addCustomer(house.app, `debtor-${Date.now()}`);
    const debtor: Payer = { ...payer, userId: customer.userId };
    await house.rows('UPDATE session SET user_id = $1 WHERE user_id = $2', [customer.userId, payer.userId]);
    const intent = await house.topUp(debtor, 10);
    await house.app.database.transaction((tx) =>
      tx.query(`SELECT money_credit($1, -4000000000, 'adjustment', 'spent', $2)`, [
        customer.userId,
        `t-${customer.userId}`,
      ]),
    );
    house.simulator.account.back.refund(intent);
    await house.deliverAll();
    expect(await house.balance(debtor)).toBe(-4n * USD);
    await house.topUp(debtor, 10);
    expect(await house.balance(debtor)).toBe(6n * USD);
  });

  test('billing of an organisation is moved by its owners and administrators, not by its members', async () => {
    const [organisation] = await house.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    const owner = await house.payer({ organisationId, role: 'org_owner' });
    const admin = await house.payer({ organisationId, role: 'org_admin' });
    const member = await house.payer({ organisationId, role: 'user' });
    await house.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      owner.userId,
    ]);
    await house.topUp(admin, 10);
    expect(await house.balance(owner)).toBe(10n * USD);
    for (const [method, path, json] of [
      ['POST', 'checkout', { amount: 10 }],
      ['POST', 'add-funds', { amount: 10 }],
      ['GET', 'payments', undefined],
      ['GET', 'payment-methods', undefined],
      ['POST', 'auto-topup', rule],
      ['POST', 'payment-method', undefined],
      ['POST', 'link-provider-account', undefined],
    ] as const) {
      const answer = await house.send(method, `/api/billing/${path}`, member, json);
      expect([path, answer.status, answer.body['code']]).toEqual([path, 403, 'permission_denied']);
    }
  });
});
