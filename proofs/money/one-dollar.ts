import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from './node-handle';
import { dollars, percent, type Proof, usd } from './proof';

const callers = 1_000;

interface Run {
  readonly used: bigint;
  /** The most that was spent and escrowed together at any moment of a look. */
  readonly most: bigint;
  readonly answers: readonly Answer[];
}

/** A thousand at once on one dollar, half of them at each node. */
export async function proveOneDollar(proof: Proof, runs: number): Promise<void> {
  const fast: Run[] = [];
  for (let run = 0; run < runs; run += 1)
    fast.push(await oneDollar(proof, () => 30 + Math.random() * 170, 0));
  report(proof, `${runs} runs of 1,000 calls on $1.00, answers within 200 ms`, fast, 0.99);

  const unbounded: Run[] = [];
  for (let run = 0; run < runs; run += 4)
    unbounded.push(await oneDollar(proof, () => 30 + Math.random() * 170, 60, true));
  report(
    proof,
    `${unbounded.length} runs, no call names a bound, refused callers come again`,
    unbounded,
    0.99,
  );

  const slow: Run[] = [];
  for (let run = 0; run < runs; run += 4) {
    const some = Array.from({ length: Math.min(4, runs - run) }, () =>
      oneDollar(proof, () => 300 + Math.random() * 1_200, 60),
    );
    slow.push(...(await Promise.all(some)));
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
): Promise<Run> {
  const walletId = await proof.wallet(usd);
  const watch = new Watch(proof, walletId);
  const answers = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let left = retries; ; left -= 1) {
        const answer = await proof.call(caller % 2, walletId, { answerMs: answerMs(), unbounded });
        if (answer.retryAfterSeconds === null || left === 0) return answer;
        await delay(answer.retryAfterSeconds * 1_000 * (1 + Math.random() / 4));
      }
    }),
  );
  await proof.quiet();
  return { used: usd - (await proof.balance(walletId)), most: await watch.end(), answers };
}

/** Looks at the wallet every few milliseconds while the calls run. */
class Watch {
  private most = 0n;
  private over = false;
  private readonly looking: Promise<void>;

  constructor(
    private readonly proof: Proof,
    private readonly walletId: number,
  ) {
    this.looking = this.look();
  }

  async end(): Promise<bigint> {
    this.over = true;
    await this.looking;
    return this.most;
  }

  private async look(): Promise<void> {
    while (!this.over) {
      const [row] = await this.proof.query<{ taken: string }>(
        "SELECT spent + escrowed AS taken FROM spending_window WHERE kind = 'wallet' AND owner_id = $1",
        [this.walletId],
      );
      const taken = BigInt(row?.taken ?? 0);
      if (taken > this.most) this.most = taken;
      await delay(20);
    }
  }
}

function report(proof: Proof, what: string, runs: readonly Run[], share: number): void {
  const beyond = runs.flatMap(({ used, most }) => [used - usd, most - usd]);
  const over = beyond.reduce((worst, amount) => (amount > worst ? amount : worst), 0n);
  const least = Math.min(...runs.map(({ used }) => Number(used) / Number(usd)));
  const codes = new Map<string, number>();
  for (const { code } of runs.flatMap(({ answers }) => answers)) codes.set(code, (codes.get(code) ?? 0) + 1);
  const strange = [...codes.keys()].filter(
    (code) => !['ok', 'billing_limit_reached', 'capacity_exceeded'].includes(code),
  );
  proof.add(`${what}: overshoot, at any moment`, '$0.0000', dollars(over), over === 0n);
  proof.add(`${what}: least used`, `≥ ${percent(share)}`, percent(least), least >= share);
  const counted = [...codes].map(([code, count]) => `${count} ${code}`).join(', ');
  proof.add(`${what}: answers`, 'no others', counted, strange.length === 0);
}
