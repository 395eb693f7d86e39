import pg from 'pg';
import { DataSource } from 'typeorm';
import { KeepPaymentHolders1764700300000 } from '../../../migrations/1764700300000-keep-payment-holders';
import { randomUUID } from 'node:crypto';
import { AutomaticTopUp, Escrow, verifyMoney, WalletHandover } from '#product/billing';
import { Outbox } from '#product/platform';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { until } from '../../support/until';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 200 };

describe('Money of a merged organisation', () => {
  let fixture: PaymentFixture;
  let operator: Payer;
  let formerPayer: Payer;
  let payer: Payer;
  let source: number;
  let target: number;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
    operator = await fixture.payer({ role: 'platform_admin' });
  });
  beforeEach(async () => {
    [source, target] = [await organisation(), await organisation()];
    formerPayer = await fixture.payer({ organisationId: source, role: 'org_owner' });
    payer = await fixture.payer({ organisationId: target, role: 'org_owner' });
    for (const [id, { userId }] of [
      [source, formerPayer],
      [target, payer],
    ] as const) {
      await fixture.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [id, userId]);
    }
  });
  afterAll(() => fixture.close());

  let organisationCount = 0;
  const organisation = async (): Promise<number> => {
    organisationCount += 1;
    const [row] = await fixture.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${organisationCount}`],
    );
    return row?.id ?? 0;
  };
  const merge = async (): Promise<void> => {
    const answer = await fixture.send('POST', '/dashboard/admin/organisations/merge', operator, {
      target_org_id: String(target),
      source_org_ids: String(source),
      billing_user_id: String(payer.userId),
    });
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ ok: true })]);
  };
  const balances = async (): Promise<bigint[]> =>
    (await Promise.all([formerPayer, payer].map((one) => fixture.balance(one)))).map((nano) => nano / USD);

  test('the card of the former payer is no longer charged, and its owner is notified', async () => {
    await fixture.topUp(formerPayer, 10);
    expect((await fixture.send('POST', '/api/billing/auto-topup', formerPayer, rule)).status).toBe(200);
    await merge();
    const chargesBefore = fixture.simulator.account.charges.size;
    await fixture.app.application.get(AutomaticTopUp, { strict: false }).run();
    expect(fixture.simulator.account.charges.size).toBe(chargesBefore);
    expect(await balances()).toEqual([0n, 10n]);
    expect(
      await fixture.rows(
        `SELECT action, actor_user_id, changes FROM activity
          WHERE user_id = $1 AND action = 'billing.auto-top-up-changed' ORDER BY id DESC LIMIT 1`,
        [formerPayer.userId],
      ),
    ).toEqual([
      {
        action: 'billing.auto-top-up-changed',
        actor_user_id: operator.userId,
        changes: { enabled: ['true', 'false'] },
      },
    ]);
    const [{ email } = { email: '' }] = await fixture.rows<{ email: string }>(
      'SELECT email FROM user_account WHERE id = $1',
      [formerPayer.userId],
    );
    const outbox = fixture.app.application.get(Outbox, { strict: false });
    await until(async () =>
      (await outbox.list()).some(
        ({ to, subject }) => to === email && subject === 'Automatic top-up is switched off',
      ),
    );
  });

  test('refunds and late payments reach the wallet that received the balance, also after a second merge', async () => {
    const intent = await fixture.topUp(formerPayer, 50);
    const lateCheckout = await fixture.checkout(formerPayer, 20);
    await merge();
    expect(await balances()).toEqual([0n, 50n]);
    fixture.simulator.account.pay(lateCheckout);
    await fixture.deliverAll();
    expect(await balances()).toEqual([0n, 70n]);
    const firstPayer = payer;
    [source, target] = [target, await organisation()];
    payer = await fixture.payer({ organisationId: target, role: 'org_owner' });
    await merge();
    fixture.simulator.account.refundsAndDisputes.refund(intent);
    await fixture.deliverAll();
    expect(await balances()).toEqual([0n, 20n]);
    expect(await fixture.balance(firstPayer)).toBe(0n);
    const { checks } = await verifyMoney(fixture.app.database);
    expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
  });

  describe('A payment whose money went through two merges', () => {
    /** Every posting of the payments of one wallet, with the wallet that holds it. */
    const postings = () =>
      fixture.rows<{ ref: string; wallet: number }>(
        `SELECT t.ref, a.owner_id::integer AS wallet FROM payment p
           JOIN ledger_transaction t ON t.ref LIKE 'payment:' || p.public_id || ':%'
           JOIN ledger_entry e ON e.transaction_id = t.id
           JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
          WHERE p.wallet_id = $1 ORDER BY p.id, t.ref`,
        [formerPayer.userId],
      );
    const findViolations = async () => {
      const { checks } = await verifyMoney(fixture.app.database);
      return checks.flatMap((check) => check.wrong.map(({ what }) => [check.name, what]));
    };
    const checkName = 'money of the processor is of a payment, in its wallet';

    let firstPayer: Payer;
    let owner: pg.Client;
    beforeEach(async () => {
      owner = new pg.Client(fixture.app.environment['MIGRATION_DATABASE_URL']);
      await owner.connect();
      await owner.query('SET session_replication_role = replica');
      const { account } = fixture.simulator;
      const [refunded, disputed] = [
        await fixture.topUp(formerPayer, 50),
        await fixture.topUp(formerPayer, 40),
      ];
      const lateCheckout = await fixture.checkout(formerPayer, 20);
      account.refundsAndDisputes.refund(refunded, 1_000);
      await fixture.deliverAll();
      await merge();
      account.refundsAndDisputes.refund(refunded, 1_000);
      const dispute = account.refundsAndDisputes.dispute(disputed);
      await fixture.deliverAll();
      await fixture.topUp(payer, 5);
      expect(await findViolations()).toEqual([]);
      [firstPayer, source, target] = [payer, target, await organisation()];
      payer = await fixture.payer({ organisationId: target, role: 'org_owner' });
      await merge();
      account.refundsAndDisputes.refund(refunded, 1_000);
      account.refundsAndDisputes.closeDispute(dispute.id, 'won');
      account.pay(lateCheckout);
      await fixture.deliverAll();
    });
    afterEach(() => owner.end());

    const movePosting = (ref: string, from: number, to: number) =>
      owner.query(
        `UPDATE ledger_entry e SET account_id = (SELECT id FROM ledger_account WHERE kind = 'wallet' AND owner_id = $3)
           FROM ledger_transaction t, ledger_account a WHERE t.ref = $1 AND e.transaction_id = t.id
            AND a.id = e.account_id AND a.kind = 'wallet' AND a.owner_id = $2`,
        [ref, from, to],
      );
    const expectEachMoveIsFound = async (): Promise<void> => {
      const stranger = await fixture.payer();
      await fixture.topUp(stranger, 5);
      for (const { ref, wallet } of await postings()) {
        const otherWallets = [stranger, formerPayer, firstPayer, payer].filter(
          ({ userId }) => userId !== wallet,
        );
        for (const { userId: to } of otherWallets) {
          await movePosting(ref, wallet, to);
          const violations = await findViolations();
          await movePosting(ref, to, wallet);
          expect(violations).toContainEqual([checkName, expect.stringContaining(ref)]);
        }
      }
      expect(await findViolations()).toEqual([]);
    };

    test('has its postings in the wallets that held it at the time, and the ledger is consistent', async () => {
      const wallets = (await postings()).map(({ wallet }) => wallet);
      const expected = [formerPayer, formerPayer, firstPayer, payer, formerPayer, firstPayer, payer, payer];
      expect(wallets).toEqual(expected.map(({ userId }) => userId));
      expect(await findViolations()).toEqual([]);
    });

    test('cannot have a posting in any other wallet without a violation being reported', async () => {
      await expectEachMoveIsFound();
    });

    test('has the correct wallet after ledgers of the previous version are migrated', async () => {
      const previousDatabase = await new DataSource({
        type: 'postgres',
        url: fixture.app.environment['MIGRATION_DATABASE_URL'],
      }).initialize();
      const [runner, migration] = [
        previousDatabase.createQueryRunner(),
        new KeepPaymentHolders1764700300000(),
      ];
      await migration.down(runner);
      await migration.up(runner);
      await previousDatabase.destroy();
      expect(await findViolations()).toEqual([]);
      await expectEachMoveIsFound();
    });

    test('is held by no other wallet than the one that the last merge named', async () => {
      const [before] = await fixture.rows<{ id: string }>(
        'SELECT id FROM payment WHERE wallet_id = $1 ORDER BY id LIMIT 1',
        [formerPayer.userId],
      );
      const setHolder = (wallet: number | null) =>
        owner.query('UPDATE payment SET holder_wallet_id = $2 WHERE id = $1', [before?.id, wallet]);
      for (const wallet of [firstPayer.userId, null]) {
        await setHolder(wallet);
        const violations = await findViolations();
        await setHolder(payer.userId);
        expect(violations).toEqual([
          ['a payment is held by the wallet that a merge handed it to', expect.stringContaining('payment ')],
        ]);
      }
      expect(await findViolations()).toEqual([]);
    });
  });

  test('a promotion grant is spent and ended in the wallet that holds its money', async () => {
    const grants: number[] = [];
    for (const [one, amount] of [
      [formerPayer, '20'],
      [payer, '5'],
    ] as const) {
      const createResponse = await fixture.send('POST', '/dashboard/admin/promotions', operator, {
        name: 'Hello',
        scope: 'user',
        user_id: one.userId,
        amount,
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
      expect(createResponse.status).toBe(200);
      grants.push(Number(createResponse.body['id']));
    }
    expect(await balances()).toEqual([20n, 5n]);
    await merge();
    expect(await balances()).toEqual([0n, 25n]);
    // Spent by requests of the payer, which use promotion grants first.
    const owner = new pg.Client(fixture.app.environment['MIGRATION_DATABASE_URL']);
    await owner.connect();
    const spend = (nano: bigint) =>
      owner.query(`UPDATE spending_window SET spent = spent + $2 WHERE kind = 'wallet' AND owner_id = $1`, [
        payer.userId,
        nano.toString(),
      ]);
    await spend(8n * USD);
    for (const id of grants) {
      const path = `/dashboard/admin/promotions/${id}/update`;
      expect((await fixture.send('POST', path, operator, { end: true })).status).toBe(200);
    }
    expect(await balances()).toEqual([0n, 0n]);
    await spend(-8n * USD);
    await owner.query('UPDATE promotion_wallet SET spent = 0 WHERE wallet_id = $1', [payer.userId]);
    await owner.end();
  });

  /** "Merging organisations under traffic leaves $17.97 of $64 in the former payer's own wallet for good." */
  describe('Merges under traffic', () => {
    let escrow: Escrow;
    beforeEach(() => {
      escrow = fixture.app.application.get(Escrow, { strict: false });
    });

    const hold = (wallet: Payer, usd: number) =>
      escrow.hold({
        requestId: randomUUID(),
        amount: BigInt(usd) * USD,
        refs: [{ kind: 'wallet', id: wallet.userId }],
      });
    const settleHold = async (held: Awaited<ReturnType<typeof hold>>, wallet: Payer, usd: number) =>
      held.settle(ordinaryOutcome({ walletId: wallet.userId, costNano: BigInt(usd) * USD }));
    const state = async ({ userId }: Payer) => {
      const rows = await fixture.rows<{ balance: string; escrowed: string }>(
        `SELECT (w.limit_nano - coalesce(r.limit_nano, 0) - w.spent)::text AS balance, w.escrowed::text
           FROM spending_window w LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
          WHERE w.kind = 'wallet' AND w.owner_id = $1`,
        [userId],
      );
      return rows.map(({ balance, escrowed }) => [BigInt(balance) / USD, BigInt(escrowed) / USD])[0];
    };
    const expectBalances = async (wallet: Payer, expected: readonly bigint[]) => {
      await until(async () => {
        await fixture.app.application.get(WalletHandover, { strict: false }).followAll();
        return String(await state(wallet)) === String(expected);
      });
    };

    test('slices are recalled before the transfer, so that only holds of requests in flight remain', async () => {
      await fixture.topUp(formerPayer, 64);
      const inFlight = await hold(formerPayer, 3);
      await settleHold(await hold(formerPayer, 2), formerPayer, 1);
      await until(async () => (await fixture.balance(formerPayer)) === 63n * USD);
      // The node holds a slice larger than the request needs. A late credit notification can return an earlier slice,
      // so another hold draws a new one.
      await until(async () => {
        (await hold(formerPayer, 2)).release();
        return (await state(formerPayer))![1]! > 10n;
      });
      await merge();
      await expectBalances(formerPayer, [3n, 3n]);
      expect(await state(payer)).toEqual([60n, 0n]);
      // A later credit of the former payer stays with the former payer.
      await fixture.rows(`SELECT money_credit($1, $2, 'adjustment', 'gift', $3)`, [
        formerPayer.userId,
        (5n * USD).toString(),
        randomUUID(),
      ]);
      inFlight.release();
      await expectBalances(formerPayer, [5n, 0n]);
      expect(await state(payer)).toEqual([63n, 0n]);
      expect(await fixture.rows('SELECT * FROM wallet_handover')).toEqual([]);
    });

    test('unused holds follow the merge, and spent ones do not', async () => {
      await fixture.topUp(formerPayer, 64);
      const [cheap, dear] = [await hold(formerPayer, 10), await hold(formerPayer, 5)];
      await merge();
      await settleHold(cheap, formerPayer, 4);
      await settleHold(dear, formerPayer, 7);
      await expectBalances(formerPayer, [0n, 0n]);
      expect(await state(payer)).toEqual([53n, 0n]);
      const { checks } = await verifyMoney(fixture.app.database);
      expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
    });

    test('a second merge sends returning money to the newest payer', async () => {
      await fixture.topUp(formerPayer, 64);
      const inFlight = await hold(formerPayer, 10);
      await merge();
      const firstPayer = payer;
      [source, target] = [target, await organisation()];
      payer = await fixture.payer({ organisationId: target, role: 'org_owner' });
      await merge();
      inFlight.release();
      await expectBalances(formerPayer, [0n, 0n]);
      await expectBalances(firstPayer, [0n, 0n]);
      expect(await state(payer)).toEqual([64n, 0n]);
    });

    test('requests in flight spend the promotion grants that the merge transferred', async () => {
      const createResponse = await fixture.send('POST', '/dashboard/admin/promotions', operator, {
        name: 'Hello',
        scope: 'user',
        user_id: formerPayer.userId,
        amount: '20',
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
      const inFlight = await hold(formerPayer, 6);
      await merge();
      await settleHold(inFlight, formerPayer, 6);
      await expectBalances(formerPayer, [0n, 0n]);
      expect(await state(payer)).toEqual([14n, 0n]);
      const path = `/dashboard/admin/promotions/${String(createResponse.body['id'])}/update`;
      expect((await fixture.send('POST', path, operator, { end: true })).status).toBe(200);
      expect((await state(payer))![0]).toBe(0n);
    });
  });
});
