import { AutomaticTopUp, Checkout } from '#product/billing';
import { Outbox } from '#product/platform';
import { startTestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { type Payer, PaymentFixture } from './payment-fixture';
import { until } from '../../support/until';

const USD = 1_000_000_000n;
const declinedCard = '4000000000000341';
const authenticationCard = '4000002760003184';

describe('Cards, automatic top-ups and open checkouts', () => {
  let fixture: PaymentFixture;
  let payer: Payer;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
  });
  beforeEach(async () => {
    payer = await fixture.payer();
  });
  afterAll(() => fixture.close());

  const automatic = () => fixture.app.application.get(AutomaticTopUp, { strict: false });
  const chargeCount = () =>
    fixture.simulator.calls.filter((call) => call === 'POST /v1/payment_intents').length;
  const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };
  const cardsOf = async (owner: Payer): Promise<{ id: string; row_id: number }[]> =>
    (await fixture.send('GET', '/api/billing/payment-methods', owner)).body['data'] as {
      id: string;
      row_id: number;
    }[];
  const mails = async (subject: string): Promise<number> =>
    (await fixture.app.application.get(Outbox, { strict: false }).list()).filter(
      (mail) => mail.subject === subject,
    ).length;

  const saveCard = async (number: string): Promise<void> => {
    const { body } = await fixture.send('POST', '/api/billing/payment-method', payer);
    fixture.simulator.account.pay(String(body['url']).split('/').at(-1) ?? '', number);
    await fixture.deliverAll();
  };

  test("a payment saves its card, another is added on the processor's page, and the first stays the default", async () => {
    await fixture.topUp(payer, 10);
    await saveCard('5555555555554444');
    const cards = await cardsOf(payer);
    expect(cards).toMatchObject([
      { brand: 'visa', last4: '4242', default: true },
      { brand: 'mastercard', last4: '4444', default: false },
    ]);
    const secondCardPath = `/api/billing/payment-methods/${cards[1]?.id}`;
    expect((await fixture.send('POST', `${secondCardPath}/default`, payer)).status).toBe(200);
    expect((await cardsOf(payer))[0]).toMatchObject({ last4: '4444', default: true });
    expect((await fixture.send('DELETE', secondCardPath, payer)).status).toBe(200);
    expect(await cardsOf(payer)).toMatchObject([{ last4: '4242', default: true }]);
    expect((await fixture.send('DELETE', secondCardPath, payer)).status).toBe(404);
  });

  test('wallet payment methods are listed, named and charged like cards', async () => {
    await fixture.topUp(payer, 10, 'link');
    await saveCard('apple_pay');
    expect(await cardsOf(payer)).toMatchObject([
      { brand: 'link', last4: '', exp_month: null, exp_year: null, wallet: null, default: true },
      { brand: 'visa', last4: '4242', wallet: 'apple_pay', default: false },
    ]);
    const html = await (
      await fetch(`${fixture.app.url}/dashboard/billing`, {
        headers: { cookie: payer.cookie, accept: 'text/html' },
      })
    ).text();
    expect(html).toContain('<b>Link</b>');
    expect(html).toContain('Visa •••• 4242 · Apple Pay');
    await fixture.send('POST', '/api/billing/auto-topup', payer, rule);
    await automatic().trigger(payer.userId);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(60n * USD);
  });

  test("legacy paths accept the card's row number, and another user's card returns 404", async () => {
    await fixture.topUp(payer, 10);
    const [card] = await cardsOf(payer);
    const otherPayer = await fixture.payer();
    for (const path of [`payment-methods/${card?.id}`, `payment-method/${card?.row_id}`]) {
      expect((await fixture.send('DELETE', `/api/billing/${path}`, otherPayer)).status).toBe(404);
      expect((await fixture.send('POST', `/api/billing/${path}/default`, otherPayer)).status).toBe(404);
    }
    expect((await fixture.send('DELETE', '/api/billing/payment-method/abc', payer)).status).toBe(422);
    expect(
      (await fixture.send('POST', `/api/billing/payment-method/${card?.row_id}/default`, payer)).status,
    ).toBe(200);
    expect((await fixture.send('DELETE', `/api/billing/payment-method/${card?.row_id}`, payer)).status).toBe(
      200,
    );
    expect(await cardsOf(payer)).toEqual([]);
  });

  test('a simultaneous automatic top-up on two nodes is charged once', async () => {
    await fixture.topUp(payer, 10);
    expect((await fixture.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
    const secondNode = await startTestApp({
      environment: fixture.simulator.environment,
      sharedDatabase: {
        url: fixture.app.environment['DATABASE_URL'] ?? '',
        ownerUrl: fixture.app.environment['MIGRATION_DATABASE_URL'] ?? '',
      },
    });
    const intentsBefore = fixture.simulator.account.intents.size;
    try {
      const nodes = [automatic(), secondNode.application.get(AutomaticTopUp, { strict: false })];
      await Promise.all(nodes.flatMap((node) => [node.trigger(payer.userId), node.trigger(payer.userId)]));
    } finally {
      await secondNode.close();
    }
    expect(fixture.simulator.account.intents.size).toBe(intentsBefore + 1);
    expect(await fixture.balance(payer)).toBe(60n * USD);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(60n * USD);
  });

  test('automatic top-ups stop at the monthly ceiling and notify the user once', async () => {
    await fixture.topUp(payer, 10);
    await fixture.send('POST', '/api/billing/auto-topup', payer, { ...rule, threshold: 500, amount: 60 });
    await automatic().trigger(payer.userId);
    const chargesBefore = chargeCount();
    await automatic().run();
    await automatic().run();
    expect(chargeCount()).toBe(chargesBefore);
    expect(await fixture.balance(payer)).toBe(70n * USD);
  });

  test.each([
    [declinedCard, 'generic_decline'],
    [authenticationCard, 'authentication_required'],
  ])(
    'a declined card (%s) is charged once, not retried for an hour, and reported by email',
    async (card, code) => {
      await saveCard(card);
      await fixture.send('POST', '/api/billing/auto-topup', payer, rule);
      const chargesBefore = chargeCount();
      await automatic().trigger(payer.userId);
      await automatic().trigger(payer.userId);
      await fixture.deliverAll();
      await automatic().trigger(payer.userId);
      expect(chargeCount()).toBe(chargesBefore + 1);
      const [account] = await fixture.rows<{ failures: number; failure_code: string; hours: number }>(
        `SELECT failures, failure_code, round(extract(epoch FROM paused_until - now()) / 3600)::int AS hours
         FROM billing_account WHERE wallet_id = $1`,
        [payer.userId],
      );
      expect(account).toEqual({ failures: 1, failure_code: code, hours: 1 });
      await until(async () => (await mails('Your automatic top-up did not go through')) > 0);
      expect(await fixture.balance(payer)).toBe(0n);
    },
  );

  test('five declines in a row disable automatic top-ups', async () => {
    await saveCard(declinedCard);
    await fixture.send('POST', '/api/billing/auto-topup', payer, rule);
    for (let round = 0; round < 7; round += 1) {
      await fixture.rows('UPDATE billing_account SET paused_until = NULL WHERE wallet_id = $1', [
        payer.userId,
      ]);
      await automatic().trigger(payer.userId);
    }
    expect(
      await fixture.rows('SELECT automatic, failures FROM billing_account WHERE wallet_id = $1', [
        payer.userId,
      ]),
    ).toEqual([{ automatic: false, failures: 5 }]);
  });

  test('a charge completed while a node crashed is not repeated, because the idempotency key stays the same', async () => {
    await fixture.topUp(payer, 10);
    await fixture.send('POST', '/api/billing/auto-topup', payer, rule);
    fixture.simulator.outages.push(500, 500, 500);
    await expect(automatic().trigger(payer.userId)).rejects.toThrow('billing_unavailable');
    await automatic().trigger(payer.userId);
    expect(await fixture.balance(payer)).toBe(60n * USD);
    expect(
      await fixture.rows(`SELECT state FROM payment WHERE wallet_id = $1 AND kind = 'automatic'`, [
        payer.userId,
      ]),
    ).toEqual([{ state: 'paid' }]);
  });

  test('invalid rules are refused', async () => {
    await fixture.topUp(payer, 10);
    for (const invalidRule of [
      { amount: 4 },
      { amount: 20000 },
      { monthly_ceiling: 10 },
      { threshold: -1 },
      { enabled: 'yes' },
    ]) {
      const answer = await fixture.send('POST', '/api/billing/auto-topup', payer, {
        ...rule,
        ...invalidRule,
      });
      expect([invalidRule, answer.status]).toEqual([invalidRule, 422]);
    }
    const payerWithoutCard = await fixture.payer();
    expect((await fixture.send('POST', '/api/billing/auto-topup', payerWithoutCard, rule)).status).toBe(402);
    expect((await fixture.send('POST', '/api/billing/auto-topup', payer, { enabled: false })).status).toBe(
      200,
    );
  });

  test('the hourly poll completes a checkout whose events were lost', async () => {
    const session = await fixture.checkout(payer, 25);
    const expiredCheckout = await fixture.checkout(payer, 26);
    fixture.simulator.account.pay(session);
    fixture.simulator.account.expire(expiredCheckout);
    fixture.simulator.account.events.length = 0;
    await fixture.rows(`UPDATE payment SET created_at = now() - interval '1 hour' WHERE wallet_id = $1`, [
      payer.userId,
    ]);
    await fixture.app.application.get(Checkout, { strict: false }).pollOpen();
    expect(await fixture.balance(payer)).toBe(25n * USD);
    const { body } = await fixture.send('GET', '/api/billing/payments?limit=1', payer);
    expect(body).toMatchObject({ data: [{ status: 'expired' }], has_more: true });
    const nextCheckout = await fixture.send(
      'GET',
      `/api/billing/payments?limit=1&cursor=${body['next_cursor']}`,
      payer,
    );
    expect(nextCheckout.body['data']).toMatchObject([{ status: 'paid', credit_usd: 25 }]);
  });

  test('a refund of spent credit leaves a balance due, which the next top-up pays first', async () => {
    const customer = await addCustomer(fixture.app, `debtor-${Date.now()}`);
    const debtor: Payer = { ...payer, userId: customer.userId };
    await fixture.rows('UPDATE session SET user_id = $1 WHERE user_id = $2', [customer.userId, payer.userId]);
    const intent = await fixture.topUp(debtor, 10);
    await fixture.app.database.transaction((tx) =>
      tx.query(`SELECT money_credit($1, -4000000000, 'adjustment', 'spent', $2)`, [
        customer.userId,
        `t-${customer.userId}`,
      ]),
    );
    fixture.simulator.account.refundsAndDisputes.refund(intent);
    await fixture.deliverAll();
    expect(await fixture.balance(debtor)).toBe(-4n * USD);
    await fixture.topUp(debtor, 10);
    expect(await fixture.balance(debtor)).toBe(6n * USD);
  });

  test('billing of an organisation is managed by its owners and administrators only', async () => {
    const [organisation] = await fixture.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    const owner = await fixture.payer({ organisationId, role: 'org_owner' });
    const admin = await fixture.payer({ organisationId, role: 'org_admin' });
    const member = await fixture.payer({ organisationId, role: 'user' });
    await fixture.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      owner.userId,
    ]);
    await fixture.topUp(admin, 10);
    expect(await fixture.balance(owner)).toBe(10n * USD);
    for (const [method, path, json] of [
      ['POST', 'checkout', { amount: 10 }],
      ['POST', 'add-funds', { amount: 10 }],
      ['GET', 'payments', undefined],
      ['GET', 'payment-methods', undefined],
      ['POST', 'auto-topup', rule],
      ['POST', 'payment-method', undefined],
      ['POST', 'link-provider-account', undefined],
    ] as const) {
      const answer = await fixture.send(method, `/api/billing/${path}`, member, json);
      expect([path, answer.status, answer.body['code']]).toEqual([path, 403, 'permission_denied']);
    }
  });
});
