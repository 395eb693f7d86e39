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
const lapse = (): Promise<unknown> =>
  app.database.query(`UPDATE idempotent_answer SET leased_until = now() - interval '1 second'`);
const expire = (): Promise<unknown> => app.database.query('UPDATE idempotent_answer SET expires_at = now()');
const rows = async (): Promise<number> => (await app.database.query('SELECT FROM idempotent_answer')).length;

test('a lease that is renewed does not lapse; who lost one can neither keep nor give up anything', async () => {
  const subject = operation();
  const [mine, theirs] = [randomUUID(), randomUUID()];
  expect(await answers.claim(mine, subject, null)).toBe(true);
  await lapse();
  expect(await answers.find(subject)).toMatchObject({ claim: mine, standing: 'abandoned' });
  await answers.renew([mine]);
  expect(await answers.find(subject)).toMatchObject({ claim: mine, standing: 'running' });
  expect(await answers.claim(theirs, subject, mine)).toBe(false);
  await lapse();
  expect(await answers.claim(theirs, subject, null)).toBe(false);
  expect(await answers.claim(theirs, subject, mine)).toBe(true);
  await answers.release(mine);
  expect(await answers.markUnstored(mine)).toBe(false);
  expect(await answers.store(mine, subject, Buffer.from('late'))).toBe(false);
  expect(await answers.store(theirs, subject, Buffer.from([0, 255, 10]))).toBe(true);
  await lapse();
  expect(await answers.claim(mine, subject, theirs)).toBe(false);
  expect(await answers.find(subject)).toMatchObject({
    standing: 'answered',
    answer: Buffer.from([0, 255, 10]),
  });
});

test('twenty that claim the same at once: one gets it, fresh, abandoned or expired', async () => {
  const subject = operation();
  const winners = async (abandoned: string | null): Promise<string[]> => {
    const claims = Array.from({ length: 20 }, () => randomUUID());
    const got = await Promise.all(claims.map((claim) => answers.claim(claim, subject, abandoned)));
    return claims.filter((_, at) => got[at]);
  };
  const first = await winners(null);
  expect(first.length).toBe(1);
  await lapse();
  expect((await winners(first[0]!)).length).toBe(1);
  await expire();
  expect((await winners(null)).length).toBe(1);
});

test('what is a day old is removed in portions, as far as the time goes, and nothing else', async () => {
  await expire();
  await app.database.query(
    `INSERT INTO idempotent_answer (claim, key_id, key_hash, request_hash, request_id, leased_until, expires_at)
     SELECT gen_random_uuid(), $1, int4send(n), '', gen_random_uuid(), now(), now() FROM generate_series(1, 250) AS n`,
    [keyId],
  );
  const all = await rows();
  expect(await answers.removeExpired(AbortSignal.abort())).toBe(0);
  const subject = operation();
  await answers.claim(randomUUID(), subject, null);
  expect(await answers.removeExpired(AbortSignal.timeout(10_000))).toBe(all);
  expect(await rows()).toBe(1);
  expect(await answers.find(subject)).toMatchObject({ standing: 'running' });
});

test('the upkeep does it by itself', async () => {
  await answers.claim(randomUUID(), operation(), null);
  await expire();
  await app.application.get(RepeatingJobs, { strict: false }).run('idempotent-answers');
  expect(await rows()).toBe(0);
});
