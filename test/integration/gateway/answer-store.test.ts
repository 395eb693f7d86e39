import { randomUUID } from 'node:crypto';
import { IdempotencyStore } from '#inside/web/idempotency/idempotency-store';
import { RepeatingJobs } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';

let app: TestApp;
let answers: IdempotencyStore;
let keyId: number;

beforeAll(async () => {
  app = await startTestApp();
  answers = app.application.get(IdempotencyStore, { strict: false });
  const [key] = await app.database.query<{ id: number }>('SELECT min(id) AS id FROM api_key');
  keyId = key?.id ?? 0;
});
afterAll(() => app.close());

const operation = (keyHash = randomUUID()) => ({
  keyId,
  keyHash: Buffer.from(keyHash),
  requestHash: Buffer.from('a request'),
  requestId: randomUUID(),
});
const expireLeases = (): Promise<unknown> =>
  app.database.query(`UPDATE idempotent_answer SET leased_until = now() - interval '1 second'`);
const expireAnswers = (): Promise<unknown> =>
  app.database.query('UPDATE idempotent_answer SET expires_at = now()');
const rows = async (): Promise<number> => (await app.database.query('SELECT FROM idempotent_answer')).length;

test('lease survives when renewed; a holder that lost it can neither store nor release', async () => {
  const ownOperation = operation();
  const [ownClaim, otherClaim] = [randomUUID(), randomUUID()];
  expect(await answers.claim(ownClaim, ownOperation, null)).toBe(true);
  await expireLeases();
  expect(await answers.find(ownOperation)).toMatchObject({ claim: ownClaim, standing: 'abandoned' });
  await answers.renew([ownClaim]);
  expect(await answers.find(ownOperation)).toMatchObject({ claim: ownClaim, standing: 'running' });
  expect(await answers.claim(otherClaim, ownOperation, ownClaim)).toBe(false);
  await expireLeases();
  expect(await answers.claim(otherClaim, ownOperation, null)).toBe(false);
  expect(await answers.claim(otherClaim, ownOperation, ownClaim)).toBe(true);
  await answers.release(ownClaim);
  expect(await answers.markUnstored(ownClaim)).toBe(false);
  expect(await answers.store(ownClaim, ownOperation, Buffer.from('late'))).toBe(false);
  expect(await answers.store(otherClaim, ownOperation, Buffer.from([0, 255, 10]))).toBe(true);
  await expireLeases();
  expect(await answers.claim(ownClaim, ownOperation, otherClaim)).toBe(false);
  expect(await answers.find(ownOperation)).toMatchObject({
    standing: 'answered',
    answer: Buffer.from([0, 255, 10]),
  });
});

test('exactly one of twenty concurrent claims wins on a fresh, abandoned or expired operation', async () => {
  const ownOperation = operation();
  const claimConcurrently = async (abandoned: string | null): Promise<string[]> => {
    const claims = Array.from({ length: 20 }, () => randomUUID());
    const results = await Promise.all(claims.map((claim) => answers.claim(claim, ownOperation, abandoned)));
    return claims.filter((_, at) => results[at]);
  };
  const first = await claimConcurrently(null);
  expect(first.length).toBe(1);
  await expireLeases();
  expect((await claimConcurrently(first[0]!)).length).toBe(1);
  await expireAnswers();
  expect((await claimConcurrently(null)).length).toBe(1);
});

test('removeExpired deletes only expired answers, in batches, until its time is up', async () => {
  await expireAnswers();
  await app.database.query(
    `INSERT INTO idempotent_answer (claim, key_id, key_hash, request_hash, request_id, leased_until, expires_at)
     SELECT gen_random_uuid(), $1, int4send(n), '', gen_random_uuid(), now(), now() FROM generate_series(1, 250) AS n`,
    [keyId],
  );
  const totalRows = await rows();
  expect(await answers.removeExpired(AbortSignal.abort())).toBe(0);
  const ownOperation = operation();
  await answers.claim(randomUUID(), ownOperation, null);
  expect(await answers.removeExpired(AbortSignal.timeout(10_000))).toBe(totalRows);
  expect(await rows()).toBe(1);
  expect(await answers.find(ownOperation)).toMatchObject({ standing: 'running' });
});

test('maintenance job removes expired answers', async () => {
  await answers.claim(randomUUID(), operation(), null);
  await expireAnswers();
  await app.application.get(RepeatingJobs, { strict: false }).run('idempotent-answers');
  expect(await rows()).toBe(0);
});
