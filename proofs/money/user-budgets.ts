import { setTimeout as delay } from 'node:timers/promises';
import { BudgetRaises, budgetsOfUser, Ledger, Limits } from '#product/billing';
import { invoiceAccountOf } from '#product/kernel';
import { dollars, type Proof, usd } from './proof';

const CALL_COUNT = 1_000;

/** The platform gives a user one dollar while the organisation sets, lifts and removes its own budget. */
export async function proveUserBudgets(proof: Proof): Promise<void> {
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
  let maxTaken = 0n;
  let changeCount = 0;
  const changer = (async () => {
    for (; !isOver; changeCount += 1) {
      await database.transaction(async (tx) => {
        // Raises are locked before rules; the first change creates the rule they belong to.
        if (changeCount % 5 === 2)
          await raises.raise(tx, organisation, {
            amount: 100n * usd,
            reason: 'proof',
            endsAt: new Date(Date.now() + 60_000),
            by,
          });
        else await raises.endAll(tx, organisation);
        const period = changeCount % 2 === 0 ? 'daily' : 'monthly';
        if (changeCount % 5 === 4) await limits.remove(tx, organisation);
        else await limits.set(tx, organisation, { period, limit: BigInt((changeCount + 1) % 7) * 10n * usd });
      });
      const [row] = await proof.query<{ taken: string }>(
        `SELECT spent + escrowed AS taken FROM spending_window WHERE kind = 'user' AND owner_id = $1`,
        [walletId],
      );
      const taken = BigInt(row?.taken ?? 0);
      if (taken > maxTaken) maxTaken = taken;
      await delay(20);
    }
  })();
  const answers = await Promise.all(
    Array.from({ length: CALL_COUNT }, async (_, call) => {
      for (let attempt = 0; ; attempt += 1) {
        const answer = await proof.call(call % 2, walletId, { userId: walletId });
        if (answer.retryAfterSeconds === null || attempt === 10) return answer;
        await delay(answer.retryAfterSeconds * (1_000 + Math.random() * 250));
      }
    }),
  );
  await proof.waitUntilSettled();
  isOver = true;
  await changer;
  const state = await limits.state(platform);
  const spent = state?.spent ?? 0n;
  const maxSeen = maxTaken > spent ? maxTaken : spent;
  const served = answers.filter(({ code }) => code === 'ok').length;
  proof.add(
    `${CALL_COUNT} calls of a person with $1.00 of the platform, ${changeCount} changes by the organisation: the most`,
    '≤ $1.0000',
    dollars(maxSeen),
    maxSeen <= usd,
  );
  proof.add('calls of that person that were served', '> 0', String(served), served > 0);
  const drift = await proof.drift();
  proof.add('the books after both budgets of a person', '0 wrong', `${drift} wrong`, drift === 0);
}

/**
 * A payer by invoice has a credit limit of one dollar. The invoice account is closed and reopened while calls settle.
 */
export async function proveInvoices(proof: Proof): Promise<void> {
  const walletId = await proof.wallet(100n * usd);
  const account = invoiceAccountOf(walletId);
  const database = await proof.database();
  const limits = new Limits(database);
  const ledger = new Ledger(database);
  const setCreditLimit = (amount: bigint) =>
    database.transaction((tx) => limits.setCreditLimit(tx, account, amount));
  const readBalances = async () => [
    (await ledger.wallet(account)).balance,
    (await ledger.wallet(walletId)).balance,
  ];
  const calls = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, call) => proof.call(call % 2, account, { keyId: walletId })),
    );
  await setCreditLimit(usd);
  await calls(CALL_COUNT);
  await proof.waitUntilSettled();
  const [owed = 0n, wallet = 0n] = await readBalances();
  proof.add(
    `${CALL_COUNT} calls of a payer by invoice who may owe $1.00: owed`,
    '≤ $1.0000',
    dollars(-owed),
    -owed <= usd,
  );
  proof.add('their wallet meanwhile', '$100.0000', dollars(wallet), wallet === 100n * usd);

  await setCreditLimit(50n * usd);
  let isOver = false;
  let switchCount = 0;
  const switcher = (async () => {
    for (; !isOver; switchCount += 1) {
      await proof.query('SELECT money_leave_invoices($1)', [walletId]);
      await setCreditLimit((switchCount % 2 === 0 ? 50n : 25n) * usd);
      await delay(20);
    }
  })();
  const served = (await calls(CALL_COUNT)).filter(({ code }) => code === 'ok').length;
  await proof.waitUntilSettled();
  isOver = true;
  await switcher;
  await proof.query('SELECT money_leave_invoices($1)', [walletId]);
  const [left, debt = 0n] = await readBalances();
  const [used] = await proof.query<{ used: string }>(
    'SELECT coalesce(sum(cost_nano), 0)::text AS used FROM request_record WHERE wallet_id = $1',
    [account],
  );
  const unaccounted = 100n * usd - BigInt(used?.used ?? 0) - debt;
  proof.add(
    `${switchCount} switches under ${CALL_COUNT} calls, ${served} served: lost or doubled`,
    '$0.0000',
    dollars(unaccounted),
    unaccounted === 0n && left === 0n && served > 0,
  );
  const drift = await proof.drift();
  proof.add('the books after invoices', '0 wrong', `${drift} wrong`, drift === 0);
}
