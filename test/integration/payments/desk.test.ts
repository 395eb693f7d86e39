import { randomUUID } from 'node:crypto';
import { BillingAlerts, BillingReconciliation, Limits } from '#product/billing';
import { processorCheck } from '#inside/commands/processor-check';
import { Outbox } from '#product/platform';
import { apiVersion } from '../../../simulator/processor/facts';
import { deliver, signature } from '../../../simulator/processor/processor-simulator';
import { type Payer, PaymentHouse } from './payment-house';
import { until } from '../../support/until';

const USD = 1_000_000_000n;

describe('the operators’ desk, mails and the check of the processor', () => {
  let house: PaymentHouse;
  let payer: Payer;
  let operator: Payer;

  beforeAll(async () => {
    house = await PaymentHouse.start();
    operator = await house.payer({ role: 'platform_admin' });
  });
  beforeEach(async () => {
    payer = await house.payer();
  });
  afterAll(() => house.close());

  const desk = '/dashboard/admin/billing';
  const page = async (query = '', one = operator): Promise<Response> =>
    fetch(`${house.app.url}${desk}${query}`, { headers: { cookie: one.cookie, accept: 'text/html' } });
  const paymentOf = async (one: Payer): Promise<string> =>
    (await house.send('GET', '/api/billing/payments', one)).body['data'][0].id as string;
  const entries = (action: string, one: Payer) =>
    house.rows<{ actor_user_id: number | null; reason: string | null }>(
      'SELECT actor_user_id, reason FROM activity WHERE action = $1 AND user_id = $2',
      [action, one.userId],
    );
  const subjects = async (one: Payer): Promise<string[]> => {
    const [user] = await house.rows<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
      one.userId,
    ]);
    const mails = await house.app.application.get(Outbox, { strict: false }).list();
    return mails.filter(({ to }) => to === user?.email).map(({ subject }) => subject);
  };

  test('a refund goes out by the processor, takes the credit in proportion, and is on record with its reason', async () => {
    await house.topUp(payer, 30);
    const path = `${desk}/payments/${await paymentOf(payer)}/refund`;
    const act = { amount: '15.79', reason: 'asked by letter', token: randomUUID() };
    expect((await house.send('POST', path, operator, act)).status).toBe(200);
    const net = 30n * USD;
    expect(await house.balance(payer)).toBe(net - (net * 1579n) / 3158n);
    // The same form once more gives nothing back a second time.
    expect((await house.send('POST', path, operator, act)).status).toBe(200);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(net - (net * 1579n) / 3158n);
    expect(await entries('billing.refund-ordered', payer)).toContainEqual({
      actor_user_id: operator.userId,
      reason: 'asked by letter',
    });
    const rest = { reason: 'all of it', token: randomUUID() };
    expect((await house.send('POST', path, operator, rest)).status).toBe(200);
    expect(await house.balance(payer)).toBe(0n);
    const more = await house.send('POST', path, operator, { reason: 'again', token: randomUUID() });
    expect([more.status, more.body['code']]).toEqual([409, 'conflict']);
  });

  test('a refund that the bank refused is shown to its owner and on the desk, and can be ordered once more', async () => {
    await house.topUp(payer, 30);
    const path = `${desk}/payments/${await paymentOf(payer)}/refund`;
    expect((await house.send('POST', path, operator, { reason: 'one', token: randomUUID() })).status).toBe(
      200,
    );
    const [{ refund_id: id = '' } = {}] = await house.rows<{ refund_id: string }>(
      'SELECT r.refund_id FROM processor_refund r JOIN payment p USING (payment_intent_id) WHERE p.wallet_id = $1',
      [payer.userId],
    );
    house.simulator.account.back.failRefund(id, true);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(30n * USD);
    for (const [page, reader] of [
      ['/dashboard/billing/payments', payer],
      [desk, operator],
    ] as const) {
      const answer = await fetch(`${house.app.url}${page}`, {
        headers: { cookie: reader.cookie, accept: 'text/html' },
      });
      expect(await answer.text()).toContain('Refund of $31.58 refused by the bank');
    }
    expect((await house.send('POST', path, operator, { reason: 'two', token: randomUUID() })).status).toBe(
      200,
    );
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(0n);
  });

  test('an adjustment is booked once, with a reason, up or down', async () => {
    const act = {
      user_id: String(payer.userId),
      amount: '12.50',
      direction: 'credit',
      reason: 'goodwill',
      token: randomUUID(),
    };
    for (let sent = 0; sent < 2; sent += 1) {
      expect((await house.send('POST', `${desk}/adjust`, operator, act)).status).toBe(200);
    }
    expect(await house.balance(payer)).toBe(12_500_000_000n);
    const form = await fetch(`${house.app.url}${desk}/adjust`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: operator.cookie, accept: 'text/html', origin: house.app.url },
      body: new URLSearchParams(act),
    });
    const notice = form.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
    const told = await page('', { ...operator, cookie: [operator.cookie, ...notice].join('; ') });
    expect(await told.text()).toContain('Nothing was booked again.');
    const down = { ...act, direction: 'debit', amount: '2.50', token: randomUUID() };
    await house.send('POST', `${desk}/adjust`, operator, down);
    expect(await house.balance(payer)).toBe(10n * USD);
    expect(await entries('billing.adjusted', payer)).toHaveLength(2);
    for (const wrong of [
      { amount: '0' },
      { amount: '1e3' },
      { reason: '' },
      { direction: 'up' },
      { user_id: 'x' },
    ]) {
      const answer = await house.send('POST', `${desk}/adjust`, operator, {
        ...act,
        ...wrong,
        token: randomUUID(),
      });
      expect([wrong, answer.status]).toEqual([wrong, 422]);
    }
  });

  test('the desk is for platform administrators alone', async () => {
    const organisationAdmin = await house.payer({ role: 'org_admin' });
    for (const one of [payer, organisationAdmin]) {
      expect((await page('', one)).status).toBe(403);
      const act = {
        user_id: String(one.userId),
        amount: '5',
        direction: 'credit',
        reason: 'mine',
        token: randomUUID(),
      };
      expect((await house.send('POST', `${desk}/adjust`, one, act)).status).toBe(403);
    }
  });

  test('a quarantined event is shown, tried again once its cause is gone, or put away', async () => {
    const session = await house.checkout(payer, 10);
    house.simulator.account.pay(session);
    const [event] = house.simulator.account.events
      .splice(0)
      .filter(({ type }) => type === 'checkout.session.completed');
    await house.rows('UPDATE billing_account SET customer_id = $2 WHERE wallet_id = $1', [
      payer.userId,
      'cus_lost',
    ]);
    expect((await deliver(house.app.url, event ?? { text: '' })).status).toBe(200);
    expect(await (await page()).text()).toContain(event?.id ?? '-');
    const resolve = `${desk}/events/${event?.id}/resolve`;
    const early = await house.send('POST', resolve, operator, { how: 'retry', reason: 'too early' });
    expect([early.status, early.body['code']]).toEqual([409, 'conflict']);
    const customer = house.simulator.account.sessions.get(session)?.['customer'];
    await house.rows('UPDATE billing_account SET customer_id = $2 WHERE wallet_id = $1', [
      payer.userId,
      customer,
    ]);
    const again = await house.send('POST', resolve, operator, { how: 'retry', reason: 'customer restored' });
    expect(again.status).toBe(200);
    expect(await house.balance(payer)).toBe(10n * USD);
    expect((await house.send('POST', resolve, operator, { how: 'dismiss', reason: 'twice' })).status).toBe(
      404,
    );
    const foreign = JSON.stringify({
      id: `evt_${randomUUID()}`,
      type: 'payment_intent.succeeded',
      livemode: false,
      data: { object: { id: 'pi_other', amount_received: 100, currency: 'usd', metadata: { wallet: '1' } } },
    });
    await deliver(house.app.url, { text: foreign }, signature(foreign));
    const id = String(JSON.parse(foreign).id);
    const away = await house.send('POST', `${desk}/events/${id}/resolve`, operator, {
      how: 'dismiss',
      reason: 'not ours',
    });
    expect(away.status).toBe(200);
    expect(await (await page()).text()).not.toContain(id);
  });

  test('reconciliation compares payments of today’s mode, and none that was begun before its span', async () => {
    const reconciliation = house.app.application.get(BillingReconciliation, { strict: false });
    await house.topUp(payer, 10);
    await house.topUp(payer, 11);
    const mine = async () =>
      (await reconciliation.reconcile(1)).differences.filter(
        ({ payment }) => payment?.walletId === payer.userId,
      );
    // Their intents are not on the list: one began before the span, one is of the other mode.
    for (const [net, change] of [
      [1000, `created_at = now() - interval '3 days'`],
      [1100, 'live_mode = true'],
    ] as const)
      await house.rows(
        `UPDATE payment SET payment_intent_id = payment_intent_id || '_gone', ${change}
          WHERE wallet_id = $1 AND net_cents = $2`,
        [payer.userId, net],
      );
    expect(await mine()).toEqual([]);
    const back = `live_mode = false, payment_intent_id = replace(payment_intent_id, '_gone', '')`;
    await house.rows(`UPDATE payment SET ${back} WHERE wallet_id = $1`, [payer.userId]);
  });

  test('reconciliation finds what we and the processor tell differently, over several pages of its list', async () => {
    const reconciliation = house.app.application.get(BillingReconciliation, { strict: false });
    await house.topUp(payer, 10);
    const intent = await house.topUp(payer, 11);
    const before = await reconciliation.reconcile(1);
    expect(before.differences.filter(({ payment }) => payment?.walletId === payer.userId)).toEqual([]);
    // The event of this refund is lost.
    house.simulator.account.back.refund(intent, 100);
    house.simulator.account.events.length = 0;
    const after = await reconciliation.reconcile(1);
    expect(after.differences.filter(({ intentId }) => intentId === intent)).toMatchObject([
      { problem: 'refunded', ours: 0n, theirs: 100n },
    ]);
    // So is that of this dispute.
    const disputed = await house.topUp(payer, 12);
    const { id } = house.simulator.account.back.dispute(disputed);
    house.simulator.account.events.length = 0;
    const differing = async () =>
      (await reconciliation.reconcile(1)).differences.filter(({ intentId }) => intentId === disputed);
    expect(await differing()).toMatchObject([{ problem: 'disputed', ours: 0n, theirs: 1264n }]);
    const html = await (await page('?reconcile=1')).text();
    expect([html.includes(intent), html.includes(disputed)]).toEqual([true, true]);
    house.simulator.account.back.closeDispute(id, 'won');
    expect(await differing()).toEqual([]);
  });

  test('a low balance is told once, and again after it rose', async () => {
    const alerts = house.app.application.get(BillingAlerts, { strict: false });
    const low = 'Your balance is low';
    await house.topUp(payer, 10);
    const move = (amount: string, direction: string) =>
      house.send('POST', `${desk}/adjust`, operator, {
        user_id: String(payer.userId),
        amount,
        direction,
        reason: 'test',
        token: randomUUID(),
      });
    await alerts.checkAll();
    await move('8', 'debit');
    await alerts.checkAll();
    await alerts.checkAll();
    await until(async () => (await subjects(payer)).includes(low));
    expect((await subjects(payer)).filter((subject) => subject === low)).toHaveLength(1);
    await move('8', 'credit');
    await alerts.checkAll();
    await move('8', 'debit');
    await alerts.checkAll();
    await until(async () => (await subjects(payer)).filter((subject) => subject === low).length === 2);
    const mute = (notices: string[]) => house.send('POST', '/dashboard/settings/notices', payer, { notices });
    const isTold = async () => {
      const [row] = await house.rows<{ told: boolean }>(
        'SELECT low_balance_mailed_at IS NOT NULL AS told FROM billing_account WHERE wallet_id = $1',
        [payer.userId],
      );
      return row?.told;
    };
    expect((await mute(['budget', 'models'])).status).toBe(200);
    await move('8', 'credit');
    await alerts.checkAll();
    await move('8', 'debit');
    await alerts.checkAll();
    expect(await isTold()).toBe(false);
    expect((await mute(['balance', 'budget'])).status).toBe(200);
    await alerts.checkAll();
    expect(await isTold()).toBe(true);
  });

  test('a budget is told at 50, 80 and 100 per cent, each once and only the highest', async () => {
    const alerts = house.app.application.get(BillingAlerts, { strict: false });
    const limits = house.app.application.get(Limits, { strict: false });
    const scope = { kind: 'user', id: payer.userId } as const;
    await house.app.database.transaction((tx) =>
      limits.set(tx, scope, { period: 'monthly', limit: 10n * USD }),
    );
    const owner = house.app.environment['MIGRATION_DATABASE_URL'] ?? '';
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
      for (const spent of [4n, 6n, 7n, 10n, 10n]) {
        await spend(spent * USD);
        await alerts.checkAll();
      }
      await house.send('POST', '/dashboard/settings/notices', payer, { notices: ['balance'] });
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

  test('more budgets than are told in one run are told in the next', async () => {
    const alerts = house.app.application.get(BillingAlerts, { strict: false });
    const limits = house.app.application.get(Limits, { strict: false });
    const people = await house.rows<{ id: number; email: string }>(
      `INSERT INTO user_account (email, display_name, status)
       SELECT 'many-' || n || '@example.com', 'many ' || n, 'active' FROM generate_series(1, 205) n RETURNING id, email`,
    );
    const ids = people.map(({ id }) => id);
    await house.app.database.transaction(async (tx) => {
      for (const id of ids) await limits.set(tx, { kind: 'user', id }, { period: 'monthly', limit: USD });
    });
    const { default: pg } = await import('pg');
    const client = new pg.Client(house.app.environment['MIGRATION_DATABASE_URL'] ?? '');
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
      const outbox = house.app.application.get(Outbox, { strict: false });
      const reached = async (): Promise<number> => {
        const mails = await outbox.list();
        return new Set(mails.filter(({ to }) => to.startsWith('many-')).map(({ to }) => to)).size;
      };
      await until(async () => (await reached()) === 205);
    } finally {
      await spend(0n);
      await client.end();
    }
  });

  test('processor:check names the endpoint, its events and what is missing', async () => {
    const environment = { ...house.app.environment, BASE_URL: 'https://models.example.com' };
    const run = async (): Promise<[number, string]> => {
      let said = '';
      const write = (text: string): void => void (said += text);
      const code = await processorCheck.run([], {
        environment,
        write,
        writeStderr: write,
        confirm: () => Promise.resolve(false),
      });
      return [code, said];
    };
    const [none, saidNone] = await run();
    expect(none).toBe(1);
    expect(saidNone).toContain(
      'MISSING  an endpoint for https://models.example.com/api/billing/processor/webhook',
    );
    const given = new Map([
      ['url', 'https://models.example.com/api/billing/processor/webhook'],
      ['enabled_events[0]', 'checkout.session.completed'],
    ]);
    const endpoint = house.simulator.account.createEndpoint(given);
    const [some, saidSome] = await run();
    expect(some).toBe(1);
    expect(saidSome).toContain('MISSING  the event charge.dispute.created');
    Object.assign(endpoint, { enabled_events: ['*'], api_version: '2024-06-20' });
    const [old, saidOld] = await run();
    expect([old, saidOld]).toEqual([1, expect.stringContaining('this one tells events of 2024-06-20')]);
    const release = apiVersion.split('.')[1] ?? '';
    for (const api_version of [null, apiVersion, `2999-01-01.${release}`]) {
      Object.assign(endpoint, { api_version });
      expect(await run()).toEqual([0, expect.stringContaining('all is set up')]);
    }
  });
});
