import { randomUUID } from 'node:crypto';
import { BillingAlerts, BillingReconciliation, Limits } from '#product/billing';
import { Outbox } from '#product/platform';
import { deliver, signatureHeader } from '../../../simulator/processor/processor-simulator';
import { type Payer, PaymentFixture } from './payment-fixture';
import { until } from '../../support/until';

const USD = 1_000_000_000n;

describe('Billing administration and emails', () => {
  let fixture: PaymentFixture;
  let payer: Payer;
  let operator: Payer;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
    operator = await fixture.payer({ role: 'platform_admin' });
  });
  beforeEach(async () => {
    payer = await fixture.payer();
  });
  afterAll(() => fixture.close());

  const adminPath = '/dashboard/admin/billing';
  const page = async (query = '', one = operator): Promise<Response> =>
    fetch(`${fixture.app.url}${adminPath}${query}`, { headers: { cookie: one.cookie, accept: 'text/html' } });
  const paymentOf = async (owner: Payer): Promise<string> =>
    (await fixture.send('GET', '/api/billing/payments', owner)).body['data'][0].id as string;
  const entries = (action: string, one: Payer) =>
    fixture.rows<{ actor_user_id: number | null; reason: string | null }>(
      'SELECT actor_user_id, reason FROM activity WHERE action = $1 AND user_id = $2',
      [action, one.userId],
    );
  const subjects = async (owner: Payer): Promise<string[]> => {
    const [user] = await fixture.rows<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
      owner.userId,
    ]);
    const mails = await fixture.app.application.get(Outbox, { strict: false }).list();
    return mails.filter(({ to }) => to === user?.email).map(({ subject }) => subject);
  };

  test('a refund is sent to the processor, takes the credit in proportion, and is logged with its reason', async () => {
    await fixture.topUp(payer, 30);
    const path = `${adminPath}/payments/${await paymentOf(payer)}/refund`;
    const refundForm = { amount: '15.79', reason: 'asked by letter', token: randomUUID() };
    expect((await fixture.send('POST', path, operator, refundForm)).status).toBe(200);
    const net = 30n * USD;
    expect(await fixture.balance(payer)).toBe(net - (net * 1579n) / 3158n);
    // Submitting the same form again refunds nothing more.
    expect((await fixture.send('POST', path, operator, refundForm)).status).toBe(200);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(net - (net * 1579n) / 3158n);
    expect(await entries('billing.refund-ordered', payer)).toContainEqual({
      actor_user_id: operator.userId,
      reason: 'asked by letter',
    });
    const fullRefundForm = { reason: 'all of it', token: randomUUID() };
    expect((await fixture.send('POST', path, operator, fullRefundForm)).status).toBe(200);
    expect(await fixture.balance(payer)).toBe(0n);
    const repeatedResponse = await fixture.send('POST', path, operator, {
      reason: 'again',
      token: randomUUID(),
    });
    expect([repeatedResponse.status, repeatedResponse.body['code']]).toEqual([409, 'conflict']);
  });

  test('a refund rejected by the bank is shown to the payer and the operator, and can be ordered again', async () => {
    await fixture.topUp(payer, 30);
    const path = `${adminPath}/payments/${await paymentOf(payer)}/refund`;
    expect((await fixture.send('POST', path, operator, { reason: 'one', token: randomUUID() })).status).toBe(
      200,
    );
    const [{ refund_id: id = '' } = {}] = await fixture.rows<{ refund_id: string }>(
      'SELECT r.refund_id FROM processor_refund r JOIN payment p USING (payment_intent_id) WHERE p.wallet_id = $1',
      [payer.userId],
    );
    fixture.simulator.account.refundsAndDisputes.failRefund(id, true);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(30n * USD);
    for (const [page, reader] of [
      ['/dashboard/billing/payments', payer],
      [adminPath, operator],
    ] as const) {
      const answer = await fetch(`${fixture.app.url}${page}`, {
        headers: { cookie: reader.cookie, accept: 'text/html' },
      });
      expect(await answer.text()).toContain('Refund of $31.58 refused by the bank');
    }
    expect((await fixture.send('POST', path, operator, { reason: 'two', token: randomUUID() })).status).toBe(
      200,
    );
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(0n);
  });

  test('an adjustment is posted once, with a reason, as credit or debit', async () => {
    const adjustment = {
      user_id: String(payer.userId),
      amount: '12.50',
      direction: 'credit',
      reason: 'goodwill',
      token: randomUUID(),
    };
    for (let submission = 0; submission < 2; submission += 1) {
      expect((await fixture.send('POST', `${adminPath}/adjust`, operator, adjustment)).status).toBe(200);
    }
    expect(await fixture.balance(payer)).toBe(12_500_000_000n);
    const form = await fetch(`${fixture.app.url}${adminPath}/adjust`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: operator.cookie, accept: 'text/html', origin: fixture.app.url },
      body: new URLSearchParams(adjustment),
    });
    const notice = form.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
    const noticePage = await page('', { ...operator, cookie: [operator.cookie, ...notice].join('; ') });
    expect(await noticePage.text()).toContain('Nothing was booked again.');
    const debitForm = { ...adjustment, direction: 'debit', amount: '2.50', token: randomUUID() };
    await fixture.send('POST', `${adminPath}/adjust`, operator, debitForm);
    expect(await fixture.balance(payer)).toBe(10n * USD);
    expect(await entries('billing.adjusted', payer)).toHaveLength(2);
    for (const invalidFields of [
      { amount: '0' },
      { amount: '1e3' },
      { reason: '' },
      { direction: 'up' },
      { user_id: 'x' },
    ]) {
      const answer = await fixture.send('POST', `${adminPath}/adjust`, operator, {
        ...adjustment,
        ...invalidFields,
        token: randomUUID(),
      });
      expect([invalidFields, answer.status]).toEqual([invalidFields, 422]);
    }
  });

  test('the billing administration is available to platform administrators only', async () => {
    const organisationAdmin = await fixture.payer({ role: 'org_admin' });
    for (const otherUser of [payer, organisationAdmin]) {
      expect((await page('', otherUser)).status).toBe(403);
      const form = {
        user_id: String(otherUser.userId),
        amount: '5',
        direction: 'credit',
        reason: 'mine',
        token: randomUUID(),
      };
      expect((await fixture.send('POST', `${adminPath}/adjust`, otherUser, form)).status).toBe(403);
    }
  });

  test('a quarantined event is shown, and is retried once its cause is fixed or dismissed', async () => {
    const session = await fixture.checkout(payer, 10);
    fixture.simulator.account.pay(session);
    const [event] = fixture.simulator.account.events
      .splice(0)
      .filter(({ type }) => type === 'checkout.session.completed');
    await fixture.rows('UPDATE billing_account SET customer_id = $2 WHERE wallet_id = $1', [
      payer.userId,
      'cus_lost',
    ]);
    expect((await deliver(fixture.app.url, event ?? { text: '' })).status).toBe(200);
    expect(await (await page()).text()).toContain(event?.id ?? '-');
    const resolve = `${adminPath}/events/${event?.id}/resolve`;
    const earlyRetry = await fixture.send('POST', resolve, operator, { how: 'retry', reason: 'too early' });
    expect([earlyRetry.status, earlyRetry.body['code']]).toEqual([409, 'conflict']);
    const customer = fixture.simulator.account.sessions.get(session)?.['customer'];
    await fixture.rows('UPDATE billing_account SET customer_id = $2 WHERE wallet_id = $1', [
      payer.userId,
      customer,
    ]);
    const secondRetry = await fixture.send('POST', resolve, operator, {
      how: 'retry',
      reason: 'customer restored',
    });
    expect(secondRetry.status).toBe(200);
    expect(await fixture.balance(payer)).toBe(10n * USD);
    expect((await fixture.send('POST', resolve, operator, { how: 'dismiss', reason: 'twice' })).status).toBe(
      404,
    );
    const otherEvent = JSON.stringify({
      id: `evt_${randomUUID()}`,
      type: 'payment_intent.succeeded',
      livemode: false,
      data: { object: { id: 'pi_other', amount_received: 100, currency: 'usd', metadata: { wallet: '1' } } },
    });
    await deliver(fixture.app.url, { text: otherEvent }, signatureHeader(otherEvent));
    const id = String(JSON.parse(otherEvent).id);
    const dismissal = await fixture.send('POST', `${adminPath}/events/${id}/resolve`, operator, {
      how: 'dismiss',
      reason: 'not ours',
    });
    expect(dismissal.status).toBe(200);
    expect(await (await page()).text()).not.toContain(id);
  });

  test('reconciliation compares payments of the current mode that started within its period only', async () => {
    const reconciliation = fixture.app.application.get(BillingReconciliation, { strict: false });
    await fixture.topUp(payer, 10);
    await fixture.topUp(payer, 11);
    const ownFindings = async () =>
      (await reconciliation.reconcile(1)).differences.filter(
        ({ payment }) => payment?.walletId === payer.userId,
      );
    // Their intents are missing in the processor's list: one started earlier, one belongs to the other mode.
    for (const [net, change] of [
      [1000, `created_at = now() - interval '3 days'`],
      [1100, 'live_mode = true'],
    ] as const)
      await fixture.rows(
        `UPDATE payment SET payment_intent_id = payment_intent_id || '_gone', ${change}
          WHERE wallet_id = $1 AND net_cents = $2`,
        [payer.userId, net],
      );
    expect(await ownFindings()).toEqual([]);
    const restoreSql = `live_mode = false, payment_intent_id = replace(payment_intent_id, '_gone', '')`;
    await fixture.rows(`UPDATE payment SET ${restoreSql} WHERE wallet_id = $1`, [payer.userId]);
  });

  test("reconciliation finds differences between our records and the processor's across several pages", async () => {
    const reconciliation = fixture.app.application.get(BillingReconciliation, { strict: false });
    await fixture.topUp(payer, 10);
    const intent = await fixture.topUp(payer, 11);
    const findingsBefore = await reconciliation.reconcile(1);
    expect(findingsBefore.differences.filter(({ payment }) => payment?.walletId === payer.userId)).toEqual(
      [],
    );
    // Drops the refund event.
    fixture.simulator.account.refundsAndDisputes.refund(intent, 100);
    fixture.simulator.account.events.length = 0;
    const findingsAfter = await reconciliation.reconcile(1);
    expect(findingsAfter.differences.filter(({ intentId }) => intentId === intent)).toMatchObject([
      { problem: 'refunded', ours: 0n, theirs: 100n },
    ]);
    // Drops the dispute event as well.
    const disputedIntent = await fixture.topUp(payer, 12);
    const { id } = fixture.simulator.account.refundsAndDisputes.dispute(disputedIntent);
    fixture.simulator.account.events.length = 0;
    const differences = async () =>
      (await reconciliation.reconcile(1)).differences.filter(({ intentId }) => intentId === disputedIntent);
    expect(await differences()).toMatchObject([{ problem: 'disputed', ours: 0n, theirs: 1264n }]);
    const html = await (await page('?reconcile=1')).text();
    expect([html.includes(intent), html.includes(disputedIntent)]).toEqual([true, true]);
    fixture.simulator.account.refundsAndDisputes.closeDispute(id, 'won');
    expect(await differences()).toEqual([]);
  });

  test('a low balance is notified once, and again after it has risen', async () => {
    const alerts = fixture.app.application.get(BillingAlerts, { strict: false });
    const lowBalanceSubject = 'Your balance is low';
    await fixture.topUp(payer, 10);
    const adjustBalance = (amount: string, direction: string) =>
      fixture.send('POST', `${adminPath}/adjust`, operator, {
        user_id: String(payer.userId),
        amount,
        direction,
        reason: 'test',
        token: randomUUID(),
      });
    await alerts.checkAll();
    await adjustBalance('8', 'debit');
    await alerts.checkAll();
    await alerts.checkAll();
    await until(async () => (await subjects(payer)).includes(lowBalanceSubject));
    expect((await subjects(payer)).filter((subject) => subject === lowBalanceSubject)).toHaveLength(1);
    await adjustBalance('8', 'credit');
    await alerts.checkAll();
    await adjustBalance('8', 'debit');
    await alerts.checkAll();
    await until(
      async () => (await subjects(payer)).filter((subject) => subject === lowBalanceSubject).length === 2,
    );
    const muteNotices = (notices: string[]) =>
      fixture.send('POST', '/dashboard/settings/notices', payer, { notices });
    const isNotified = async () => {
      const [row] = await fixture.rows<{ told: boolean }>(
        'SELECT low_balance_mailed_at IS NOT NULL AS told FROM billing_account WHERE wallet_id = $1',
        [payer.userId],
      );
      return row?.told;
    };
    expect((await muteNotices(['budget', 'models'])).status).toBe(200);
    await adjustBalance('8', 'credit');
    await alerts.checkAll();
    await adjustBalance('8', 'debit');
    await alerts.checkAll();
    expect(await isNotified()).toBe(false);
    expect((await muteNotices(['balance', 'budget'])).status).toBe(200);
    await alerts.checkAll();
    expect(await isNotified()).toBe(true);
  });

  test('a budget is notified at 50, 80 and 100 per cent, once each and only for the highest', async () => {
    const alerts = fixture.app.application.get(BillingAlerts, { strict: false });
    const limits = fixture.app.application.get(Limits, { strict: false });
    const scope = { kind: 'user', id: payer.userId } as const;
    await fixture.app.database.transaction((tx) =>
      limits.set(tx, scope, { period: 'monthly', limit: 10n * USD }),
    );
    const owner = fixture.app.environment['MIGRATION_DATABASE_URL'] ?? '';
    const { default: pg } = await import('pg');
    const client = new pg.Client(owner);
    await client.connect();
    const spend = (nano: bigint) =>
      client.query(`UPDATE spending_window SET spent = $2 WHERE kind = 'user' AND owner_id = $1`, [
        payer.userId,
        nano.toString(),
      ]);
    await client.query(`SELECT open_spending_windows(ARRAY['user'], ARRAY[$1]::bigint[], now())`, [
      payer.userId,
    ]);
    try {
      for (const amount of [4n, 6n, 7n, 10n, 10n]) {
        await spend(amount * USD);
        await alerts.checkAll();
      }
      await fixture.send('POST', '/dashboard/settings/notices', payer, { notices: ['balance'] });
      await spend(0n);
      await alerts.checkAll();
      await spend(8n * USD);
      await alerts.checkAll();
      await until(async () => (await subjects(payer)).length >= 2);
      expect((await subjects(payer)).toSorted()).toEqual([
        '100% of a budget is used: your own budget',
        '50% of a budget is used: your own budget',
      ]);
    } finally {
      await spend(0n);
      await client.end();
    }
  });

  test('budget notices beyond one batch are sent in the next run', async () => {
    const alerts = fixture.app.application.get(BillingAlerts, { strict: false });
    const limits = fixture.app.application.get(Limits, { strict: false });
    const users = await fixture.rows<{ id: number; email: string }>(
      `INSERT INTO user_account (email, display_name, status)
       SELECT 'many-' || n || '@example.com', 'many ' || n, 'active' FROM generate_series(1, 205) n RETURNING id, email`,
    );
    const ids = users.map(({ id }) => id);
    await fixture.app.database.transaction(async (tx) => {
      for (const id of ids) await limits.set(tx, { kind: 'user', id }, { period: 'monthly', limit: USD });
    });
    const { default: pg } = await import('pg');
    const client = new pg.Client(fixture.app.environment['MIGRATION_DATABASE_URL'] ?? '');
    await client.connect();
    const spend = (nano: bigint) =>
      client.query(`UPDATE spending_window SET spent = $2 WHERE kind = 'user' AND owner_id = ANY ($1)`, [
        ids,
        nano.toString(),
      ]);
    try {
      await client.query(
        `SELECT open_spending_windows(array_fill('user'::text, ARRAY[205]), $1::bigint[], now())`,
        [ids],
      );
      await spend((USD * 9n) / 10n);
      await alerts.checkAll();
      await alerts.checkAll();
      const outbox = fixture.app.application.get(Outbox, { strict: false });
      const notifiedCount = async (): Promise<number> => {
        const mails = await outbox.list();
        return new Set(mails.filter(({ to }) => to.startsWith('many-')).map(({ to }) => to)).size;
      };
      await until(async () => (await notifiedCount()) === 205);
    } finally {
      await spend(0n);
      await client.end();
    }
  });
});
