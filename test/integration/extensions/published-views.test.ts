import type { PublishedViews } from '#extension';
import { insertRequestRecords } from '#product/audit';
import { completionTokens, promptTokens } from '#product/kernel';
import { createRecord, toWrittenRecord } from '../../support/record-fixture';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, queryRows, type TestDatabase } from '../../support/postgres';

type ColumnType =
  'bigint' | 'boolean' | 'integer' | 'jsonb' | 'numeric(28,9)' | 'text' | 'timestamptz' | 'uuid';

/** Typed so that the compiler reports a column missing here or in the types. */
const publishedColumns: { [View in keyof PublishedViews]: Record<keyof PublishedViews[View], ColumnType> } = {
  'contract.request': {
    request_id: 'uuid',
    created_at: 'timestamptz',
    key_id: 'bigint',
    user_id: 'bigint',
    organisation_id: 'bigint',
    department_id: 'bigint',
    project_id: 'bigint',
    operation: 'text',
    model: 'text',
    served_model: 'text',
    supplier: 'text',
    region: 'text',
    status: 'integer',
    error_code: 'text',
    stream: 'boolean',
    failover: 'boolean',
    input_tokens: 'integer',
    output_tokens: 'integer',
    cached_tokens: 'integer',
    cost_usd: 'numeric(28,9)',
    latency_ms: 'integer',
    first_token_ms: 'integer',
    finish_reason: 'text',
    end_user: 'text',
    tags: 'jsonb',
  },
  'contract.key': {
    id: 'integer',
    name: 'text',
    status: 'text',
    user_id: 'integer',
    organisation_id: 'integer',
    department_id: 'integer',
    project_id: 'integer',
    created_at: 'timestamptz',
  },
  'contract.organisation': { id: 'integer', name: 'text', slug: 'text', created_at: 'timestamptz' },
};

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await createTestDatabase();
  app = await startTestApp({ sharedDatabase: database });
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

test('the published views have the columns and types of the contract, each with a comment', async () => {
  const rows = await queryRows<{ view: string; column: string; type: string; comment: string | null }>(
    database.ownerUrl,
    `SELECT c.oid::regclass::text AS view, a.attname AS column,
            replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') AS type,
            col_description(c.oid, a.attnum) AS comment
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
      WHERE c.relnamespace = 'contract'::regnamespace ORDER BY c.relname, a.attnum`,
  );
  const actualColumns = Object.fromEntries(
    [...Map.groupBy(rows, ({ view }) => view)].map(([view, columns]) => [
      view,
      Object.fromEntries(columns.map(({ column, type }) => [column, type])),
    ]),
  );
  expect(actualColumns).toEqual(publishedColumns);
  expect(rows.filter(({ comment }) => comment === null)).toEqual([]);
});

test('a published request has its settled values, with the cost exact to the nano-dollar', async () => {
  const record = createRecord({
    costNano: 1_234_567_890_123n,
    inputTokens: 10,
    cacheReadTokens: 20,
    cacheWriteTokens: 30,
    cacheWriteLongTokens: 40,
    audioInputTokens: 50,
    imageTokens: 60,
    outputTokens: 7,
    reasoningTokens: 8,
    audioOutputTokens: 9,
    imageOutputTokens: 11,
    tags: ['a', 'b'],
    keyId: 12,
  });
  await app.database.transaction((tx) => insertRequestRecords(tx, [toWrittenRecord(record)]));
  const [row] = await queryRows<Record<string, unknown>>(
    database.ownerUrl,
    `SELECT *, cost_usd::text AS cost FROM contract.request WHERE request_id = '${record.requestId}'`,
  );
  expect(row).toMatchObject({
    operation: record.surface,
    model: record.model,
    error_code: record.code,
    input_tokens: promptTokens(record),
    output_tokens: completionTokens(record),
    cached_tokens: 20,
    cost: '1234.567890123',
    tags: ['a', 'b'],
    key_id: '12',
    created_at: record.createdAt,
  });
});
