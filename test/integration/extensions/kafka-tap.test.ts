import type { SettledRecord } from '#extension';
import { startTestApp, type TestApp } from '../../support/app';
import { builtExtension, type ExtensionFolder } from '../../support/extension-folder';
import { KafkaStandIn } from '../../support/kafka-stand-in';
import { until } from '../../support/until';
import { failedBefore, free, settle, tapRow } from './tap-house';

const TAP = 'kafka-tap/requests';

let broker: KafkaStandIn;
let extension: ExtensionFolder;
let app: TestApp;
beforeAll(async () => {
  broker = new KafkaStandIn('ai-requests', 3);
  await broker.start();
  extension = builtExtension('examples/extensions/kafka-tap');
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
const some = (count: number) =>
  Array.from({ length: count }, (_, place) => free(place % 5, { endUser: 'né 😀' }));
const failuresOf = async (): Promise<number> => (await tapRow(app, TAP)).failures;

test('every settled request is a message, and those of a key lie in one partition in their order', async () => {
  const records = some(40);
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

test('what a broker refuses is sent again, in order', async () => {
  broker.behaviour = () => 'refuse';
  const records = some(10);
  await settle(app, records);
  await until(async () => (await failuresOf()) === 1);
  expect((await tapRow(app, TAP)).last_error).toMatch(/^the broker refused partition \d with code 6$/);
  expect(broker.stored).toEqual([]);
  broker.behaviour = () => 'acknowledge';
  await failedBefore(app, 1, TAP);
  await until(() => broker.stored.length >= 10);
  for (const key of [0, 1, 2, 3, 4])
    expect(storedIds(key)).toEqual(idsOf(records.filter(({ keyId }) => keyId === key)));
});

test('while the broker is away records wait, and come in order when it is back', async () => {
  await until(async () => (await failuresOf()) === 0);
  await broker.stop();
  const records = some(10);
  await settle(app, records);
  await until(async () => (await failuresOf()) === 1);
  expect((await tapRow(app, TAP)).last_error).toContain('ECONNREFUSED');
  // However long that lasts, nothing is given up.
  await failedBefore(app, 12, TAP);
  await until(async () => (await failuresOf()) === 13);
  expect(await app.database.query('SELECT FROM tap_dead_letter')).toEqual([]);
  await broker.start();
  await failedBefore(app, 13, TAP);
  await until(() => broker.stored.length >= 10);
  for (const key of [0, 1, 2, 3, 4])
    expect(storedIds(key)).toEqual(idsOf(records.filter(({ keyId }) => keyId === key)));
});

test('what a broker stored before it was killed comes twice, never less', async () => {
  await until(async () => (await failuresOf()) === 0);
  broker.behaviour = (asked) => (asked % 2 === 0 ? 'store and vanish' : 'acknowledge');
  const records = some(10);
  await settle(app, records);
  await until(async () => (await failuresOf()) === 1);
  broker.behaviour = () => 'acknowledge';
  await failedBefore(app, 1, TAP);
  await until(async () => (await failuresOf()) === 0);
  await until(() => new Set(storedIds()).size === 10);
  for (const key of [0, 1, 2, 3, 4]) {
    const expected = idsOf(records.filter(({ keyId }) => keyId === key));
    expect([expected, [...expected, ...expected]]).toContainEqual(storedIds(key));
  }
});

test('settings with faults refuse the start', async () => {
  const environment = {
    EXTENSIONS: extension.path,
    EXT_KAFKA_TAP_BROKERS: 'nowhere',
    EXT_KAFKA_TAP_TLS: 'yes',
  };
  await expect(startTestApp({ environment })).rejects.toThrow(
    /brokers: expected host:port.*\n.*topic: expected the name.*\n.*tls: expected true \| false/,
  );
});
