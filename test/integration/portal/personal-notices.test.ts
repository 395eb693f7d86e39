import type { RequestRecord } from '../../../src/audit';
import { CatalogueEditor, CatalogueService, type ModelState } from '#product/catalogue';
import { PersonalSettings } from '#product/identity';
import { Outbox } from '#product/platform';
import { PersonalNotices } from '#inside/portal/notices/personal-notices';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { chatRecord, putRecords } from '../../support/records';
import { ask } from '../web/raw-exchange';
import { until } from '../../support/until';

let app: TestApp;

const service = <T>(type: abstract new (...given: never[]) => T): T =>
  app.application.get<T>(type, { strict: false });
const tell = () => service(PersonalNotices).notify(AbortSignal.timeout(10_000));
const setState = async (state: ModelState) => {
  await app.database.transaction((tx) => service(CatalogueEditor).setState(tx, 'sim-small', state), {
    withoutActivity: 'test',
  });
  await service(CatalogueService).reload();
};
const overview = async (userId: number) =>
  (
    await ask(app.url, {
      path: '/dashboard',
      headers: { cookie: await signIn(app, userId), accept: 'text/html' },
    })
  ).body;
/** Mails go through a queue, which says nothing when it is done. */
const mailsTo = async (userId: number, wanted: number): Promise<string[]> => {
  const [row] = await app.database.query<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
    userId,
  ]);
  const mails = async () => (await service(Outbox).list()).filter(({ to }) => to === row?.email);
  await until(async () => (await mails()).length >= wanted);
  return (await mails()).map(({ subject }) => subject);
};
const person = async () => {
  const userId = await addUser(app);
  return { userId, keyId: (await addKey(app, userId)).id };
};

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9', environment: { NODE_ENV: 'development' } });
});
afterAll(() => app.close());

test('who used a model hears once that it was taken away, and again when it goes again', async () => {
  const [user, muted, other] = [await person(), await person(), await person()];
  const used = { model: 'sim-small', servedModel: 'sim-small' };
  await putRecords(app, [
    chatRecord(user.userId, user.keyId, used),
    chatRecord(muted.userId, muted.keyId, used),
  ]);
  await putRecords(app, [chatRecord(other.userId, other.keyId)]);
  await app.database.transaction(
    (tx) => service(PersonalSettings).muteNotices(tx, muted.userId, ['models']),
    {
      withoutActivity: 'test',
    },
  );
  await tell();
  expect(await overview(user.userId)).not.toContain('is no longer available');
  await setState('paused');
  await tell();
  await tell();
  expect(await overview(user.userId)).toContain('The model sim-small, which you use, is no longer available');
  expect(await overview(other.userId)).not.toContain('is no longer available');
  expect(await overview(muted.userId)).not.toContain('is no longer available');
  expect(await mailsTo(user.userId, 1)).toEqual(['The model sim-small is no longer available']);
  await setState('active');
  await tell();
  expect(await overview(user.userId)).not.toContain('is no longer available');
  const told = await app.database.query('SELECT 1 FROM personal_notice WHERE topic = $1', ['models']);
  expect(told).toEqual([]);
});

test('who had many failures of the other side within an hour hears of it once a day', async () => {
  const [failing, own] = [await person(), await person()];
  const down = { status: 502, code: 'upstream_error', costNano: 0n };
  const mistake = { status: 400, code: 'invalid_request', costNano: 0n };
  const many = (userId: number, keyId: number, fields: Partial<RequestRecord>) =>
    Array.from({ length: 24 }, (_, index) => chatRecord(userId, keyId, index < 8 ? fields : {}));
  await putRecords(app, [
    ...many(failing.userId, failing.keyId, down),
    ...many(own.userId, own.keyId, mistake),
  ]);
  await tell();
  await tell();
  expect(await overview(failing.userId)).toContain('8 of 24 requests failed');
  expect(await overview(own.userId)).not.toContain('requests failed');
  expect(await mailsTo(failing.userId, 1)).toEqual(['An unusual number of your requests are failing']);
});

test('who uses a model that retires hears of it 30 and 7 days before, and no more when it stays', async () => {
  const [user, muted, other] = [await person(), await person(), await person()];
  await app.database.query(`UPDATE model SET name = 'acme/large' WHERE name = 'sim-large'`);
  const used = { model: 'acme/large', servedModel: 'acme/large' };
  await putRecords(app, [
    chatRecord(user.userId, user.keyId, used),
    chatRecord(muted.userId, muted.keyId, used),
    chatRecord(other.userId, other.keyId),
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
    await tell();
    await tell();
  };
  const words = 'The model acme/large, which you use, retires on';
  const shownTo = async ({ userId }: { userId: number }) => (await overview(userId)).split(words).length - 1;
  await retireIn(40);
  expect(await shownTo(user)).toBe(0);
  await retireIn(25);
  expect(await shownTo(user)).toBe(1);
  await app.database.query(
    `UPDATE model SET retires_at = retires_at - interval '20 days' WHERE name = 'acme/large'`,
  );
  await service(CatalogueService).reload();
  await tell();
  await tell();
  expect([await shownTo(user), await shownTo(other), await shownTo(muted)]).toEqual([1, 0, 0]);
  const mails = await mailsTo(user.userId, 2);
  expect(mails).toEqual([
    expect.stringContaining('The model acme/large retires on'),
    expect.stringContaining('The model acme/large retires on'),
  ]);
  expect(await mailsTo(muted.userId, 0)).toEqual([]);
  await retireIn(null);
  expect(await shownTo(user)).toBe(0);
  await retireIn(0);
  expect(await overview(user.userId)).toContain(
    'The model acme/large, which you use, is no longer available',
  );
});
