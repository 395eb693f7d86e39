import { once } from 'node:events';
import { connect } from 'node:net';
import { Lifecycle } from '#product/gateway';
import { MetricsServer } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { startDatabaseProxy, type DatabaseProxy } from '../../support/proxy';
import { createTestDatabase, inSession, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

let database: TestDatabase;
let proxy: DatabaseProxy;
let app: TestApp;
let metricsUrl: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  app = await startTestApp({
    sharedDatabase: { url: proxy.url, ownerUrl: database.ownerUrl },
    environment: { OPEN_REQUESTS_LIMIT: '7' },
  });
  const port = await app.application.get(MetricsServer).listen('127.0.0.1', 0);
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
});
afterAll(async () => {
  await app.close();
  await proxy.close();
  await database.drop();
});

const scrape = async (): Promise<string> => (await fetch(metricsUrl)).text();
const valueIn = (text: string, series: string): number => {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? NaN : Number(line.slice(series.length + 1));
};
const value = async (series: string): Promise<number> => valueIn(await scrape(), series);

test('a healthy node exposes the state of its dependencies', async () => {
  await until(async () => (await value('gateway_workers_running')) === 1);
  const text = await scrape();
  const metricValue = (series: string): number => valueIn(text, series);
  expect(metricValue('gateway_ready')).toBe(1);
  expect(metricValue('gateway_database_up')).toBe(1);
  expect(metricValue('gateway_database_round_trip_seconds')).toBeGreaterThan(0);
  expect(metricValue('gateway_database_pool_limit{pool="service"}')).toBe(5);
  expect(metricValue('gateway_database_waiting{pool="service"}')).toBe(0);
  expect(metricValue('gateway_database_connections{pool="queue",state="idle"}')).toBeGreaterThanOrEqual(0);
  expect(metricValue('gateway_database_server_connections')).toBeGreaterThan(0);
  expect(metricValue('gateway_database_server_connections_limit')).toBeGreaterThan(20);
  expect(metricValue('gateway_open_requests')).toBe(0);
  expect(metricValue('gateway_open_requests_limit')).toBe(7);
  expect(metricValue('gateway_disk_free_bytes{folder="data"}')).toBeGreaterThan(0);
  expect(metricValue('gateway_disk_size_bytes{folder="data"}')).toBeGreaterThan(
    metricValue('gateway_disk_free_bytes{folder="data"}'),
  );
  expect(metricValue('gateway_event_loop_active_seconds_total')).toBeGreaterThan(0);
  expect(metricValue('gateway_heap_limit_bytes')).toBeGreaterThan(metricValue('nodejs_heap_size_used_bytes'));
  expect(metricValue('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
  expect(metricValue('process_open_fds')).toBeGreaterThan(0);
  // The journal is on the same volume, and Redis and backups are not configured, so these series are absent.
  for (const absentSeries of [
    'gateway_disk_free_bytes{folder="journal"}',
    'gateway_redis_',
    'gateway_backup_',
  ])
    expect(text).not.toMatch(new RegExp(`^${absentSeries.replaceAll(/[{}]/g, '\\$&')}`, 'm'));
});

test('a healthy node exposes the state of its money', async () => {
  const text = await scrape();
  const metricValue = (series: string): number => valueIn(text, series);
  expect(metricValue('gateway_lease_valid')).toBe(1);
  expect(metricValue('gateway_lease_age_seconds')).toBeLessThan(25);
  for (const zeroSeries of [
    'gateway_lease_renewal_failures_total',
    'gateway_lease_lapses_total',
    'gateway_journal_oldest_seconds',
    'gateway_journals_unread',
    'gateway_settlement_failures_total',
    'gateway_settlements_refused_total',
    'gateway_settlements_withdrawn_total',
    'gateway_money_differences_total',
  ])
    expect([zeroSeries, metricValue(zeroSeries)]).toEqual([zeroSeries, 0]);
  expect(metricValue('gateway_journal_writable')).toBe(1);
});

test('open connections are counted, including those that send no HTTP', async () => {
  const { hostname, port } = new URL(app.url);
  const connectionsBefore = await value('gateway_connections');
  const socket = connect(Number(port), hostname);
  socket.resume();
  await once(socket, 'connect');
  await until(async () => (await value('gateway_connections')) > connectionsBefore);
  socket.write('this is no HTTP\r\n\r\n');
  await once(socket, 'close');
  expect(await value('gateway_broken_requests_total{status="400"}')).toBe(1);
});

test('requests in progress are counted', async () => {
  const lifecycle = app.application.get(Lifecycle);
  const work = lifecycle.start();
  expect(await value('gateway_open_requests')).toBe(1);
  lifecycle.end(work);
  expect(await value('gateway_open_requests')).toBe(0);
});

test('an unavailable database is reported with its error code until it is back', async () => {
  await proxy.cut();
  const text = await scrape();
  expect(valueIn(text, 'gateway_database_up')).toBe(0);
  expect(valueIn(text, 'gateway_ready')).toBe(0);
  expect(valueIn(text, 'gateway_database_last_failure_timestamp_seconds')).toBeGreaterThan(
    Date.now() / 1_000 - 60,
  );
  expect(text).toMatch(/^gateway_database_failures_total\{code="\w+"\} [1-9]/m);
  await proxy.restore();
  await until(async () => (await value('gateway_database_up')) === 1);
  await until(async () => (await value('gateway_ready')) === 1);
});

test('a read-only database is reported as down with that reason', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const permitWrites = async (isPermitted: boolean): Promise<void> => {
    const change = isPermitted
      ? 'RESET default_transaction_read_only'
      : 'SET default_transaction_read_only = on';
    // Connects to a database whose sessions can write.
    const maintenanceUrl = new URL('/postgres', database.ownerUrl).href;
    await inSession(maintenanceUrl, (client) => client.query(`ALTER DATABASE "${name}" ${change}`));
    // The changed default applies to new sessions only.
    await proxy.cut();
    await proxy.restore();
  };
  await permitWrites(false);
  await until(async () => (await value('gateway_database_failures_total{code="read_only"}')) > 0);
  expect(await value('gateway_database_up')).toBe(0);
  await permitWrites(true);
  await until(async () => (await value('gateway_database_up')) === 1);
});
