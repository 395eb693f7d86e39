import { setTimeout as delay } from 'node:timers/promises';
import { type Proof, usd } from './proof';

/** No request is refused for money that merely lies at another node. */
export async function proveNothingIdleRefuses(proof: Proof, rounds: number): Promise<void> {
  let refused = 0;
  let slowest = 0;
  for (let round = 0; round < rounds; round += 1) {
    const walletId = await proof.wallet(usd / 10n);
    // Ten small calls leave the first node with far more than it needs.
    await Promise.all(
      Array.from({ length: 10 }, () => proof.call(0, walletId, { answerMs: 1, cost: '1000000' })),
    );
    await proof.quiet();
    const left = await proof.balance(walletId);
    const whole = { bound: String(left), cost: '1', answerMs: 1 };
    for (const place of [1, 0]) {
      const bound = String(await proof.balance(walletId));
      const answer = await proof.call(place, walletId, { ...whole, bound });
      await proof.quiet();
      if (answer.code !== 'ok') refused += 1;
      slowest = Math.max(slowest, answer.heldAfterMs);
    }
  }
  const found = `${refused} refused, slowest ${slowest.toFixed(0)} ms`;
  proof.add(
    `${rounds * 2} calls for all that is left, idle at the other node`,
    '0 refused',
    found,
    refused === 0,
  );
}

/** Both nodes run out of money and recall it from one another. Every request is answered, and the nodes keep working. */
export async function proveNoLiveLock(proof: Proof, seconds: number): Promise<void> {
  const walletId = await proof.wallet(4n * usd);
  const until = performance.now() + seconds * 1_000;
  const [before] = await statements(proof);
  let answered = 0;
  let done = 0;
  let slowest = 0;
  let longestGap = 0;
  let lastDone = performance.now();
  const caller = async (place: number): Promise<void> => {
    while (performance.now() < until) {
      // Large and cheap: the wallet is always held, and never used up.
      const answer = await proof.call(place, walletId, {
        bound: String(usd),
        cost: '1000',
        answerMs: 20 + Math.random() * 60,
      });
      answered += 1;
      slowest = Math.max(slowest, answer.heldAfterMs);
      if (answer.code === 'ok') {
        done += 1;
        longestGap = Math.max(longestGap, performance.now() - lastDone);
        lastDone = performance.now();
      } else await delay(20);
    }
  };
  await Promise.all(Array.from({ length: 60 }, (_, place) => caller(place % 2)));
  await proof.quiet();
  const [after] = await statements(proof);
  const found = `${answered} answered, slowest ${slowest.toFixed(0)} ms`;
  proof.add(
    `${seconds} s of two starving nodes: every waiter answered`,
    '≤ 1,000 ms',
    found,
    slowest <= 1_000,
  );
  const pace = `${done} served, longest gap ${longestGap.toFixed(0)} ms`;
  proof.add(`${seconds} s of two starving nodes: no live-lock`, 'gap < 500 ms', pace, longestGap < 500);
  const perSecond = (Number(after) - Number(before)) / seconds;
  proof.add('transactions a second while starving', '< 400', perSecond.toFixed(0), perSecond < 400);
}

async function statements(proof: Proof): Promise<[string]> {
  await delay(1_200);
  const [row] = await proof.query<{ count: string }>(
    'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return [row?.count ?? '0'];
}
