import { setTimeout as delay } from 'node:timers/promises';
import { uuidv7 } from '#product/kernel';
import { connectionLost } from './node-handle';
import { dollars, type Proof, usd } from './proof';

/** Continuous callers and the responses they received. */
class CrashLoad {
  readonly acknowledged = new Map<string, string>();
  readonly codes = new Map<string, number>();
  private isRunning = true;
  private readonly callers: Promise<void>[] = [];

  constructor(
    private readonly proof: Proof,
    private readonly walletIds: readonly number[],
    private readonly pauseMs: number,
  ) {}

  start(callers: number): this {
    for (let caller = 0; caller < callers; caller += 1) this.callers.push(this.runCaller(caller));
    return this;
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await Promise.all(this.callers);
  }

  private async runCaller(nodeIndex: number): Promise<void> {
    const walletId = this.walletIds[nodeIndex % this.walletIds.length]!;
    while (this.isRunning) {
      const requestId = uuidv7();
      const cost = String(1_000 + Math.floor(Math.random() * 4_000_000));
      const answerMs = 5 + Math.random() * 60;
      const answer = await this.proof.call(nodeIndex % 2, walletId, { requestId, cost, answerMs });
      this.codes.set(answer.code, (this.codes.get(answer.code) ?? 0) + 1);
      if (answer.code === 'ok') this.acknowledged.set(requestId, cost);
      await delay(answer.code === 'ok' ? this.pauseMs : 50);
    }
  }
}

/** Number of acknowledged records that are missing or differ from the response. */
async function countMissing(proof: Proof, { acknowledged }: CrashLoad): Promise<number> {
  const ids = [...acknowledged.keys()];
  const rows = await proof.query<{ request_id: string; cost_nano: string; times: string }>(
    `SELECT request_id, max(cost_nano) AS cost_nano, count(*) AS times FROM request_record
      WHERE request_id = ANY ($1::uuid[]) GROUP BY request_id`,
    [ids],
  );
  const recorded = new Map(rows.map((row) => [row.request_id, row.times === '1' ? row.cost_nano : 'twice']));
  return ids.filter((id) => recorded.get(id) !== acknowledged.get(id)).length;
}

async function createWallets(proof: Proof): Promise<number[]> {
  const ids: number[] = [];
  for (let created = 0; created < 6; created += 1) ids.push(await proof.wallet(100n * usd));
  return ids;
}

async function settle(proof: Proof, load: CrashLoad, name: string): Promise<void> {
  await load.stop();
  await proof.waitUntilSettled();
  const lostRecords = await countMissing(proof, load);
  const summary = `${lostRecords} of ${load.acknowledged.size.toLocaleString('en')}`;
  proof.add(`${name}: acknowledged records lost`, '0', summary, lostRecords === 0);
  const drift = await proof.drift();
  proof.add(`${name}: drift`, '0 wrong', `${drift} wrong`, drift === 0);
}

export async function proveNodeCrashes(proof: Proof, kills: number): Promise<void> {
  const load = new CrashLoad(proof, await createWallets(proof), 10).start(40);
  for (let killIndex = 0; killIndex < kills; killIndex += 1) {
    await delay(400 + Math.random() * 600);
    const nodeIndex = killIndex % 2;
    await proof.nodes[nodeIndex]!.kill();
    await proof.startAt(nodeIndex);
  }
  await settle(proof, load, `${kills} nodes killed under load`);

  // Both nodes stop: one dies, the other goes idle. Money the dead node may have spent stays held until its journal is
  // read.
  const lastLoad = new CrashLoad(proof, await createWallets(proof), 10).start(20);
  await delay(1_000);
  await proof.nodes[1]!.kill();
  await delay(200);
  await lastLoad.stop();
  await delay(40_000);
  const heldSlices = await countSlices(proof);
  proof.add('a node killed and not restarted: slices after 40 s', '> 0', String(heldSlices), heldSlices > 0);
  await proof.startAt(1);
  const slicesLeft = await waitForSlices(proof, 40_000);
  proof.add('once its journal was read: slices', '0 in 40 s', slicesLeft.text, slicesLeft.count === 0);
  await settle(proof, lastLoad, 'and once it is back');
}

async function countSlices(proof: Proof): Promise<number> {
  const [row] = await proof.query<{ count: string }>(
    'SELECT count(*) AS count FROM escrow_slice WHERE amount > 0',
  );
  return Number(row?.count);
}

async function waitForSlices(
  proof: Proof,
  withinMs: number,
): Promise<{ readonly count: number; readonly text: string }> {
  const startedAt = performance.now();
  let count = await countSlices(proof);
  while (count > 0 && performance.now() - startedAt < withinMs) {
    await delay(250);
    count = await countSlices(proof);
  }
  return { count, text: `${count} left after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s` };
}

/**
 * Kills a node with uncommitted responses in its journal near the end of a budget. Other nodes spend beyond its lease;
 * then it returns and its journal is read.
 */
export async function proveJournalNearTheEnd(proof: Proof, kills: number): Promise<void> {
  const cent = usd / 100n;
  let worstOverspend = 0n;
  let acknowledged = 0;
  let journalled = 0n;
  const answers = new Map<string, number>();
  for (let killIndex = 0; killIndex < kills; killIndex += 1) {
    const walletId = await proof.wallet(2n * cent);
    const spend = async (nodeIndex: number): Promise<void> => {
      const answer = await proof.call(nodeIndex, walletId, {
        bound: '500000',
        cost: String(300_000 + Math.floor(Math.random() * 200_000)),
        answerMs: 5,
      });
      answers.set(answer.code, (answers.get(answer.code) ?? 0) + 1);
      if (answer.code === 'ok') acknowledged += 1;
    };
    await Promise.all(Array.from({ length: 8 }, (_, nodeIndex) => spend(nodeIndex % 2)));
    await proof.waitUntilSettled();
    // Blocks commits by holding the lock of settlements in another transaction.
    const releaseSettlements = await proof.holdSettlements();
    await Promise.all(Array.from({ length: 12 }, () => spend(0)));
    await proof.nodes[0]!.kill();
    await releaseSettlements();
    const until = performance.now() + 36_000;
    while (performance.now() < until) {
      await Promise.all(Array.from({ length: 6 }, () => spend(1)));
      await delay(500);
    }
    await proof.waitUntilSettledAt(1);
    const spentMeanwhile = await proof.balance(walletId);
    await proof.startAt(0);
    await proof.waitUntilSettled();
    const balance = await proof.balance(walletId);
    journalled += spentMeanwhile - balance;
    if (-balance > worstOverspend) worstOverspend = -balance;
  }
  const name = `${kills} nodes killed with a journal near the end of $0.02`;
  proof.add(`${name}: overspent`, '$0.0000', dollars(worstOverspend), worstOverspend === 0n);
  proof.add(`${name}: charged from journals`, '> $0', dollars(journalled), journalled > 0n);
  const responseSummary = [...answers].map(([code, count]) => `${count} ${code}`).join(', ');
  proof.add(`${name}: acknowledged`, '> 0', responseSummary, acknowledged > 0);
  const drift = await proof.drift();
  proof.add(`${name}: drift`, '0 wrong', `${drift} wrong`, drift === 0);
}

export async function provePostgresCrashes(proof: Proof, kills: number): Promise<void> {
  const load = new CrashLoad(proof, await createWallets(proof), 10).start(40);
  for (let killIndex = 0; killIndex < kills; killIndex += 1) {
    await delay(1_000 + Math.random() * 1_000);
    await proof.postgres.kill();
    await delay(300);
    await proof.postgres.launch();
  }
  await delay(1_500);
  await settle(proof, load, `PostgreSQL killed ${kills} times under load`);
  const unexpectedCodes = [...load.codes.keys()].filter(
    (code) => !['ok', 'billing_unavailable', connectionLost].includes(code),
  );
  const codeCounts = [...load.codes].map(([code, count]) => `${count} ${code}`).join(', ');
  proof.add(
    `PostgreSQL killed ${kills} times: answers`,
    'no others',
    codeCounts,
    unexpectedCodes.length === 0,
  );
}

/** The database is down for ten seconds: nodes with a slice continue, and nothing is lost. */
export async function proveOutage(proof: Proof, seconds: number): Promise<void> {
  const ids = await createWallets(proof);
  const warm = new CrashLoad(proof, ids, 5).start(24);
  await delay(6_000);
  await warm.stop();
  await proof.waitUntilSettled();
  await proof.postgres.kill();
  // A few calls per second use less than the slices hold.
  const load = new CrashLoad(proof, ids, 900).start(6);
  await delay(seconds * 1_000);
  const during = new Map(load.codes);
  const acknowledgedCount = load.acknowledged.size;
  await proof.postgres.launch();
  await delay(2_000);
  const failedCount = [...during].reduce((sum, [code, count]) => (code === 'ok' ? sum : sum + count), 0);
  const summary = `${failedCount} of ${failedCount + acknowledgedCount}`;
  proof.add(
    `${seconds} s without PostgreSQL: failed holds while slices last`,
    '0',
    summary,
    failedCount === 0 && acknowledgedCount > 0,
  );
  await settle(proof, load, `${seconds} s without PostgreSQL`);
}
