import { AutomaticTopUp } from '#product/billing';
import { Outbox } from '#product/platform';
import { until } from '../../support/until';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 200 };

interface StoredPaymentAccount {
  readonly automatic: boolean;
  readonly failures: number;
  readonly failure_code: string | null;
  readonly is_paused: boolean;
}

describe('Automatic top-ups that fail or stall', () => {
  let fixture: PaymentFixture;
  let payer: Payer;
  let topUps: AutomaticTopUp;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
    topUps = fixture.app.application.get(AutomaticTopUp, { strict: false });
  });
  beforeEach(async () => {
    payer = await fixture.payer();
    await fixture.topUp(payer, 10);
    expect((await fixture.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
  });
  afterEach(async () => {
    fixture.simulator.account.hasDelayedSettlement = false;
    await fixture.rows('UPDATE billing_account SET automatic = false');
  });
  afterAll(() => fixture.close());

  const chargeCount = () =>
    fixture.simulator.calls.filter((call) => call === 'POST /v1/payment_intents').length;
  const account = async (): Promise<StoredPaymentAccount | undefined> => {
    const [row] = await fixture.rows<StoredPaymentAccount>(
      `SELECT automatic, failures, failure_code, coalesce(paused_until > now(), false) AS is_paused
         FROM billing_account WHERE wallet_id = $1`,
      [payer.userId],
    );
    return row;
  };
  const payments = () =>
    fixture.rows<{ state: string; failure_code: string | null; payment_intent_id: string | null }>(
      `SELECT state, failure_code, payment_intent_id FROM payment
        WHERE wallet_id = $1 AND kind = 'automatic' ORDER BY id`,
      [payer.userId],
    );
  const actions = async (): Promise<string[]> => {
    const rows = await fixture.rows<{ action: string }>(
      `SELECT action FROM activity WHERE user_id = $1 AND actor_kind = 'system' ORDER BY id`,
      [payer.userId],
    );
    return rows.map(({ action }) => action).filter((action) => action !== 'billing.topped-up');
  };
  const isNotified = async (subject: string): Promise<boolean> => {
    const [user] = await fixture.rows<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
      payer.userId,
    ]);
    const mails = await fixture.app.application.get(Outbox, { strict: false }).list();
    return mails.some((mail) => mail.to === user?.email && mail.subject === subject);
  };
  const cards = async (): Promise<{ id: string; last4: string }[]> =>
    (await fixture.send('GET', '/api/billing/payment-methods', payer)).body['data'] as {
      id: string;
      last4: string;
    }[];
  const failureSubject = 'Your automatic top-up did not go through';

  test('a card detached at the processor is tried once, pauses the rule, notifies the user and is forgotten', async () => {
    const [card] = await cards();
    fixture.simulator.account.detach(card?.id ?? '');
    const chargesBefore = chargeCount();
    await topUps.run();
    await topUps.run();
    expect(chargeCount()).toBe(chargesBefore + 1);
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
    await until(() => isNotified(failureSubject));
    expect(await actions()).toEqual(['billing.auto-top-up-started', 'billing.payment-failed']);
  });

  test('a wallet without a card pauses the rule and notifies the user', async () => {
    const [card] = await cards();
    expect((await fixture.send('DELETE', `/api/billing/payment-methods/${card?.id}`, payer)).status).toBe(
      200,
    );
    const chargesBefore = chargeCount();
    await topUps.run();
    await topUps.run();
    expect(chargeCount()).toBe(chargesBefore);
    expect(await account()).toMatchObject({ failures: 1, failure_code: 'no_card', is_paused: true });
    await until(() => isNotified(failureSubject));
  });

  test('a call without a response is retried with its original card, even if the default card has changed', async () => {
    fixture.simulator.lostResponses = 3;
    await expect(topUps.trigger(payer.userId)).rejects.toThrow('billing_unavailable');
    expect(await account()).toMatchObject({ failures: 0, is_paused: false });
    const customer = [...fixture.simulator.account.customers.keys()].at(-1) ?? '';
    const otherCard = fixture.simulator.account.addCard(customer, '5555555555554444');
    fixture.simulator.account.emit('setup_intent.succeeded', { customer });
    await fixture.deliverAll();
    expect(
      (await fixture.send('POST', `/api/billing/payment-methods/${otherCard.id}/default`, payer)).status,
    ).toBe(200);
    await topUps.trigger(payer.userId);
    expect(await payments()).toMatchObject([{ state: 'paid' }]);
    expect(await fixture.balance(payer)).toBe(60n * USD);
  });

  test.each([true, false])(
    'a charge that takes days is made once and completed by polling (kept: %s)',
    async (isKept) => {
      fixture.simulator.account.hasDelayedSettlement = true;
      const chargesBefore = chargeCount();
      await topUps.run();
      await fixture.rows(`UPDATE payment SET created_at = now() - interval '3 days' WHERE wallet_id = $1`, [
        payer.userId,
      ]);
      await topUps.run();
      await topUps.trigger(payer.userId);
      await topUps.pollOpen();
      expect(chargeCount()).toBe(chargesBefore + 1);
      const [open] = await payments();
      expect(open).toEqual({ state: 'open', failure_code: null, payment_intent_id: expect.any(String) });
      fixture.simulator.account.settleIntent(open?.payment_intent_id ?? '', isKept);
      // Drops the event.
      fixture.simulator.account.events.length = 0;
      await topUps.pollOpen();
      expect(await payments()).toMatchObject([{ state: isKept ? 'paid' : 'failed' }]);
      expect(await fixture.balance(payer)).toBe((isKept ? 60n : 10n) * USD);
      expect(await account()).toMatchObject({ failures: isKept ? 0 : 1, is_paused: !isKept });
    },
  );

  test('a call that never gets a response is abandoned, pauses the rule and notifies the user', async () => {
    fixture.simulator.outages.push(500, 500, 500);
    await expect(topUps.trigger(payer.userId)).rejects.toThrow('billing_unavailable');
    await fixture.rows(`UPDATE payment SET created_at = now() - interval '21 hours' WHERE wallet_id = $1`, [
      payer.userId,
    ]);
    await topUps.run();
    expect(await payments()).toMatchObject([{ state: 'failed', failure_code: 'not_answered' }]);
    expect(await account()).toMatchObject({ failures: 1, failure_code: 'not_answered', is_paused: true });
    await until(() => isNotified(failureSubject));
  });

  test('more stuck wallets than one batch holds do not block the others', async () => {
    const { userId } = payer;
    await fixture.rows(
      `WITH owners AS (
         INSERT INTO user_account (email, display_name, status)
         SELECT 'stuck-' || n || '@example.com', 'stuck', 'active' FROM generate_series(1, 101) n RETURNING id)
       INSERT INTO billing_account (wallet_id, automatic, threshold_nano, top_up_cents, monthly_ceiling_cents)
       SELECT id, true, 1, 500, 10000 FROM owners`,
    );
    const lastPayer = await fixture.payer();
    await fixture.topUp(lastPayer, 10);
    expect((await fixture.send('POST', '/api/billing/auto-topup', lastPayer, rule)).status).toBe(200);
    await topUps.run();
    expect([await fixture.balance({ ...payer, userId }), await fixture.balance(lastPayer)]).toEqual([
      60n * USD,
      60n * USD,
    ]);
  });

  test('the monthly ceiling includes fees, and its banner disappears in the next month', async () => {
    const lowCeilingRule = { ...rule, monthly_ceiling: 52 };
    const refusal = await fixture.send('POST', '/api/billing/auto-topup', payer, lowCeilingRule);
    expect([refusal.status, refusal.body['param']]).toEqual([422, 'monthly_ceiling']);
    await fixture.send('POST', '/api/billing/auto-topup', payer, { ...rule, threshold: 1_000 });
    // $52.64 each: the fourth charge would bring the total to $210.56.
    for (let round = 0; round < 5; round += 1) await topUps.trigger(payer.userId);
    expect(await payments()).toHaveLength(3);
    expect(await account()).toMatchObject({ failure_code: 'ceiling', is_paused: true });
    expect(await actions()).toEqual([
      ...Array.from({ length: 3 }, () => 'billing.auto-top-up-started'),
      'billing.auto-top-up-paused',
    ]);
    const page = async (): Promise<string> => {
      const answer = await fetch(`${fixture.app.url}/dashboard/billing`, {
        headers: { cookie: payer.cookie, accept: 'text/html' },
      });
      return answer.text();
    };
    const banner = 'The monthly ceiling is reached.';
    expect(await page()).toContain(banner);
    await fixture.rows(
      `UPDATE billing_account SET paused_until = now() - interval '1 second' WHERE wallet_id = $1`,
      [payer.userId],
    );
    expect(await page()).not.toContain(banner);
  });

  test('enabling the rule, card changes and five declines in a row are logged for the wallet owner', async () => {
    const [organisation] = await fixture.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    const admin = await fixture.payer({ organisationId, role: 'org_admin' });
    await fixture.rows('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
      payer.userId,
      organisationId,
    ]);
    await fixture.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      payer.userId,
    ]);
    const customer = [...fixture.simulator.account.customers.keys()].at(-1) ?? '';
    const otherCard = fixture.simulator.account.addCard(customer, '4000000000000341');
    fixture.simulator.account.emit('setup_intent.succeeded', { customer });
    await fixture.deliverAll();
    const first = (await cards()).find(({ last4 }) => last4 === '4242');
    for (const [method, path, body] of [
      ['POST', 'auto-topup', { ...rule, amount: 60 }],
      ['POST', `payment-methods/${otherCard.id}/default`, undefined],
      ['DELETE', `payment-methods/${first?.id}`, undefined],
    ] as const) {
      expect((await fixture.send(method, `/api/billing/${path}`, admin, body)).status).toBe(200);
    }
    expect(
      await fixture.rows(
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
      await fixture.rows('UPDATE billing_account SET paused_until = NULL WHERE wallet_id = $1', [
        payer.userId,
      ]);
      await topUps.trigger(payer.userId);
    }
    expect((await actions()).slice(-3)).toEqual([
      'billing.auto-top-up-started',
      'billing.payment-failed',
      'billing.auto-top-up-changed',
    ]);
  });

  test('a card already detached at the processor can be removed', async () => {
    const [card] = await cards();
    fixture.simulator.account.detach(card?.id ?? '');
    const path = `/api/billing/payment-methods/${card?.id}`;
    expect((await fixture.send('DELETE', path, payer)).status).toBe(200);
    expect(await cards()).toEqual([]);
  });
});
