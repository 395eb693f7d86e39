import { Logger } from '#inside/boot/packages';
import { DataSource } from 'typeorm';
import { Database, Notifications } from '#inside/platform/database/index';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Proxy, proxyTo } from '../../support/proxy';
import { until } from '../../support/until';

let own: TestDatabase;
let proxy: Proxy;
let database: Database;
let notifications: Notifications;

beforeAll(async () => {
  Logger.overrideLogger(false);
  own = await createTestDatabase();
  const source = new DataSource(serviceDataSourceOptions({ url: own.url, entities: [], poolSize: 2 }));
  database = new Database(await source.initialize());
});

beforeEach(async () => {
  proxy = await proxyTo(own.url);
  notifications = new Notifications({ url: proxy.url, heartbeatMs: 50 });
  await notifications.start();
});

afterEach(async () => {
  await notifications.onApplicationShutdown();
  await proxy.close();
});

afterAll(async () => {
  await database.source.destroy();
  await own.drop();
});

const announce = (channel: string, payload: string) =>
  database.transaction((tx) => notifications.notify(tx, channel, payload));

/** The announcements on a channel, one after another. */
async function heard(channel: string) {
  const waiting: ((payload: string) => void)[] = [];
  const arrived: string[] = [];
  await notifications.on(channel, (payload) => {
    const next = waiting.shift();
    if (next) next(payload);
    else arrived.push(payload);
  });
  return async () => arrived.shift() ?? (await new Promise<string>((resolve) => waiting.push(resolve)));
}

const gap = () => new Promise<void>((resolve) => void notifications.onGap(resolve));

test('an announcement is heard when its transaction commits, and not when it does not', async () => {
  const next = await heard('keys');
  const broken = database.transaction(async (tx) => {
    await notifications.notify(tx, 'keys', 'never');
    throw new Error('changed its mind');
  });
  await expect(broken).rejects.toThrow('changed its mind');
  await announce('other', 'elsewhere');
  await announce('keys', 'first');
  await announce('keys', 'second');
  expect([await next(), await next()]).toEqual(['first', 'second']);
});

test('who has unsubscribed hears nothing, and a handler that throws harms nobody', async () => {
  const silent: string[] = [];
  const leave = await notifications.on('Odd "channel"', (payload) => silent.push(payload));
  await notifications.on('Odd "channel"', () => {
    throw new Error('broken subscriber');
  });
  const next = await heard('Odd "channel"');
  leave();
  await announce('Odd "channel"', 'hello');
  expect(await next()).toBe('hello');
  expect(silent).toEqual([]);
});

test('a connection that the server ends is replaced, and the gap is reported', async () => {
  const next = await heard('keys');
  const reported = gap();
  const before = notifications.lastConfirmedAt ?? 0;
  await administer(
    own.ownerUrl,
    // Those of other test files, which share the server, are left alone.
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'switchboard-notifications'`,
  );
  await reported;
  expect(notifications.connected).toBe(true);
  expect(notifications.lastConfirmedAt).toBeGreaterThan(before);
  await announce('keys', 'again');
  expect(await next()).toBe('again');
});

test('while the server is away nothing is confirmed, and it is found again by itself', async () => {
  const next = await heard('keys');
  const reported = gap();
  await proxy.cut();
  await announce('keys', 'lost');
  await until(() => !notifications.connected);
  const late = await heard('late');
  await proxy.restore();
  await reported;
  await announce('keys', 'found');
  await announce('late', 'too');
  expect([await next(), await late()]).toEqual(['found', 'too']);
});

test('a server that falls silent is noticed', async () => {
  proxy.freeze();
  const reported = gap();
  await until(() => !notifications.connected);
  await proxy.cut();
  await proxy.restore();
  await reported;
});

test('shutdown ends at once, also while the server is away', async () => {
  await proxy.cut();
  const started = performance.now();
  await notifications.onApplicationShutdown();
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(notifications.connected).toBe(false);
});

test('a first connection that fails is an error, not a silent wait', async () => {
  await proxy.cut();
  await expect(new Notifications({ url: proxy.url }).start()).rejects.toThrow('ECONNREFUSED');
});
