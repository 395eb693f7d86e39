import type { RequestRecord } from '../../../src/audit';
import { CatalogueEditor, CatalogueService, type ModelState } from '#product/catalogue';
import { PersonalSettings } from '#product/identity';
import { Outbox } from '#product/platform';
import { PersonalNotices } from '#inside/portal/notices/personal-notices';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { createChatRecord, storeRecords } from '../../support/records';
import { sendRaw } from '../web/raw-exchange';
import { until } from '../../support/until';

let app: TestApp;

const service = <T>(type: abstract new (...given: never[]) => T): T =>
  app.application.get<T>(type, { strict: false });
const sendNotices = () => service(PersonalNotices).notify(AbortSignal.timeout(10_000));
const setState = async (state: ModelState) => {
  await app.database.transaction((tx) => service(CatalogueEditor).setState(tx, 'sim-small', state), {
    withoutActivity: 'test',
  });
  await service(CatalogueService).reload();
};
const overview = async (userId: number) =>
  (
    await sendRaw(app.url, {
      path: '/dashboard',
      headers: { cookie: await signIn(app, userId), accept: 'text/html' },
    })
  ).body;
/** Polls the outbox, because emails are sent through the queue. */
const mailsTo = async (userId: number, count: number): Promise<string[]> => {
  const [row] = await app.database.query<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
    userId,
  ]);
  const mails = async () => (await service(Outbox).list()).filter(({ to }) => to === row?.email);
  await until(async () => (await mails()).length >= count);
  return (await mails()).map(({ subject }) => subject);
};
const createUser = async () => {
  const userId = await addUser(app);
  return { userId, keyId: (await addKey(app, userId)).id };
};

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9', environment: { NODE_ENV: 'development' } });
});
afterAll(() => app.close());

test('a user of a model is notified once when it is withdrawn, and again on a repeated withdrawal', async () => {
  const [user, muted, other] = [await createUser(), await createUser(), await createUser()];
  const usedModel = { model: 'sim-small', servedModel: 'sim-small' };
  await storeRecords(app, [
    createChatRecord(user.userId, user.keyId, usedModel),
    createChatRecord(muted.userId, muted.keyId, usedModel),
  ]);
  await storeRecords(app, [createChatRecord(other.userId, other.keyId)]);
  await app.database.transaction(
    (tx) => service(PersonalSettings).muteNotices(tx, muted.userId, ['models']),
    {
      withoutActivity: 'test',
    },
  );
  await sendNotices();
  expect(await overview(user.userId)).not.toContain('is no longer available');
  await setState('paused');
  await sendNotices();
  await sendNotices();
  expect(await overview(user.userId)).toContain('The model sim-small, which you use, is no longer available');
  expect(await overview(other.userId)).not.toContain('is no longer available');
  expect(await overview(muted.userId)).not.toContain('is no longer available');
  expect(await mailsTo(user.userId, 1)).toEqual(['The model sim-small is no longer available']);
  await setState('active');
  await sendNotices();
  expect(await overview(user.userId)).not.toContain('is no longer available');
  const notices = await app.database.query('SELECT 1 FROM personal_notice WHERE topic = $1', ['models']);
  expect(notices).toEqual([]);
});

test('a user with many server-side failures within an hour is notified once per day', async () => {
  const [failing, own] = [await createUser(), await createUser()];
  const serverFailure = { status: 502, code: 'upstream_error', costNano: 0n };
  const clientError = { status: 400, code: 'invalid_request', costNano: 0n };
  const addFailures = (userId: number, keyId: number, fields: Partial<RequestRecord>) =>
    Array.from({ length: 24 }, (_, index) => createChatRecord(userId, keyId, index < 8 ? fields : {}));
  await storeRecords(app, [
    ...addFailures(failing.userId, failing.keyId, serverFailure),
    ...addFailures(own.userId, own.keyId, clientError),
  ]);
  await sendNotices();
  await sendNotices();
  expect(await overview(failing.userId)).toContain('8 of 24 requests failed');
  expect(await overview(own.userId)).not.toContain('requests failed');
  expect(await mailsTo(failing.userId, 1)).toEqual(['An unusual number of your requests are failing']);
});

test('a user of a retiring model is notified 30 and 7 days before, and no longer once the retirement is cancelled', async () => {
  const [user, muted, other] = [await createUser(), await createUser(), await createUser()];
  await app.database.query(`UPDATE model SET name = 'acme/large' WHERE name = 'sim-large'`);
  const usedModel = { model: 'acme/large', servedModel: 'acme/large' };
  await storeRecords(app, [
    createChatRecord(user.userId, user.keyId, usedModel),
    createChatRecord(muted.userId, muted.keyId, usedModel),
    createChatRecord(other.userId, other.keyId),
  ]);
  await app.database.transaction(
    (tx) => service(PersonalSettings).muteNotices(tx, muted.userId, ['models']),
    { withoutActivity: 'test' },
  );
  const retireIn = async (days: number | null) => {
    await app.database.query(
      `UPDATE model SET retires_at = date_trunc('day', now()) + make_interval(days => $1) WHERE name = 'acme/large'`,
      [days],
    );
    await service(CatalogueService).reload();
    await sendNotices();
    await sendNotices();
  };
  const words = 'The model acme/large, which you use, retires on';
  const noticeCount = async ({ userId }: { userId: number }) =>
    (await overview(userId)).split(words).length - 1;
  await retireIn(40);
  expect(await noticeCount(user)).toBe(0);
  await retireIn(25);
  expect(await noticeCount(user)).toBe(1);
  await app.database.query(
    `UPDATE model SET retires_at = retires_at - interval '20 days' WHERE name = 'acme/large'`,
  );
  await service(CatalogueService).reload();
  await sendNotices();
  await sendNotices();
  expect([await noticeCount(user), await noticeCount(other), await noticeCount(muted)]).toEqual([1, 0, 0]);
  const mails = await mailsTo(user.userId, 2);
  expect(mails).toEqual([
    expect.stringContaining('The model acme/large retires on'),
    expect.stringContaining('The model acme/large retires on'),
  ]);
  expect(await mailsTo(muted.userId, 0)).toEqual([]);
  await retireIn(null);
  expect(await noticeCount(user)).toBe(0);
  await retireIn(0);
  expect(await overview(user.userId)).toContain(
    'The model acme/large, which you use, is no longer available',
  );
});
