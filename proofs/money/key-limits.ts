import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Limits } from '#product/billing';
import type { BudgetPeriod } from '../../src/kernel';
import { RateWindows } from '#inside/keys/rate/rate-windows';
import { RedisWindows } from '#inside/keys/rate/redis-windows';
import { startRedis } from '../../test/system/redis-server';
import { dollars, percent, type Proof, usd } from './proof';

const CALLER_COUNT = 400;
/** Default time a node waits for Redis. */
const REDIS_TIMEOUT_MS = 50;
const MIN_USED_SHARE = 0.9;
/** For a budget with holds of half a percent each. */
const MIN_SPENT_SHARE = 0.99;
const randomBetween = (min: number, max: number): number => min + Math.random() * (max - min);

/** Four hundred callers at two nodes per key limit: never exceeded, and almost fully used. */
export async function proveKeyLimits(proof: Proof): Promise<void> {
  await proveBudget(proof, 'a weekly budget', 'key', 'weekly');
  await proveBudget(proof, 'a one-off budget', 'key', 'total');
  await proveBudget(proof, 'a budget of one model', 'key_model', 'daily');
  const drift = await proof.drift();
  proof.add('the books after budgets of keys and models', '0 wrong', `${drift} wrong`, drift === 0);
  const redis = await startRedis();
  const nodes = await Promise.all([createRateNode(redis.url), createRateNode(redis.url)]);
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
  // Any key id is free here, and so is any id of a key and model.
  const id = kind === 'key' ? keyId : 1_000_000 + keyId;
  await database.transaction((tx) => new Limits(database).set(tx, { kind, id }, { period, limit: usd }));
  let isOver = false;
  let maxTaken = 0n;
  const watcher = (async () => {
    while (!isOver) {
      const [row] = await proof.query<{ taken: string }>(
        'SELECT spent + escrowed AS taken FROM spending_window WHERE kind = $1 AND owner_id = $2 AND period = $3',
        [kind, id, period],
      );
      const taken = BigInt(row?.taken ?? 0);
      if (taken > maxTaken) maxTaken = taken;
      await delay(20);
    }
  })();
  await Promise.all(
    Array.from({ length: CALLER_COUNT }, async (_, caller) => {
      for (let attempt = 0; attempt < 30; attempt += 1) {
        const answer = await proof.call(caller % 2, walletId, {
          keyId,
          ...(kind === 'key_model' ? { keyModelId: id } : {}),
        });
        if (answer.code === 'budget_exceeded') return;
        if (answer.retryAfterSeconds !== null)
          await delay(answer.retryAfterSeconds * randomBetween(1_000, 1_250));
      }
    }),
  );
  await proof.waitUntilSettled();
  isOver = true;
  await watcher;
  const state = await new Limits(database).state({ kind, id });
  const spent = state?.spent ?? 0n;
  const maxSeen = maxTaken > spent ? maxTaken : spent;
  const share = Number(spent) / Number(usd);
  proof.add(
    `${CALLER_COUNT} callers on ${what} of $1.00: the most at any moment`,
    '≤ $1.0000',
    dollars(maxSeen),
    maxSeen <= usd,
  );
  proof.add(
    `${CALLER_COUNT} callers on ${what} of $1.00: used`,
    `≥ ${percent(MIN_SPENT_SHARE)}`,
    percent(share),
    share >= MIN_SPENT_SHARE,
  );
}

async function proveTokens(proof: Proof, nodes: readonly RateWindows[]): Promise<void> {
  const limit = 100_000;
  const window = { key: 'tokens:proof', limit, windowMs: 60_000 };
  let countedTokens = 0;
  let maxTokens = 0;
  await Promise.all(
    Array.from({ length: CALLER_COUNT }, async (_, caller) => {
      const node = nodes[caller % 2]!;
      const estimate = 600 + Math.floor(Math.random() * 400);
      const actual = Math.floor(estimate * randomBetween(0.5, 1));
      for (let attempt = 0; attempt < 60; attempt += 1) {
        const reservation = await node.takeTokens(window, estimate);
        if (!reservation.allowed) {
          await delay(randomBetween(20, 60));
          continue;
        }
        countedTokens += estimate;
        maxTokens = Math.max(maxTokens, countedTokens);
        await delay(randomBetween(30, 200));
        countedTokens -= estimate - actual;
        node.correctTokens(window, reservation.id, actual);
        return;
      }
    }),
  );
  const formatTokens = (tokens: number): string => tokens.toLocaleString('en');
  const [one, other] = [await nodes[0]!.peekTokens(window), await nodes[1]!.peekTokens(window)];
  proof.add(
    `${CALLER_COUNT} callers on ${formatTokens(limit)} tokens a minute: the most at any moment`,
    `≤ ${formatTokens(limit)}`,
    formatTokens(maxTokens),
    maxTokens <= limit,
  );
  proof.add(
    `${CALLER_COUNT} callers on tokens a minute: used`,
    `≥ ${percent(MIN_USED_SHARE)}`,
    percent(countedTokens / limit),
    countedTokens >= limit * MIN_USED_SHARE,
  );
  proof.add(
    'both nodes count the same tokens',
    formatTokens(countedTokens),
    `${formatTokens(one.used)}, ${formatTokens(other.used)}`,
    one.used === countedTokens && other.used === countedTokens,
  );
}

async function proveParallel(proof: Proof, nodes: readonly RateWindows[]): Promise<void> {
  const limit = 40;
  let open = 0;
  let maxOpen = 0;
  let waitingCallers = CALLER_COUNT;
  let samples = 0;
  let sum = 0;
  const sampling = setInterval(() => {
    // Only sampled while there are enough callers to fill every slot.
    if (waitingCallers < limit || maxOpen < limit) return;
    samples += 1;
    sum += open;
  }, 5);
  await Promise.all(
    Array.from({ length: CALLER_COUNT }, async (_, caller) => {
      const node = nodes[caller % 2]!;
      for (;;) {
        const slot = await node.enter('open:proof', limit);
        if (!slot.allowed) {
          await delay(randomBetween(1, 15));
          continue;
        }
        waitingCallers -= 1;
        open += 1;
        maxOpen = Math.max(maxOpen, open);
        await delay(randomBetween(100, 400));
        open -= 1;
        node.leave('open:proof', slot.id);
        return;
      }
    }),
  );
  clearInterval(sampling);
  await delay(100);
  const share = samples === 0 ? 0 : sum / samples / limit;
  const openCount = await nodes[0]!.open('open:proof', limit);
  proof.add(
    `${CALLER_COUNT} callers on ${limit} parallel calls: the most at any moment`,
    `≤ ${limit}`,
    String(maxOpen),
    maxOpen <= limit,
  );
  proof.add(
    `${CALLER_COUNT} callers on ${limit} parallel calls: places in use while others wait`,
    `≥ ${percent(MIN_USED_SHARE)}`,
    percent(share),
    share >= MIN_USED_SHARE,
  );
  proof.add('places still taken when all have left', '0', String(openCount), openCount === 0);
}

async function createRateNode(url: string): Promise<RateWindows> {
  const silent = { warn: () => undefined, info: () => undefined };
  const node = new RateWindows(new RedisWindows(new Redis(url)), silent, REDIS_TIMEOUT_MS);
  await node.start();
  return node;
}
