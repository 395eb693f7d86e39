import { setTimeout as delay } from 'node:timers/promises';
import { BudgetRaises, budgetsOfUser, Ledger, Limits } from '#product/billing';
import { invoiceAccountOf } from '#product/kernel';
import { dollars, type Proof, usd } from './proof';

const CALLS = 1_000;

/** The platform gives a person a dollar; meanwhile their organisation sets, lifts and removes its own budget. */
export async function proveBudgetsOfPerson(proof: Proof): Promise<void> {
  const walletId = await proof.wallet(100n * usd);
  const [platform, organisation] = budgetsOfUser(walletId);
  const database = await proof.database();
  const limits = new Limits(database);
  const raises = new BudgetRaises(database, limits);
  await database.transaction((tx) => limits.set(tx, platform, { period: 'monthly', limit: usd }));
  const [{ id: by } = { id: 0 }] = await proof.query<{ id: number }>(
    `INSERT INTO user_account (email, display_name, status) VALUES ($1, 'admin', 'active') RETURNING id`,
    [`admin-${walletId}@example.com`],
  );
  let isOver = false;
  let most = 0n;
  let changes = 0;
  const changing = (async () => {
    for (; !isOver; changes += 1) {
      await database.transaction(async (tx) => {
        // Raises are locked before rules. The first change makes the rule that they are of.
        if (changes % 5 === 2)
          await raises.raise(tx, organisation, {
            amount: 100n * usd,
            reason: 'proof',
            endsAt: new Date(Date.now() + 60_000),
            by,
          });
        else await raises.endAll(tx, organisation);
        const period = changes % 2 === 0 ? 'daily' : 'monthly';
        if (changes % 5 === 4) await limits.remove(tx, organisation);
        else await limits.set(tx, organisation, { period, limit: BigInt((changes + 1) % 7) * 10n * usd });
      });
      const [row] = await proof.query<{ taken: string }>(
        `SELECT spent + escrowed AS taken FROM spending_window WHERE kind = 'user' AND owner_id = $1`,
        [walletId],
      );
      const taken = BigInt(row?.taken ?? 0);
      if (taken > most) most = taken;
      await delay(20);
    }
  })();
  const answers = await Promise.all(
    Array.from({ length: CALLS }, async (_, call) => {
      for (let tries = 0; ; tries += 1) {
        const answer = await proof.call(call % 2, walletId, { userId: walletId });
        if (answer.retryAfterSeconds === null || tries === 10) return answer;
        await delay(answer.retryAfterSeconds * (1_000 + Math.random() * 250));
      }
    }),
  );
  await proof.quiet();
  isOver = true;
  await changing;
  const state = await limits.state(platform);
  const spent = state?.spent ?? 0n;
  const highest = most > spent ? most : spent;
  const served = answers.filter(({ code }) => code === 'ok').length;
  proof.add(
    `${CALLS} calls of a person with $1.00 of the platform, ${changes} changes by the organisation: the most`,
    '≤ $1.0000',
    dollars(highest),
    highest <= usd,
  );
  proof.add('calls of that person that were served', '> 0', String(served), served > 0);
  const drift = await proof.drift();
  proof.add('the books after both budgets of a person', '0 wrong', `${drift} wrong`, drift === 0);
}

/** A payer by invoice may owe a dollar; their account of invoices is given up and taken up again while calls settle. */
export async function proveInvoices(proof: Proof): Promise<void> {
  const walletId = await proof.wallet(100n * usd);
  const account = invoiceAccountOf(walletId);
  const database = await proof.database();
  const limits = new Limits(database);
  const ledger = new Ledger(database);
  const mayOwe = (amount: bigint) => database.transaction((tx) => limits.setCreditLimit(tx, account, amount));
  const balances = async () => [
    (await ledger.wallet(account)).balance,
    (await ledger.wallet(walletId)).balance,
  ];
  const calls = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, call) => proof.call(call % 2, account, { keyId: walletId })),
    );
  await mayOwe(usd);
  await calls(CALLS);
  await proof.quiet();
  const [owed = 0n, wallet = 0n] = await balances();
  proof.add(
    `${CALLS} calls of a payer by invoice who may owe $1.00: owed`,
    '≤ $1.0000',
    dollars(-owed),
    -owed <= usd,
  );
  proof.add('their wallet meanwhile', '$100.0000', dollars(wallet), wallet === 100n * usd);

  await mayOwe(50n * usd);
  let isOver = false;
  let switches = 0;
  const switching = (async () => {
    for (; !isOver; switches += 1) {
      await proof.query('SELECT money_leave_invoices($1)', [walletId]);
      await mayOwe((switches % 2 === 0 ? 50n : 25n) * usd);
      await delay(20);
    }
  })();
  const served = (await calls(CALLS)).filter(({ code }) => code === 'ok').length;
  await proof.quiet();
  isOver = true;
  await switching;
  await proof.query('SELECT money_leave_invoices($1)', [walletId]);
  const [left, debt = 0n] = await balances();
  const [used] = await proof.query<{ used: string }>(
    'SELECT coalesce(sum(cost_nano), 0)::text AS used FROM request_record WHERE wallet_id = $1',
    [account],
  );
  const lost = 100n * usd - BigInt(used?.used ?? 0) - debt;
  proof.add(
    `${switches} switches under ${CALLS} calls, ${served} served: lost or doubled`,
    '$0.0000',
    dollars(lost),
    lost === 0n && left === 0n && served > 0,
  );
  const drift = await proof.drift();
  proof.add('the books after invoices', '0 wrong', `${drift} wrong`, drift === 0);
}
