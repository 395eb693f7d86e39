import { setTimeout as delay } from 'node:timers/promises';
import { uuidv7 } from '#product/kernel';
import { lost } from './node-handle';
import { dollars, type Proof, usd } from './proof';

/** Callers that never rest, and what they were told. */
class Load {
  readonly acknowledged = new Map<string, string>();
  readonly codes = new Map<string, number>();
  private running = true;
  private readonly callers: Promise<void>[] = [];

  constructor(
    private readonly proof: Proof,
    private readonly walletIds: readonly number[],
    private readonly pauseMs: number,
  ) {}

  start(callers: number): this {
    for (let caller = 0; caller < callers; caller += 1) this.callers.push(this.caller(caller));
    return this;
  }

  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.callers);
  }

  private async caller(place: number): Promise<void> {
    const walletId = this.walletIds[place % this.walletIds.length]!;
    while (this.running) {
      const requestId = uuidv7();
      const cost = String(1_000 + Math.floor(Math.random() * 4_000_000));
      const answerMs = 5 + Math.random() * 60;
      const answer = await this.proof.call(place % 2, walletId, { requestId, cost, answerMs });
      this.codes.set(answer.code, (this.codes.get(answer.code) ?? 0) + 1);
      if (answer.code === 'ok') this.acknowledged.set(requestId, cost);
      await delay(answer.code === 'ok' ? this.pauseMs : 50);
    }
  }
}

/** Acknowledged records that are missing, or say something else than what was acknowledged. */
async function missing(proof: Proof, { acknowledged }: Load): Promise<number> {
  const ids = [...acknowledged.keys()];
  const rows = await proof.query<{ request_id: string; cost_nano: string; times: string }>(
    `SELECT request_id, max(cost_nano) AS cost_nano, count(*) AS times FROM request_record
      WHERE request_id = ANY ($1::uuid[]) GROUP BY request_id`,
    [ids],
  );
  const recorded = new Map(rows.map((row) => [row.request_id, row.times === '1' ? row.cost_nano : 'twice']));
  return ids.filter((id) => recorded.get(id) !== acknowledged.get(id)).length;
}

async function wallets(proof: Proof): Promise<number[]> {
  const ids: number[] = [];
  for (let made = 0; made < 6; made += 1) ids.push(await proof.wallet(100n * usd));
  return ids;
}

async function settle(proof: Proof, load: Load, name: string): Promise<void> {
  await load.stop();
  await proof.quiet();
  const lostRecords = await missing(proof, load);
  const of = `${lostRecords} of ${load.acknowledged.size.toLocaleString('en')}`;
  proof.add(`${name}: acknowledged records lost`, '0', of, lostRecords === 0);
  const drift = await proof.drift();
  proof.add(`${name}: drift`, '0 wrong', `${drift} wrong`, drift === 0);
}

export async function proveNodeCrashes(proof: Proof, kills: number): Promise<void> {
  const load = new Load(proof, await wallets(proof), 10).start(40);
  for (let kill = 0; kill < kills; kill += 1) {
    await delay(400 + Math.random() * 600);
    const place = kill % 2;
    await proof.nodes[place]!.kill();
    await proof.startAt(place);
  }
  await settle(proof, load, `${kills} nodes killed under load`);

  // One dies and stays dead, the other falls idle: what the dead one may have spent stays held until it is read.
  const last = new Load(proof, await wallets(proof), 10).start(20);
  await delay(1_000);
  await proof.nodes[1]!.kill();
  await delay(200);
  await last.stop();
  await delay(40_000);
  const held = await slices(proof);
  proof.add('a node killed and not restarted: slices after 40 s', '> 0', String(held), held > 0);
  await proof.startAt(1);
  const left = await slicesWithin(proof, 40_000);
  proof.add('once its journal was read: slices', '0 in 40 s', left.text, left.count === 0);
  await settle(proof, last, 'and once it is back');
}

async function slices(proof: Proof): Promise<number> {
  const [row] = await proof.query<{ count: string }>(
    'SELECT count(*) AS count FROM escrow_slice WHERE amount > 0',
  );
  return Number(row?.count);
}

async function slicesWithin(
  proof: Proof,
  withinMs: number,
): Promise<{ readonly count: number; readonly text: string }> {
  const began = performance.now();
  let count = await slices(proof);
  while (count > 0 && performance.now() - began < withinMs) {
    await delay(250);
    count = await slices(proof);
  }
  return { count, text: `${count} left after ${((performance.now() - began) / 1_000).toFixed(1)} s` };
}

/**
 * A node is killed with answers in its journal that were not committed, near the end of a budget. Others spend what they
 * can for longer than its lease lasts, then it returns and its journal is read.
 */
export async function proveJournalNearTheEnd(proof: Proof, kills: number): Promise<void> {
  const cent = usd / 100n;
  let worst = 0n;
  let acknowledged = 0;
  let journalled = 0n;
  const answers = new Map<string, number>();
  for (let kill = 0; kill < kills; kill += 1) {
    const walletId = await proof.wallet(2n * cent);
    const spend = async (place: number): Promise<void> => {
      const answer = await proof.call(place, walletId, {
        bound: '500000',
        cost: String(300_000 + Math.floor(Math.random() * 200_000)),
        answerMs: 5,
      });
      answers.set(answer.code, (answers.get(answer.code) ?? 0) + 1);
      if (answer.code === 'ok') acknowledged += 1;
    };
    await Promise.all(Array.from({ length: 8 }, (_, place) => spend(place % 2)));
    await proof.quiet();
    // Nothing is committed while another transaction has the lock of settlements.
    const letGo = await proof.holdSettlements();
    await Promise.all(Array.from({ length: 12 }, () => spend(0)));
    await proof.nodes[0]!.kill();
    await letGo();
    const until = performance.now() + 36_000;
    while (performance.now() < until) {
      await Promise.all(Array.from({ length: 6 }, () => spend(1)));
      await delay(500);
    }
    await proof.quietAt(1);
    const spentMeanwhile = await proof.balance(walletId);
    await proof.startAt(0);
    await proof.quiet();
    const balance = await proof.balance(walletId);
    journalled += spentMeanwhile - balance;
    if (-balance > worst) worst = -balance;
  }
  const name = `${kills} nodes killed with a journal near the end of $0.02`;
  proof.add(`${name}: overspent`, '$0.0000', dollars(worst), worst === 0n);
  proof.add(`${name}: charged from journals`, '> $0', dollars(journalled), journalled > 0n);
  const told = [...answers].map(([code, count]) => `${count} ${code}`).join(', ');
  proof.add(`${name}: acknowledged`, '> 0', told, acknowledged > 0);
  const drift = await proof.drift();
  proof.add(`${name}: drift`, '0 wrong', `${drift} wrong`, drift === 0);
}

export async function provePostgresCrashes(proof: Proof, kills: number): Promise<void> {
  const load = new Load(proof, await wallets(proof), 10).start(40);
  for (let kill = 0; kill < kills; kill += 1) {
    await delay(1_000 + Math.random() * 1_000);
    await proof.postgres.kill();
    await delay(300);
    await proof.postgres.launch();
  }
  await delay(1_500);
  await settle(proof, load, `PostgreSQL killed ${kills} times under load`);
  const strange = [...load.codes.keys()].filter(
    (code) => !['ok', 'billing_unavailable', lost].includes(code),
  );
  const counted = [...load.codes].map(([code, count]) => `${count} ${code}`).join(', ');
  proof.add(`PostgreSQL killed ${kills} times: answers`, 'no others', counted, strange.length === 0);
}

/** The database is away for ten seconds: nodes with a slice go on, and nothing is forgotten. */
export async function proveOutage(proof: Proof, seconds: number): Promise<void> {
  const ids = await wallets(proof);
  const warm = new Load(proof, ids, 5).start(24);
  await delay(6_000);
  await warm.stop();
  await proof.quiet();
  await proof.postgres.kill();
  // A few calls a second use up less than the slices hold.
  const load = new Load(proof, ids, 900).start(6);
  await delay(seconds * 1_000);
  const during = new Map(load.codes);
  const stillHere = load.acknowledged.size;
  await proof.postgres.launch();
  await delay(2_000);
  const failed = [...during].reduce((sum, [code, count]) => (code === 'ok' ? sum : sum + count), 0);
  const found = `${failed} of ${failed + stillHere}`;
  proof.add(
    `${seconds} s without PostgreSQL: failed holds while slices last`,
    '0',
    found,
    failed === 0 && stillHere > 0,
  );
  await settle(proof, load, `${seconds} s without PostgreSQL`);
}
