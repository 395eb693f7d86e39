import { setTimeout as delay } from 'node:timers/promises';
import { BudgetRaises, budgetsOfPerson, Limits } from '../../src/billing';
import { dollars, type Proof, usd } from './proof';

const CALLS = 1_000;

/** The platform gives a person a dollar; meanwhile their organisation sets, lifts and removes its own budget. */
export async function proveBudgetsOfPerson(proof: Proof): Promise<void> {
  const walletId = await proof.wallet(100n * usd);
  const [platform, organisation] = budgetsOfPerson(walletId);
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
        const period = changes % 2 === 0 ? 'daily' : 'monthly';
        if (changes % 5 === 4) await limits.remove(tx, organisation);
        else await limits.set(tx, organisation, { period, limit: BigInt(changes % 7) * 10n * usd });
        if (changes % 5 === 2)
          await raises.raise(tx, organisation, {
            amount: 100n * usd,
            reason: 'proof',
            endsAt: new Date(Date.now() + 60_000),
            by,
          });
        else await raises.endAll(tx, organisation);
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
