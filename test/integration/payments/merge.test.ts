import pg from 'pg';
import { DataSource } from 'typeorm';
import { KeepPaymentHolders1764700300000 } from '../../../migrations/1764700300000-keep-payment-holders';
import { AutomaticTopUp, verifyMoney } from '#product/billing';
import { Outbox } from '#product/platform';
import { until } from '../../support/until';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 200 };

describe('the money of a merged organisation', () => {
  let house: PaymentHouse;
  let operator: Payer;
  let former: Payer;
  let payer: Payer;
  let source: number;
  let target: number;

  beforeAll(async () => {
    house = await PaymentHouse.start();
    operator = await house.payer({ role: 'platform_admin' });
  });
  beforeEach(async () => {
    [source, target] = [await organisation(), await organisation()];
    former = await house.payer({ organisationId: source, role: 'org_owner' });
    payer = await house.payer({ organisationId: target, role: 'org_owner' });
    for (const [id, { userId }] of [
      [source, former],
      [target, payer],
    ] as const) {
      await house.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [id, userId]);
    }
  });
  afterAll(() => house.close());

  let organisations = 0;
  const organisation = async (): Promise<number> => {
    organisations += 1;
    const [row] = await house.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${organisations}`],
    );
    return row?.id ?? 0;
  };
  const merge = async (): Promise<void> => {
    const answer = await house.send('POST', '/dashboard/admin/organisations/merge', operator, {
      target_org_id: String(target),
      source_org_ids: String(source),
      billing_user_id: String(payer.userId),
    });
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ ok: true })]);
  };
  const balances = async (): Promise<bigint[]> =>
    (await Promise.all([former, payer].map((one) => house.balance(one)))).map((nano) => nano / USD);

  test('the card of the former payer is charged no more, which the owner is told', async () => {
    await house.topUp(former, 10);
    expect((await house.send('POST', '/api/billing/auto-topup', former, rule)).status).toBe(200);
    await merge();
    const charges = house.simulator.account.charges.size;
    await house.app.application.get(AutomaticTopUp, { strict: false }).run();
    expect(house.simulator.account.charges.size).toBe(charges);
    expect(await balances()).toEqual([0n, 10n]);
    expect(
      await house.rows(
        `SELECT action, actor_user_id, changes FROM activity
          WHERE user_id = $1 AND action = 'billing.auto-top-up-changed' ORDER BY id DESC LIMIT 1`,
        [former.userId],
      ),
    ).toEqual([
      {
        action: 'billing.auto-top-up-changed',
        actor_user_id: operator.userId,
        changes: { enabled: ['true', 'false'] },
      },
    ]);
    const [{ email } = { email: '' }] = await house.rows<{ email: string }>(
      'SELECT email FROM user_account WHERE id = $1',
      [former.userId],
    );
    const outbox = house.app.application.get(Outbox, { strict: false });
    await until(async () =>
      (await outbox.list()).some(
        ({ to, subject }) => to === email && subject === 'Automatic top-up is switched off',
      ),
    );
  });

  test('refunds and late payments reach the wallet that the balance went to, after a second merge too', async () => {
    const intent = await house.topUp(former, 50);
    const late = await house.checkout(former, 20);
    await merge();
    expect(await balances()).toEqual([0n, 50n]);
    house.simulator.account.pay(late);
    await house.deliverAll();
    expect(await balances()).toEqual([0n, 70n]);
    const first = payer;
    [source, target] = [target, await organisation()];
    payer = await house.payer({ organisationId: target, role: 'org_owner' });
    await merge();
    house.simulator.account.back.refund(intent);
    await house.deliverAll();
    expect(await balances()).toEqual([0n, 20n]);
    expect(await house.balance(first)).toBe(0n);
    const { checks } = await verifyMoney(house.app.database);
    expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
  });

  describe('a payment whose money went through two merges', () => {
    /** Every posting of payments of one wallet, with the wallet that it lies in. */
    const postings = () =>
      house.rows<{ ref: string; wallet: number }>(
        `SELECT t.ref, a.owner_id::integer AS wallet FROM payment p
           JOIN ledger_transaction t ON t.ref LIKE 'payment:' || p.public_id || ':%'
           JOIN ledger_entry e ON e.transaction_id = t.id
           JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
          WHERE p.wallet_id = $1 ORDER BY p.id, t.ref`,
        [former.userId],
      );
    const wrong = async () => {
      const { checks } = await verifyMoney(house.app.database);
      return checks.flatMap((check) => check.wrong.map(({ what }) => [check.name, what]));
    };
    const check = 'money of the processor is of a payment, in its wallet';

    let first: Payer;
    let owner: pg.Client;
    beforeEach(async () => {
      owner = new pg.Client(house.app.environment['MIGRATION_DATABASE_URL']);
      await owner.connect();
      await owner.query('SET session_replication_role = replica');
      const { account } = house.simulator;
      const [refunded, disputed] = [await house.topUp(former, 50), await house.topUp(former, 40)];
      const late = await house.checkout(former, 20);
      account.back.refund(refunded, 1_000);
      await house.deliverAll();
      await merge();
      account.back.refund(refunded, 1_000);
      const dispute = account.back.dispute(disputed);
      await house.deliverAll();
      await house.topUp(payer, 5);
      expect(await wrong()).toEqual([]);
      [first, source, target] = [payer, target, await organisation()];
      payer = await house.payer({ organisationId: target, role: 'org_owner' });
      await merge();
      account.back.refund(refunded, 1_000);
      account.back.closeDispute(dispute.id, 'won');
      account.pay(late);
      await house.deliverAll();
    });
    afterEach(() => owner.end());

    const move = (ref: string, from: number, to: number) =>
      owner.query(
        `UPDATE ledger_entry e SET account_id = (SELECT id FROM ledger_account WHERE kind = 'wallet' AND owner_id = $3)
           FROM ledger_transaction t, ledger_account a WHERE t.ref = $1 AND e.transaction_id = t.id
            AND a.id = e.account_id AND a.kind = 'wallet' AND a.owner_id = $2`,
        [ref, from, to],
      );
    const eachMoveIsFound = async (): Promise<void> => {
      const stranger = await house.payer();
      await house.topUp(stranger, 5);
      for (const { ref, wallet } of await postings()) {
        const others = [stranger, former, first, payer].filter(({ userId }) => userId !== wallet);
        for (const { userId: to } of others) {
          await move(ref, wallet, to);
          const found = await wrong();
          await move(ref, to, wallet);
          expect(found).toContainEqual([check, expect.stringContaining(ref)]);
        }
      }
      expect(await wrong()).toEqual([]);
    };

    test('has its postings in the wallets that held it then, and the books are well', async () => {
      const wallets = (await postings()).map(({ wallet }) => wallet);
      const expected = [former, former, first, payer, former, first, payer, payer];
      expect(wallets).toEqual(expected.map(({ userId }) => userId));
      expect(await wrong()).toEqual([]);
    });

    test('has none in another wallet unseen: neither an unrelated one nor one that held it at another time', async () => {
      await eachMoveIsFound();
    });

    test('is known where it lay when the books of before were updated', async () => {
      const books = await new DataSource({
        type: 'postgres',
        url: house.app.environment['MIGRATION_DATABASE_URL'],
      }).initialize();
      const [runner, migration] = [books.createQueryRunner(), new KeepPaymentHolders1764700300000()];
      await migration.down(runner);
      await migration.up(runner);
      await books.destroy();
      expect(await wrong()).toEqual([]);
      await eachMoveIsFound();
    });

    test('is held by no other wallet than the last merge named', async () => {
      const [before] = await house.rows<{ id: string }>(
        'SELECT id FROM payment WHERE wallet_id = $1 ORDER BY id LIMIT 1',
        [former.userId],
      );
      const hold = (wallet: number | null) =>
        owner.query('UPDATE payment SET holder_wallet_id = $2 WHERE id = $1', [before?.id, wallet]);
      for (const wallet of [first.userId, null]) {
        await hold(wallet);
        const found = await wrong();
        await hold(payer.userId);
        expect(found).toEqual([
          ['a payment is held by the wallet that a merge handed it to', expect.stringContaining('payment ')],
        ]);
      }
      expect(await wrong()).toEqual([]);
    });
  });

  test('a promotion is spent and ends where its money is', async () => {
    const grants: number[] = [];
    for (const [one, amount] of [
      [former, '20'],
      [payer, '5'],
    ] as const) {
      const made = await house.send('POST', '/dashboard/admin/promotions', operator, {
        name: 'Hello',
        scope: 'user',
        user_id: one.userId,
        amount,
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
      expect(made.status).toBe(200);
      grants.push(Number(made.body['id']));
    }
    expect(await balances()).toEqual([20n, 5n]);
    await merge();
    expect(await balances()).toEqual([0n, 25n]);
    // Spent by requests of the payer: of promotions first.
    const owner = new pg.Client(house.app.environment['MIGRATION_DATABASE_URL']);
    await owner.connect();
    const spend = (nano: bigint) =>
      owner.query(`UPDATE spending_window SET spent = spent + $2 WHERE kind = 'wallet' AND owner_id = $1`, [
        payer.userId,
        nano.toString(),
      ]);
    await spend(8n * USD);
    for (const id of grants) {
      const path = `/dashboard/admin/promotions/${id}/update`;
      expect((await house.send('POST', path, operator, { end: true })).status).toBe(200);
    }
    expect(await balances()).toEqual([0n, 0n]);
    await spend(-8n * USD);
    await owner.end();
  });
});
