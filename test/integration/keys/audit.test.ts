import { randomUUID } from 'node:crypto';
import type { RequestRecord } from '../../../src/audit';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/users';
import { createChatRecord, storeRecords } from '../../support/records';
import { call, apiErrorOf } from './http';

let app: TestApp;
let rootKey: string;
let key: { id: number; publicId: string; text: string };
let otherKey: { id: number; publicId: string; text: string };

const start = Date.now() - 3_600_000;

const recordAt = (place: number, fields: Partial<RequestRecord> = {}): RequestRecord =>
  createChatRecord(null, key.id, {
    requestId: randomUUID(),
    createdAt: new Date(start + place * 1_000),
    costNano: 1_500_000n,
    stream: false,
    latencyMs: 12,
    firstTokenMs: null,
    ...fields,
  });

let records: RequestRecord[];

beforeAll(async () => {
  app = await startTestApp();
  rootKey = app.firstKeys?.root ?? '';
  const user = await addUser(app);
  key = await addKey(app, user);
  otherKey = await addKey(app, user);
  records = [
    recordAt(0, {
      inputTokens: 10,
      cacheReadTokens: 5,
      cacheWriteTokens: 2,
      cacheWriteLongTokens: 1,
      outputTokens: 7,
      reasoningTokens: 3,
      imageOutputTokens: 4,
      uses: { web_search: 3, file_search: 1 },
      modes: { service_tier: 'priority' },
      failover: true,
      attempts: [
        { supplier: 'south', region: 'eu', model: 'a', status: 500, milliseconds: 3, outcome: 'failed' },
      ],
    }),
    // Several records in one millisecond, distinguished only by their ids.
    ...[1, 1, 1, 1, 1, 2].map((place) => recordAt(place)),
    recordAt(3, {
      model: '=cmd|calc',
      servedModel: null,
      supplier: '@evil',
      status: 502,
      code: 'upstream_error',
      costNano: 0n,
    }),
    recordAt(4, { keyId: otherKey.id }),
  ];
  await storeRecords(app, records);
});
afterAll(() => app.close());

interface AuditPage {
  readonly data: Record<string, unknown>[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  readonly previous_cursor: string | null;
}

const getAudit = <Body = AuditPage>(query = '') =>
  call<Body>(app, rootKey, 'GET', `/v1/manage/keys/${key.publicId}/audit${query}`);

test('a record has its documented fields, with the token counts reported to the caller', async () => {
  const { data } = (await getAudit()).body;
  expect(data).toHaveLength(8);
  expect(data.at(-1)).toEqual({
    timestamp: new Date(start).toISOString(),
    key_id: key.publicId,
    model: 'alpha',
    supplier: 'north',
    region: 'eu',
    input_tokens: 18,
    output_tokens: 14,
    cost_usd: 0.0015,
    latency_ms: 12,
    request_id: records[0]?.requestId,
    status: 200,
    code: null,
    failover: true,
    cache_read_tokens: 5,
    cache_write_tokens: 3,
    reasoning_tokens: 3,
    cost: '0.0015',
    price_factor: null,
    client_request_id: null,
    parts: null,
    price_id: null,
    usage_source: 'supplier',
    uncached_input_tokens: 10,
    cache_write_5m_tokens: 2,
    cache_write_1h_tokens: 1,
    visible_output_tokens: 7,
    audio_input_tokens: 0,
    audio_output_tokens: 0,
    image_input_tokens: 0,
    image_output_tokens: 4,
    calls: 0,
    audio_milliseconds: 0,
    tool_uses: { web_search: 3, file_search: 1 },
    images: null,
    service_tier: 'priority',
    speed: null,
    inference_geo: null,
  });
});

test.each([1, 2, 3, 7, 8, 9])('pages of %i list every record once, newest first', async (limit) => {
  const requestIds: unknown[] = [];
  let cursor = '';
  for (let pages = 0; pages < 20; pages += 1) {
    const { body } = await getAudit(`?limit=${limit}${cursor}`);
    expect(body.data.length).toBeLessThanOrEqual(limit);
    requestIds.push(...body.data.map(({ request_id }) => request_id));
    if (!body.has_more) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  const expected = records
    .filter(({ keyId }) => keyId === key.id)
    .sort((a, b) => +b.createdAt - +a.createdAt || (a.requestId < b.requestId ? 1 : -1))
    .map(({ requestId }) => requestId);
  expect(requestIds).toEqual(expected);
});

test('a page links back to the previous one', async () => {
  const { body: first } = await getAudit('?limit=3');
  const { body: second } = await getAudit(`?limit=3&cursor=${first.next_cursor}`);
  expect(first.previous_cursor).toBeNull();
  expect((await getAudit(`?limit=3&cursor=${second.previous_cursor}`)).body.data).toEqual(first.data);
});

test('the audit log can be filtered by time, excluding the end, and by model', async () => {
  const at = (place: number): string => encodeURIComponent(new Date(start + place * 1_000).toISOString());
  expect((await getAudit(`?from=${at(1)}&to=${at(2)}`)).body.data).toHaveLength(5);
  expect((await getAudit(`?from=${at(2)}`)).body.data).toHaveLength(2);
  expect((await getAudit('?model=alpha')).body.data).toHaveLength(7);
  expect((await getAudit('?model=nobody')).body.data).toEqual([]);
});

test('the CSV export has every record, escapes formulas and respects the limit', async () => {
  const answer = await getAudit<string>('?format=csv');
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="audit_/);
  const lines = answer.body.trimEnd().split('\r\n');
  expect(lines).toHaveLength(9);
  expect(lines[0]).toMatch(
    /^timestamp,key_id,model,supplier,region,input_tokens,output_tokens,cost_usd,latency_ms,request_id,/,
  );
  expect(lines[1]).toContain(",'=cmd|calc,'@evil,");
  expect((await getAudit<string>('?format=csv&limit=2')).body.trimEnd().split('\r\n')).toHaveLength(3);
});

test.each([
  ['limit=0', 'limit'],
  ['limit=1001', 'limit'],
  ['limit=1e3', 'limit'],
  ['from=yesterday', 'from'],
  ['to=2026-01-01T00:00:00', 'to'],
  ['from=2026-02-01&to=2026-01-01', 'to'],
  ['format=xml', 'format'],
  ['cursor=x', 'cursor'],
  [`cursor=${encodeURIComponent("1_' OR 1=1")}`, 'cursor'],
  [`model=${'x'.repeat(300)}`, 'model'],
])('%s is refused with the name of the field', async (query, param) => {
  expect(apiErrorOf(await getAudit<Record<string, unknown>>(`?${query}`))).toEqual([
    400,
    'invalid_request',
    param,
  ]);
});

test('a key can read its own requests but not those of another key', async () => {
  const [mine] = records;
  const otherRecord = records.at(-1);
  const getGeneration = (id: string | undefined) => call(app, key.text, 'GET', `/v1/generations/${id}`);
  expect((await getGeneration(mine?.requestId)).body).toMatchObject({
    id: mine?.requestId,
    cost_usd: 0.0015,
    supplier: 'north',
    region: 'eu',
    input_tokens: 18,
    attempts: [{ supplier: 'south', status: 500 }],
  });
  for (const id of [otherRecord?.requestId, randomUUID(), 'x', "'%20OR%201=1"])
    expect(apiErrorOf(await getGeneration(id))).toEqual([404, 'not_found', 'request_id']);
});
