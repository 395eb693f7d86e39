import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Limits } from '#product/billing';
import type { BudgetPeriod } from '../../src/kernel';
import { RateWindows } from '#inside/keys/rate/rate-windows';
import { RedisWindows } from '#inside/keys/rate/redis-windows';
import { startRedis } from '../../test/system/redis-server';
import { dollars, percent, type Proof, usd } from './proof';

const CALLERS = 400;
/** As long as a node waits for Redis where its settings say nothing. */
const ANSWER_MS = 50;
const LEAST_USED = 0.9;
/** Of a budget whose single holds are half a hundredth of it. */
const LEAST_SPENT = 0.99;
const inMilliseconds = (least: number, most: number): number => least + Math.random() * (most - least);

/** Four hundred callers at two nodes on each limit of a key: never above it, and nearly all of it used. */
export async function proveKeyLimits(proof: Proof): Promise<void> {
  await proveBudget(proof, 'a weekly budget', 'key', 'weekly');
  await proveBudget(proof, 'a one-off budget', 'key', 'total');
  await proveBudget(proof, 'a budget of one model', 'key_model', 'daily');
  const drift = await proof.drift();
  proof.add('the books after budgets of keys and models', '0 wrong', `${drift} wrong`, drift === 0);
  const redis = await startRedis();
  const nodes = await Promise.all([rateNode(redis.url), rateNode(redis.url)]);
  try {
    await proveTokens(proof, nodes);
    await proveParallel(proof, nodes);
  } finally {
    for (const node of nodes) await node.stop();
    await redis.stop();
  }
}

async function proveBudget(
  proof: Proof,
  what: string,
  kind: 'key' | 'key_model',
  period: BudgetPeriod,
): Promise<void> {
  const walletId = await proof.wallet(100n * usd);
  const keyId = walletId;
  const database = await proof.database();
  // The number of a key is free here; so is that of a key and a model.
  const id = kind === 'key' ? keyId : 1_000_000 + keyId;
  await database.transaction((tx) => new Limits(database).set(tx, { kind, id }, { period, limit: usd }));
  let isOver = false;
  let most = 0n;
  const watching = (async () => {
    while (!isOver) {
      const [row] = await proof.query<{ taken: string }>(
        'SELECT spent + escrowed AS taken FROM spending_window WHERE kind = $1 AND owner_id = $2 AND period = $3',
        [kind, id, period],
      );
      const taken = BigInt(row?.taken ?? 0);
      if (taken > most) most = taken;
      await delay(20);
    }
  })();
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      for (let tries = 0; tries < 30; tries += 1) {
        const answer = await proof.call(caller % 2, walletId, {
          keyId,
          ...(kind === 'key_model' ? { keyModelId: id } : {}),
        });
        if (answer.code === 'budget_exceeded') return;
        if (answer.retryAfterSeconds !== null)
          await delay(answer.retryAfterSeconds * inMilliseconds(1_000, 1_250));
      }
    }),
  );
  await proof.quiet();
  isOver = true;
  await watching;
  const state = await new Limits(database).state({ kind, id });
  const used = state?.spent ?? 0n;
  const highest = most > used ? most : used;
  const share = Number(used) / Number(usd);
  proof.add(
    `${CALLERS} callers on ${what} of $1.00: the most at any moment`,
    '≤ $1.0000',
    dollars(highest),
    highest <= usd,
  );
  proof.add(
    `${CALLERS} callers on ${what} of $1.00: used`,
    `≥ ${percent(LEAST_SPENT)}`,
    percent(share),
    share >= LEAST_SPENT,
  );
}

async function proveTokens(proof: Proof, nodes: readonly RateWindows[]): Promise<void> {
  const limit = 100_000;
  const window = { key: 'tokens:proof', limit, windowMs: 60_000 };
  let counted = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      const node = nodes[caller % 2]!;
      const estimate = 600 + Math.floor(Math.random() * 400);
      const actual = Math.floor(estimate * inMilliseconds(0.5, 1));
      for (let tries = 0; tries < 60; tries += 1) {
        const taken = await node.takeTokens(window, estimate);
        if (!taken.allowed) {
          await delay(inMilliseconds(20, 60));
          continue;
        }
        counted += estimate;
        most = Math.max(most, counted);
        await delay(inMilliseconds(30, 200));
        counted -= estimate - actual;
        node.correctTokens(window, taken.id, actual);
        return;
      }
    }),
  );
  const figure = (tokens: number): string => tokens.toLocaleString('en');
  const [one, other] = [await nodes[0]!.peekTokens(window), await nodes[1]!.peekTokens(window)];
  proof.add(
    `${CALLERS} callers on ${figure(limit)} tokens a minute: the most at any moment`,
    `≤ ${figure(limit)}`,
    figure(most),
    most <= limit,
  );
  proof.add(
    `${CALLERS} callers on tokens a minute: used`,
    `≥ ${percent(LEAST_USED)}`,
    percent(counted / limit),
    counted >= limit * LEAST_USED,
  );
  proof.add(
    'both nodes count the same tokens',
    figure(counted),
    `${figure(one.used)}, ${figure(other.used)}`,
    one.used === counted && other.used === counted,
  );
}

async function proveParallel(proof: Proof, nodes: readonly RateWindows[]): Promise<void> {
  const limit = 40;
  let open = 0;
  let most = 0;
  let waiting = CALLERS;
  let samples = 0;
  let sum = 0;
  const sampling = setInterval(() => {
    // While there are callers enough to fill all places.
    if (waiting < limit || most < limit) return;
    samples += 1;
    sum += open;
  }, 5);
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      const node = nodes[caller % 2]!;
      for (;;) {
        const place = await node.enter('open:proof', limit);
        if (!place.allowed) {
          await delay(inMilliseconds(1, 15));
          continue;
        }
        waiting -= 1;
        open += 1;
        most = Math.max(most, open);
        await delay(inMilliseconds(100, 400));
        open -= 1;
        node.leave('open:proof', place.id);
        return;
      }
    }),
  );
  clearInterval(sampling);
  await delay(100);
  const share = samples === 0 ? 0 : sum / samples / limit;
  const left = await nodes[0]!.open('open:proof', limit);
  proof.add(
    `${CALLERS} callers on ${limit} parallel calls: the most at any moment`,
    `≤ ${limit}`,
    String(most),
    most <= limit,
  );
  proof.add(
    `${CALLERS} callers on ${limit} parallel calls: places in use while others wait`,
    `≥ ${percent(LEAST_USED)}`,
    percent(share),
    share >= LEAST_USED,
  );
  proof.add('places still taken when all have left', '0', String(left), left === 0);
}

async function rateNode(url: string): Promise<RateWindows> {
  const silent = { warn: () => undefined, info: () => undefined };
  const node = new RateWindows(new RedisWindows(new Redis(url)), silent, ANSWER_MS);
  await node.start();
  return node;
}
