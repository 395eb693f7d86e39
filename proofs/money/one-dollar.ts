import { setTimeout as delay } from 'node:timers/promises';
import type { MoneyCallOutcome } from './node-handle';
import { dollars, percent, type Proof, usd } from './proof';

const CALLERS = 1_000;

interface OneDollarRun {
  readonly used: bigint;
  /** Maximum of spent and escrowed money together in any sample. */
  readonly maxTaken: bigint;
  readonly answers: readonly MoneyCallOutcome[];
}

/** A thousand concurrent calls on one dollar, half at each node. */
export async function proveOneDollar(proof: Proof, runs: number): Promise<void> {
  const fast: OneDollarRun[] = [];
  for (let run = 0; run < runs; run += 1)
    fast.push(await oneDollar(proof, () => 30 + Math.random() * 170, 0));
  report(proof, `${runs} runs of 1,000 calls on $1.00, answers within 200 ms`, fast, 0.99);

  const unbounded: OneDollarRun[] = [];
  for (let run = 0; run < runs; run += 4)
    unbounded.push(await oneDollar(proof, () => 30 + Math.random() * 170, 60, true));
  report(
    proof,
    `${unbounded.length} runs, no call names a bound, refused callers come again`,
    unbounded,
    0.99,
  );

  const slow: OneDollarRun[] = [];
  for (let run = 0; run < runs; run += 4) {
    const batch = Array.from({ length: Math.min(4, runs - run) }, () =>
      oneDollar(proof, () => 300 + Math.random() * 1_200, 60),
    );
    slow.push(...(await Promise.all(batch)));
  }
  report(proof, `${runs} runs, answers of 0.3–1.5 s, refused callers come again`, slow, 0.99);
  const drift = await proof.drift();
  proof.add('the books after all of that', '0 wrong', `${drift} wrong`, drift === 0);
}

async function oneDollar(
  proof: Proof,
  answerMs: () => number,
  retries: number,
  unbounded = false,
): Promise<OneDollarRun> {
  const walletId = await proof.wallet(usd);
  const watch = new WalletWatch(proof, walletId);
  const answers = await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      for (let retriesLeft = retries; ; retriesLeft -= 1) {
        const answer = await proof.call(caller % 2, walletId, { answerMs: answerMs(), unbounded });
        if (answer.retryAfterSeconds === null || retriesLeft === 0) return answer;
        await delay(answer.retryAfterSeconds * 1_000 * (1 + Math.random() / 4));
      }
    }),
  );
  await proof.waitUntilSettled();
  return { used: usd - (await proof.balance(walletId)), maxTaken: await watch.end(), answers };
}

/** Samples the wallet every few milliseconds while the calls run. */
class WalletWatch {
  private maxTaken = 0n;
  private isOver = false;
  private readonly sampling: Promise<void>;

  constructor(
    private readonly proof: Proof,
    private readonly walletId: number,
  ) {
    this.sampling = this.sample();
  }

  async end(): Promise<bigint> {
    this.isOver = true;
    await this.sampling;
    return this.maxTaken;
  }

  private async sample(): Promise<void> {
    while (!this.isOver) {
      const [row] = await this.proof.query<{ taken: string }>(
        "SELECT spent + escrowed AS taken FROM spending_window WHERE kind = 'wallet' AND owner_id = $1",
        [this.walletId],
      );
      const taken = BigInt(row?.taken ?? 0);
      if (taken > this.maxTaken) this.maxTaken = taken;
      await delay(20);
    }
  }
}

function report(proof: Proof, what: string, runs: readonly OneDollarRun[], share: number): void {
  const excesses = runs.flatMap(({ used, maxTaken: most }) => [used - usd, most - usd]);
  const maxExcess = excesses.reduce((worst, amount) => (amount > worst ? amount : worst), 0n);
  const minShare = Math.min(...runs.map(({ used }) => Number(used) / Number(usd)));
  const codes = new Map<string, number>();
  for (const { code } of runs.flatMap(({ answers }) => answers)) codes.set(code, (codes.get(code) ?? 0) + 1);
  const unexpectedCodes = [...codes.keys()].filter(
    (code) => !['ok', 'billing_limit_reached', 'capacity_exceeded'].includes(code),
  );
  proof.add(`${what}: overshoot, at any moment`, '$0.0000', dollars(maxExcess), maxExcess === 0n);
  proof.add(`${what}: least used`, `≥ ${percent(share)}`, percent(minShare), minShare >= share);
  const codeCounts = [...codes].map(([code, count]) => `${count} ${code}`).join(', ');
  proof.add(`${what}: answers`, 'no others', codeCounts, unexpectedCodes.length === 0);
}
