import { Logger } from '#inside/boot/packages';
import { DataSource } from 'typeorm';
import { Database, Notifications } from '#inside/platform/database/index';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type DatabaseProxy, startDatabaseProxy } from '../../support/proxy';
import { until } from '../../support/until';

let ownDatabase: TestDatabase;
let proxy: DatabaseProxy;
let database: Database;
let notifications: Notifications;

beforeAll(async () => {
  Logger.overrideLogger(false);
  ownDatabase = await createTestDatabase();
  const source = new DataSource(
    serviceDataSourceOptions({ url: ownDatabase.url, entities: [], poolSize: 2 }),
  );
  database = new Database(await source.initialize());
});

beforeEach(async () => {
  proxy = await startDatabaseProxy(ownDatabase.url);
  notifications = new Notifications({ url: proxy.url, heartbeatMs: 50 });
  await notifications.start();
});

afterEach(async () => {
  await notifications.onApplicationShutdown();
  await proxy.close();
});

afterAll(async () => {
  await database.source.destroy();
  await ownDatabase.drop();
});

const announce = (channel: string, payload: string) =>
  database.transaction((tx) => notifications.notify(tx, channel, payload));

/** Returns a function that waits for the next notification of the channel. */
async function listen(channel: string) {
  const waiting: ((payload: string) => void)[] = [];
  const received: string[] = [];
  await notifications.on(channel, (payload) => {
    const next = waiting.shift();
    if (next) next(payload);
    else received.push(payload);
  });
  return async () => received.shift() ?? (await new Promise<string>((resolve) => waiting.push(resolve)));
}

const waitForGap = () => new Promise<void>((resolve) => void notifications.onGap(resolve));

test('a notification is delivered on commit and not on rollback', async () => {
  const nextPayload = await listen('keys');
  const failedTransaction = database.transaction(async (tx) => {
    await notifications.notify(tx, 'keys', 'never');
    throw new Error('changed its mind');
  });
  await expect(failedTransaction).rejects.toThrow('changed its mind');
  await announce('other', 'elsewhere');
  await announce('keys', 'first');
  await announce('keys', 'second');
  expect([await nextPayload(), await nextPayload()]).toEqual(['first', 'second']);
});

test('an unsubscribed handler receives nothing, and a throwing handler does not affect others', async () => {
  const receivedAfterLeaving: string[] = [];
  const unsubscribe = await notifications.on('Odd "channel"', (payload) =>
    receivedAfterLeaving.push(payload),
  );
  await notifications.on('Odd "channel"', () => {
    throw new Error('broken subscriber');
  });
  const nextPayload = await listen('Odd "channel"');
  unsubscribe();
  await announce('Odd "channel"', 'hello');
  expect(await nextPayload()).toBe('hello');
  expect(receivedAfterLeaving).toEqual([]);
});

test('a terminated connection is replaced, and the gap is reported', async () => {
  const nextPayload = await listen('keys');
  const gapReport = waitForGap();
  const confirmedBefore = notifications.lastConfirmedAt ?? 0;
  await administer(
    ownDatabase.ownerUrl,
    // Excludes the connections of other test files, which share the server.
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'switchboard-notifications'`,
  );
  await gapReport;
  expect(notifications.connected).toBe(true);
  expect(notifications.lastConfirmedAt).toBeGreaterThan(confirmedBefore);
  await announce('keys', 'again');
  expect(await nextPayload()).toBe('again');
});

test('delivery is unconfirmed while the server is away and resumes automatically', async () => {
  const nextPayload = await listen('keys');
  const gapReport = waitForGap();
  await proxy.cut();
  await announce('keys', 'lost');
  await until(() => !notifications.connected);
  const lateListener = await listen('late');
  await proxy.restore();
  await gapReport;
  await announce('keys', 'found');
  await announce('late', 'too');
  expect([await nextPayload(), await lateListener()]).toEqual(['found', 'too']);
});

test('an unresponsive server is detected', async () => {
  proxy.freeze();
  const gapReport = waitForGap();
  await until(() => !notifications.connected);
  await proxy.cut();
  await proxy.restore();
  await gapReport;
});

test('shutdown completes immediately, even while the server is unreachable', async () => {
  await proxy.cut();
  const startedAt = performance.now();
  await notifications.onApplicationShutdown();
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(notifications.connected).toBe(false);
});

test('a failed first connection returns an error instead of waiting silently', async () => {
  await proxy.cut();
  await expect(new Notifications({ url: proxy.url }).start()).rejects.toThrow('ECONNREFUSED');
});
