import type { KeysPort, RecordsPort } from '#extension';
import { Extensions } from '#product/extensions';
import { HOUR_MS } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { createChatRecord, storeRecords } from '../../support/records';

let app: TestApp;
let records: RecordsPort;
let keys: KeysPort;
beforeAll(async () => {
  app = await startTestApp({ environment: { EXTENSIONS: './test/fixtures/extensions/reader.cjs' } });
  const { byNeed: given } = app.application.get(Extensions).all[0]!.ports;
  records = given['records.read']!;
  keys = given['keys.read']!;
});
afterAll(() => app.close());

const now = Date.now();
const hoursAgo = (hours: number, rest = 0): Date => new Date(now - hours * HOUR_MS - rest);
const withoutCost = { costNano: 0n };

test('records are read newest first and page by page across any gap in time', async () => {
  const times = [
    ...Array.from({ length: 7 }, (_, place) => hoursAgo(0, place * 20_000)),
    hoursAgo(3),
    hoursAgo(30),
    hoursAgo(31),
  ];
  const storedRecords = times.map((createdAt, place) =>
    createChatRecord(null, place % 2 === 0 ? 901 : 902, { ...withoutCost, createdAt, organisationId: 77 }),
  );
  await storeRecords(app, [...storedRecords].reverse());
  const range = { from: hoursAgo(31), to: hoursAgo(0, -1) };
  const readAll = async (query: object): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor: string | undefined | null; cursor !== null;) {
      const page = await records.list({ ...range, limit: 3, ...query, ...(cursor && { cursor }) });
      expect(page.items.length).toBeLessThanOrEqual(3);
      ids.push(...page.items.map((item) => item.request_id));
      cursor = page.cursor;
    }
    return ids;
  };
  const ids = storedRecords.map(({ requestId }) => requestId);
  expect(await readAll({})).toEqual(ids);
  expect(await readAll({ organisationId: 77 })).toEqual(ids);
  expect(await readAll({ keyId: 901 })).toEqual(ids.filter((_, place) => place % 2 === 0));
  expect(await readAll({ to: hoursAgo(30) })).toEqual(ids.slice(9));
  expect(await readAll({ keyId: 999 })).toEqual([]);
});

test('a record is returned in its published form', async () => {
  const record = createChatRecord(5, 903, {
    ...withoutCost,
    inputTokens: 7,
    cacheReadTokens: 20,
    outputTokens: 4,
    reasoningTokens: 1,
    tags: ['a', 'b'],
    model: null,
    code: 'model_not_found',
    status: 404,
    createdAt: hoursAgo(1),
  });
  await storeRecords(app, [record]);
  expect(await records.get(record.requestId)).toMatchObject({
    request_id: record.requestId,
    created_at: record.createdAt.toISOString(),
    key_id: 903,
    user_id: 5,
    operation: 'chat',
    model: null,
    served_model: 'alpha',
    status: 404,
    error_code: 'model_not_found',
    input_tokens: 27,
    output_tokens: 5,
    cached_tokens: 20,
    cost_usd: '0',
    tags: ['a', 'b'],
  });
  expect(await records.get('00000000-0000-7000-8000-000000000000')).toBeNull();
  expect(await records.get('nothing')).toBeNull();
});

test('invalid queries are refused', async () => {
  const range = { from: hoursAgo(1), to: hoursAgo(0) };
  await expect(records.list({ ...range, from: new Date(NaN) })).rejects.toThrow('from is no valid Date');
  await expect(records.list({ ...range, to: 'today' as never })).rejects.toThrow('to is no valid Date');
  await expect(records.list({ ...range, limit: 1_001 })).rejects.toThrow('limit is not from 1 to 1000');
  await expect(records.list({ ...range, cursor: 'x' })).rejects.toThrow('cursor must be');
  await expect(keys.list({ limit: 0 })).rejects.toThrow('limit is not from 1 to 1000');
});

test('keys are read newest first, without secrets', async () => {
  const ids: number[] = [];
  for (let cursor: string | undefined | null; cursor !== null;) {
    const page = await keys.list({ limit: 1, ...(cursor && { cursor }) });
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
  }
  expect(ids.length).toBeGreaterThan(1);
  expect(ids).toEqual([...ids].sort((one, other) => other - one));
  const key = await keys.get(ids[0]!);
  expect(Object.keys(key!).sort()).toEqual(
    'created_at department_id id name organisation_id project_id status user_id'.split(' '),
  );
  expect(key).toMatchObject({ id: ids[0], status: 'active' });
  expect(await keys.get(0)).toBeNull();
  expect((await keys.list({ organisationId: 123_456 })).items).toEqual([]);
});
