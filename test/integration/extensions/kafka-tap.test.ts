import type { SettledRecord } from '#extension';
import { startTestApp, type TestApp } from '../../support/app';
import { buildExtension, type ExtensionFolder } from '../../support/extension-folder';
import { KafkaStandIn } from '../../support/kafka-stand-in';
import { until } from '../../support/until';
import { setTapFailures, freeRecord, settle, tapRow } from './tap-fixture';

const TAP = 'kafka-tap/requests';

let broker: KafkaStandIn;
let extension: ExtensionFolder;
let app: TestApp;
beforeAll(async () => {
  broker = new KafkaStandIn('ai-requests', 3);
  await broker.start();
  extension = buildExtension('examples/extensions/kafka-tap');
  app = await startTestApp({
    environment: {
      EXTENSIONS: extension.path,
      EXT_KAFKA_TAP_BROKERS: `127.0.0.1:9,${broker.address}`,
      EXT_KAFKA_TAP_TOPIC: broker.topic,
    },
  });
});
beforeEach(() => {
  broker.stored.length = 0;
  broker.behaviour = () => 'acknowledge';
});
afterEach(() => expect(broker.faults).toEqual([]));
afterAll(async () => {
  await app.close();
  await broker.stop();
  extension.remove();
});

const idsOf = (records: readonly { requestId: string }[]): string[] =>
  records.map(({ requestId }) => requestId);
const storedIds = (key?: number): string[] =>
  broker.stored
    .filter((message) => key === undefined || message.key === String(key))
    .map(({ value }) => (JSON.parse(value) as SettledRecord).request_id);
/** Records of five keys in turn. */
const createRecords = (count: number) =>
  Array.from({ length: count }, (_, place) => freeRecord(place % 5, { endUser: 'né 😀' }));
const failuresOf = async (): Promise<number> => (await tapRow(app, TAP)).failures;

test('every settled request becomes one message, and the messages of a key stay in order in one partition', async () => {
  const records = createRecords(40);
  await settle(app, records.slice(0, 25));
  await settle(app, records.slice(25));
  await until(() => broker.stored.length >= 40);
  expect(new Set(storedIds())).toEqual(new Set(idsOf(records)));
  expect(broker.stored).toHaveLength(40);
  expect(new Set(broker.stored.map(({ partition }) => partition)).size).toBeGreaterThan(1);
  for (const key of [0, 1, 2, 3, 4]) {
    expect(storedIds(key)).toEqual(idsOf(records.filter(({ keyId }) => keyId === key)));
    expect(
      new Set(broker.stored.filter((one) => one.key === String(key)).map((one) => one.partition)).size,
    ).toBe(1);
  }
  const message = broker.stored.find(
    (one) => (JSON.parse(one.value) as SettledRecord).request_id === records[0]!.requestId,
  )!;
  expect(message.at).toBe(records[0]!.createdAt.getTime());
  expect(JSON.parse(message.value)).toMatchObject({ key_id: 0, end_user: 'né 😀', cost_usd: '0' });
});

test('messages that the broker refuses are sent again in order', async () => {
  broker.behaviour = () => 'refuse';
  const records = createRecords(10);
  await settle(app, records);
  await until(async () => (await failuresOf()) === 1);
  expect((await tapRow(app, TAP)).last_error).toMatch(/^the broker refused partition \d with code 6$/);
  expect(broker.stored).toEqual([]);
  broker.behaviour = () => 'acknowledge';
  await setTapFailures(app, 1, TAP);
  await until(() => broker.stored.length >= 10);
  for (const key of [0, 1, 2, 3, 4])
    expect(storedIds(key)).toEqual(idsOf(records.filter(({ keyId }) => keyId === key)));
});

test('records wait while the broker is down and arrive in order when it returns', async () => {
  await until(async () => (await failuresOf()) === 0);
  await broker.stop();
  const records = createRecords(10);
  await settle(app, records);
  await until(async () => (await failuresOf()) === 1);
  expect((await tapRow(app, TAP)).last_error).toContain('ECONNREFUSED');
  // A long outage creates no dead letters.
  await setTapFailures(app, 12, TAP);
  await until(async () => (await failuresOf()) === 13);
  expect(await app.database.query('SELECT FROM tap_dead_letter')).toEqual([]);
  await broker.start();
  await setTapFailures(app, 13, TAP);
  await until(() => broker.stored.length >= 10);
  for (const key of [0, 1, 2, 3, 4])
    expect(storedIds(key)).toEqual(idsOf(records.filter(({ keyId }) => keyId === key)));
});

test('messages stored before the broker was killed are sent again, and none is lost', async () => {
  await until(async () => (await failuresOf()) === 0);
  broker.behaviour = (asked) => (asked % 2 === 0 ? 'store and vanish' : 'acknowledge');
  const records = createRecords(10);
  await settle(app, records);
  await until(async () => (await failuresOf()) === 1);
  broker.behaviour = () => 'acknowledge';
  await setTapFailures(app, 1, TAP);
  await until(async () => (await failuresOf()) === 0);
  await until(() => new Set(storedIds()).size === 10);
  for (const key of [0, 1, 2, 3, 4]) {
    const expected = idsOf(records.filter(({ keyId }) => keyId === key));
    expect([expected, [...expected, ...expected]]).toContainEqual(storedIds(key));
  }
});

test('invalid settings prevent the start', async () => {
  const environment = {
    EXTENSIONS: extension.path,
    EXT_KAFKA_TAP_BROKERS: 'nowhere',
    EXT_KAFKA_TAP_TLS: 'yes',
  };
  await expect(startTestApp({ environment })).rejects.toThrow(
    /brokers: expected host:port.*\n.*topic: expected the name.*\n.*tls: expected true \| false/,
  );
});
