import { setTimeout as delay } from 'node:timers/promises';
import { type Proof, usd } from './proof';

/** No request is refused for money that is merely idle at another node. */
export async function proveNothingIdleRefuses(proof: Proof, rounds: number): Promise<void> {
  let refusedCount = 0;
  let slowestMs = 0;
  for (let round = 0; round < rounds; round += 1) {
    const walletId = await proof.wallet(usd / 10n);
    // Ten small calls leave the first node with far more money than it needs.
    await Promise.all(
      Array.from({ length: 10 }, () => proof.call(0, walletId, { answerMs: 1, cost: '1000000' })),
    );
    await proof.waitUntilSettled();
    const balanceLeft = await proof.balance(walletId);
    const fullCall = { bound: String(balanceLeft), cost: '1', answerMs: 1 };
    for (const nodeIndex of [1, 0]) {
      const bound = String(await proof.balance(walletId));
      const answer = await proof.call(nodeIndex, walletId, { ...fullCall, bound });
      await proof.waitUntilSettled();
      if (answer.code !== 'ok') refusedCount += 1;
      slowestMs = Math.max(slowestMs, answer.heldAfterMs);
    }
  }
  const summary = `${refusedCount} refused, slowest ${slowestMs.toFixed(0)} ms`;
  proof.add(
    `${rounds * 2} calls for all that is left, idle at the other node`,
    '0 refused',
    summary,
    refusedCount === 0,
  );
}

/**
 * Both nodes run out of money and recall it from each other. Every request gets a response, and the nodes keep working.
 */
export async function proveNoLiveLock(proof: Proof, seconds: number): Promise<void> {
  const walletId = await proof.wallet(4n * usd);
  const until = performance.now() + seconds * 1_000;
  const [before] = await countStatements(proof);
  let answeredCount = 0;
  let servedCount = 0;
  let slowestMs = 0;
  let longestGapMs = 0;
  let lastServedAt = performance.now();
  const runCaller = async (nodeIndex: number): Promise<void> => {
    while (performance.now() < until) {
      // Large and cheap: the wallet is always held but never used up.
      const answer = await proof.call(nodeIndex, walletId, {
        bound: String(usd),
        cost: '1000',
        answerMs: 20 + Math.random() * 60,
      });
      answeredCount += 1;
      slowestMs = Math.max(slowestMs, answer.heldAfterMs);
      if (answer.code === 'ok') {
        servedCount += 1;
        longestGapMs = Math.max(longestGapMs, performance.now() - lastServedAt);
        lastServedAt = performance.now();
      } else await delay(20);
    }
  };
  await Promise.all(Array.from({ length: 60 }, (_, nodeIndex) => runCaller(nodeIndex % 2)));
  await proof.waitUntilSettled();
  const [after] = await countStatements(proof);
  const summary = `${answeredCount} answered, slowest ${slowestMs.toFixed(0)} ms`;
  proof.add(
    `${seconds} s of two starving nodes: every waiter answered`,
    '≤ 1,000 ms',
    summary,
    slowestMs <= 1_000,
  );
  const paceSummary = `${servedCount} served, longest gap ${longestGapMs.toFixed(0)} ms`;
  proof.add(
    `${seconds} s of two starving nodes: no live-lock`,
    'gap < 500 ms',
    paceSummary,
    longestGapMs < 500,
  );
  const perSecond = (Number(after) - Number(before)) / seconds;
  proof.add('transactions a second while starving', '< 400', perSecond.toFixed(0), perSecond < 400);
}

async function countStatements(proof: Proof): Promise<[string]> {
  await delay(1_200);
  const [row] = await proof.query<{ count: string }>(
    'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return [row?.count ?? '0'];
}
