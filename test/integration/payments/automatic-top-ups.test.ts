import { AutomaticTopUp } from '#product/billing';
import { Outbox } from '#product/platform';
import { until } from '../../support/until';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 200 };

interface Account {
  readonly automatic: boolean;
  readonly failures: number;
  readonly failure_code: string | null;
  readonly is_paused: boolean;
}

describe('automatic top-ups that do not simply succeed', () => {
  let house: PaymentHouse;
  let payer: Payer;
  let topUps: AutomaticTopUp;

  beforeAll(async () => {
    house = await PaymentHouse.start();
    topUps = house.app.application.get(AutomaticTopUp, { strict: false });
  });
  beforeEach(async () => {
    payer = await house.payer();
    await house.topUp(payer, 10);
    expect((await house.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
  });
  afterEach(async () => {
    house.simulator.account.takesDays = false;
    await house.rows('UPDATE billing_account SET automatic = false');
  });
  afterAll(() => house.close());

  const charges = () => house.simulator.calls.filter((call) => call === 'POST /v1/payment_intents').length;
  const account = async (): Promise<Account | undefined> => {
    const [row] = await house.rows<Account>(
      `SELECT automatic, failures, failure_code, coalesce(paused_until > now(), false) AS is_paused
         FROM billing_account WHERE wallet_id = $1`,
      [payer.userId],
    );
    return row;
  };
  const payments = () =>
    house.rows<{ state: string; failure_code: string | null; payment_intent_id: string | null }>(
      `SELECT state, failure_code, payment_intent_id FROM payment
        WHERE wallet_id = $1 AND kind = 'automatic' ORDER BY id`,
      [payer.userId],
    );
  const actions = async (): Promise<string[]> => {
    const rows = await house.rows<{ action: string }>(
      `SELECT action FROM activity WHERE user_id = $1 AND actor_kind = 'system' ORDER BY id`,
      [payer.userId],
    );
    return rows.map(({ action }) => action).filter((action) => action !== 'billing.topped-up');
  };
  const isTold = async (subject: string): Promise<boolean> => {
    const [user] = await house.rows<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
      payer.userId,
    ]);
    const mails = await house.app.application.get(Outbox, { strict: false }).list();
    return mails.some((mail) => mail.to === user?.email && mail.subject === subject);
  };
  const cards = async (): Promise<{ id: string; last4: string }[]> =>
    (await house.send('GET', '/api/billing/payment-methods', payer)).body['data'] as {
      id: string;
      last4: string;
    }[];
  const failed = 'Your automatic top-up did not go through';

  test('a card that was detached at the processor is asked once, paused, told and forgotten', async () => {
    const [card] = await cards();
    house.simulator.account.detach(card?.id ?? '');
    const before = charges();
    await topUps.run();
    await topUps.run();
    expect(charges()).toBe(before + 1);
    expect(await account()).toEqual({
      automatic: true,
      failures: 1,
      failure_code: 'card_refused',
      is_paused: true,
    });
    expect(await payments()).toEqual([
      { state: 'failed', failure_code: 'card_refused', payment_intent_id: null },
    ]);
    expect(await cards()).toEqual([]);
    await until(() => isTold(failed));
    expect(await actions()).toEqual(['billing.auto-top-up-started', 'billing.payment-failed']);
  });

  test('a wallet without a card is paused and told', async () => {
    const [card] = await cards();
    expect((await house.send('DELETE', `/api/billing/payment-methods/${card?.id}`, payer)).status).toBe(200);
    const before = charges();
    await topUps.run();
    await topUps.run();
    expect(charges()).toBe(before);
    expect(await account()).toMatchObject({ failures: 1, failure_code: 'no_card', is_paused: true });
    await until(() => isTold(failed));
  });

  test('a call without an answer is repeated with its own card, whichever is the default by then', async () => {
    house.simulator.lostAnswers = 3;
    await expect(topUps.trigger(payer.userId)).rejects.toThrow('billing_unavailable');
    expect(await account()).toMatchObject({ failures: 0, is_paused: false });
    const customer = [...house.simulator.account.customers.keys()].at(-1) ?? '';
    const other = house.simulator.account.addCard(customer, '5555555555554444');
    house.simulator.account.emit('setup_intent.succeeded', { customer });
    await house.deliverAll();
    expect((await house.send('POST', `/api/billing/payment-methods/${other.id}/default`, payer)).status).toBe(
      200,
    );
    await topUps.trigger(payer.userId);
    expect(await payments()).toMatchObject([{ state: 'paid' }]);
    expect(await house.balance(payer)).toBe(60n * USD);
  });

  test.each([true, false])(
    'a charge that takes days is one charge, and a poll ends it (kept: %s)',
    async (isKept) => {
      house.simulator.account.takesDays = true;
      const before = charges();
      await topUps.run();
      await house.rows(`UPDATE payment SET created_at = now() - interval '3 days' WHERE wallet_id = $1`, [
        payer.userId,
      ]);
      await topUps.run();
      await topUps.trigger(payer.userId);
      await topUps.pollOpen();
      expect(charges()).toBe(before + 1);
      const [open] = await payments();
      expect(open).toEqual({ state: 'open', failure_code: null, payment_intent_id: expect.any(String) });
      house.simulator.account.settleIntent(open?.payment_intent_id ?? '', isKept);
      // Its event is lost.
      house.simulator.account.events.length = 0;
      await topUps.pollOpen();
      expect(await payments()).toMatchObject([{ state: isKept ? 'paid' : 'failed' }]);
      expect(await house.balance(payer)).toBe((isKept ? 60n : 10n) * USD);
      expect(await account()).toMatchObject({ failures: isKept ? 0 : 1, is_paused: !isKept });
    },
  );

  test('a call that was never answered is given up, paused and told', async () => {
    house.simulator.outages.push(500, 500, 500);
    await expect(topUps.trigger(payer.userId)).rejects.toThrow('billing_unavailable');
    await house.rows(`UPDATE payment SET created_at = now() - interval '21 hours' WHERE wallet_id = $1`, [
      payer.userId,
    ]);
    await topUps.run();
    expect(await payments()).toMatchObject([{ state: 'failed', failure_code: 'not_answered' }]);
    expect(await account()).toMatchObject({ failures: 1, failure_code: 'not_answered', is_paused: true });
    await until(() => isTold(failed));
  });

  test('more stuck wallets than one look takes do not keep the others from their turn', async () => {
    const { userId } = payer;
    await house.rows(
      `WITH owners AS (
         INSERT INTO user_account (email, display_name, status)
         SELECT 'stuck-' || n || '@example.com', 'stuck', 'active' FROM generate_series(1, 101) n RETURNING id)
       INSERT INTO billing_account (wallet_id, automatic, threshold_nano, top_up_cents, monthly_ceiling_cents)
       SELECT id, true, 1, 500, 10000 FROM owners`,
    );
    const last = await house.payer();
    await house.topUp(last, 10);
    expect((await house.send('POST', '/api/billing/auto-topup', last, rule)).status).toBe(200);
    await topUps.run();
    expect([await house.balance({ ...payer, userId }), await house.balance(last)]).toEqual([
      60n * USD,
      60n * USD,
    ]);
  });

  test('the ceiling is of what the card is charged, fees among it, and its banner goes with the month', async () => {
    const short = { ...rule, monthly_ceiling: 52 };
    const refused = await house.send('POST', '/api/billing/auto-topup', payer, short);
    expect([refused.status, refused.body['param']]).toEqual([422, 'monthly_ceiling']);
    await house.send('POST', '/api/billing/auto-topup', payer, { ...rule, threshold: 1_000 });
    // 52.64 each: the fourth would be the 210.56th dollar.
    for (let round = 0; round < 5; round += 1) await topUps.trigger(payer.userId);
    expect(await payments()).toHaveLength(3);
    expect(await account()).toMatchObject({ failure_code: 'ceiling', is_paused: true });
    expect(await actions()).toEqual([
      ...Array.from({ length: 3 }, () => 'billing.auto-top-up-started'),
      'billing.auto-top-up-paused',
    ]);
    const page = async (): Promise<string> => {
      const answer = await fetch(`${house.app.url}/dashboard/billing`, {
        headers: { cookie: payer.cookie, accept: 'text/html' },
      });
      return answer.text();
    };
    const banner = 'The monthly ceiling is reached.';
    expect(await page()).toContain(banner);
    await house.rows(
      `UPDATE billing_account SET paused_until = now() - interval '1 second' WHERE wallet_id = $1`,
      [payer.userId],
    );
    expect(await page()).not.toContain(banner);
  });

  test('switching it on, other cards and five refusals in a row are on record for the owner of the wallet', async () => {
    const [organisation] = await house.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    const admin = await house.payer({ organisationId, role: 'org_admin' });
    await house.rows('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
      payer.userId,
      organisationId,
    ]);
    await house.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      payer.userId,
    ]);
    const customer = [...house.simulator.account.customers.keys()].at(-1) ?? '';
    const other = house.simulator.account.addCard(customer, '4000000000000341');
    house.simulator.account.emit('setup_intent.succeeded', { customer });
    await house.deliverAll();
    const first = (await cards()).find(({ last4 }) => last4 === '4242');
    for (const [method, path, body] of [
      ['POST', 'auto-topup', { ...rule, amount: 60 }],
      ['POST', `payment-methods/${other.id}/default`, undefined],
      ['DELETE', `payment-methods/${first?.id}`, undefined],
    ] as const) {
      expect((await house.send(method, `/api/billing/${path}`, admin, body)).status).toBe(200);
    }
    expect(
      await house.rows(
        `SELECT action, organisation_id FROM activity WHERE actor_user_id = $1 AND user_id = $2 ORDER BY id`,
        [admin.userId, payer.userId],
      ),
    ).toEqual(
      ['billing.auto-top-up-changed', 'billing.default-card-changed', 'billing.card-removed'].map(
        (action) => ({
          action,
          organisation_id: organisationId,
        }),
      ),
    );
    for (let round = 0; round < 5; round += 1) {
      await house.rows('UPDATE billing_account SET paused_until = NULL WHERE wallet_id = $1', [payer.userId]);
      await topUps.trigger(payer.userId);
    }
    expect((await actions()).slice(-3)).toEqual([
      'billing.auto-top-up-started',
      'billing.payment-failed',
      'billing.auto-top-up-changed',
    ]);
  });

  test('a card that is detached already can be removed here', async () => {
    const [card] = await cards();
    house.simulator.account.detach(card?.id ?? '');
    const path = `/api/billing/payment-methods/${card?.id}`;
    expect((await house.send('DELETE', path, payer)).status).toBe(200);
    expect(await cards()).toEqual([]);
  });
});
