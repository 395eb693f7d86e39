import pg from 'pg';
import { DataSource } from 'typeorm';
import { KeepPaymentHolders1764700300000 } from '../../../migrations/1764700300000-keep-payment-holders';
import { randomUUID } from 'node:crypto';
import { AutomaticTopUp, Escrow, verifyMoney, WalletHandover } from '#product/billing';
import { Outbox } from '#product/platform';
import { ordinaryOutcome } from '../../../proofs/money/record';
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
    await owner.query('UPDATE promotion_wallet SET spent = 0 WHERE wallet_id = $1', [payer.userId]);
    await owner.end();
  });

  /** "Merging organisations under traffic leaves $17.97 of $64 in the former payer's own wallet for good." */
  describe('under traffic', () => {
    let escrow: Escrow;
    beforeEach(() => {
      escrow = house.app.application.get(Escrow, { strict: false });
    });

    const hold = (wallet: Payer, usd: number) =>
      escrow.hold({
        requestId: randomUUID(),
        amount: BigInt(usd) * USD,
        refs: [{ kind: 'wallet', id: wallet.userId }],
      });
    const settle = async (held: Awaited<ReturnType<typeof hold>>, wallet: Payer, usd: number) =>
      held.settle(ordinaryOutcome({ walletId: wallet.userId, costNano: BigInt(usd) * USD }));
    const state = async ({ userId }: Payer) => {
      const rows = await house.rows<{ balance: string; escrowed: string }>(
        `SELECT (w.limit_nano - coalesce(r.limit_nano, 0) - w.spent)::text AS balance, w.escrowed::text
           FROM spending_window w LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
          WHERE w.kind = 'wallet' AND w.owner_id = $1`,
        [userId],
      );
      return rows.map(({ balance, escrowed }) => [BigInt(balance) / USD, BigInt(escrowed) / USD])[0];
    };
    const followed = async (wallet: Payer, expected: readonly bigint[]) => {
      await until(async () => {
        await house.app.application.get(WalletHandover, { strict: false }).followAll();
        return String(await state(wallet)) === String(expected);
      });
    };

    test('slices are called back before the transfer: only money of requests in flight stays', async () => {
      await house.topUp(former, 64);
      const inFlight = await hold(former, 3);
      await settle(await hold(former, 2), former, 1);
      await until(async () => (await house.balance(former)) === 63n * USD);
      // The node holds a slice of more than the request in flight needs. A late announcement of the credit hands an
      // earlier slice back, so another hold draws a new one.
      await until(async () => {
        (await hold(former, 2)).release();
        return (await state(former))![1]! > 10n;
      });
      await merge();
      await followed(former, [3n, 3n]);
      expect(await state(payer)).toEqual([60n, 0n]);
      // A later credit of the former payer is their own.
      await house.rows(`SELECT money_credit($1, $2, 'adjustment', 'gift', $3)`, [
        former.userId,
        (5n * USD).toString(),
        randomUUID(),
      ]);
      inFlight.release();
      await followed(former, [5n, 0n]);
      expect(await state(payer)).toEqual([63n, 0n]);
      expect(await house.rows('SELECT * FROM wallet_handover')).toEqual([]);
    });

    test('money that requests in flight leave follows, and what they spend does not', async () => {
      await house.topUp(former, 64);
      const [cheap, dear] = [await hold(former, 10), await hold(former, 5)];
      await merge();
      await settle(cheap, former, 4);
      await settle(dear, former, 7);
      await followed(former, [0n, 0n]);
      expect(await state(payer)).toEqual([53n, 0n]);
      const { checks } = await verifyMoney(house.app.database);
      expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
    });

    test('a second merge takes money that returns to the newest payer', async () => {
      await house.topUp(former, 64);
      const inFlight = await hold(former, 10);
      await merge();
      const first = payer;
      [source, target] = [target, await organisation()];
      payer = await house.payer({ organisationId: target, role: 'org_owner' });
      await merge();
      inFlight.release();
      await followed(former, [0n, 0n]);
      await followed(first, [0n, 0n]);
      expect(await state(payer)).toEqual([64n, 0n]);
    });

    test('requests in flight spend the promotions that the merge handed over', async () => {
      const made = await house.send('POST', '/dashboard/admin/promotions', operator, {
        name: 'Hello',
        scope: 'user',
        user_id: former.userId,
        amount: '20',
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
      const inFlight = await hold(former, 6);
      await merge();
      await settle(inFlight, former, 6);
      await followed(former, [0n, 0n]);
      expect(await state(payer)).toEqual([14n, 0n]);
      const path = `/dashboard/admin/promotions/${String(made.body['id'])}/update`;
      expect((await house.send('POST', path, operator, { end: true })).status).toBe(200);
      expect((await state(payer))![0]).toBe(0n);
    });
  });
});
