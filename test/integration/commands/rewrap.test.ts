import { ConversationContent } from '#inside/chat/conversation-content';
import { executeCommand } from '#inside/commands/run-command';
import { sealedColumns } from '#inside/commands/sealed-columns';
import { SecondFactors } from '#product/identity';
import { masterKeyOf } from '#product/platform';
import { SampleContent } from '#product/quality';
import { AutoSalts } from '#product/autorouter';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import {
  addQualityFixture,
  askModel,
  waitForEvaluation,
  type QualityFixture,
  setQuality,
} from '../quality/quality-fixture';

const former = 'the-former-master-key-0123456789abcdef';
const current = 'the-current-master-key-0123456789abcde';
/** Byte columns that are not secret or cannot be decrypted by design. */
const plainColumns = [
  'activity_block',
  'autorouter_session.session_hash',
  'idempotent_answer.ciphertext',
  'idempotent_answer.key_hash',
  'idempotent_answer.nonce',
  'idempotent_answer.request_hash',
  'passkey',
  'provider_credential.ciphertext',
  'provider_credential.nonce',
  'recovery_code.code_hash',
  'reseller_domain.logo',
];

let database: TestDatabase;
let simulator: Simulator;
let app: TestApp;
let fixture: QualityFixture;

const start = (masterKey: string): Promise<TestApp> =>
  startTestApp({
    sandboxUrl: simulator.url,
    sharedDatabase: database,
    environment: { MASTER_KEY: masterKey, KEY_PEPPER: 'pepper of both' },
  });
beforeAll(async () => {
  database = await createTestDatabase();
  simulator = await startSimulator();
  app = await start(former);
  fixture = await addQualityFixture(app, 'rewrapped');
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
  await database.drop();
});

test('every byte column is listed as sealed or as not secret', async () => {
  const rows = await app.database.query<{ table: string; column: string }>(
    `SELECT c.table_name AS table, c.column_name AS column FROM information_schema.columns c
       JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.table_schema = 'public' AND c.data_type = 'bytea' AND t.table_type = 'BASE TABLE'`,
  );
  const isPlain = (table: string, name: string): boolean =>
    plainColumns.includes(table) || plainColumns.includes(name) || /[._](hash|digest)$/.test(name);
  const sealedInDatabase = rows
    .map(({ table, column }) => [table, `${table}.${column}`] as const)
    .filter(([table, name]) => !isPlain(table, name))
    .map(([, name]) => name);
  expect(sealedInDatabase.sort()).toEqual(
    sealedColumns.map(({ table, column }) => `${table}.${column}`).sort(),
  );
});

test('values sealed under a former key are readable with the current key only', async () => {
  await setQuality(app, fixture.organisationId, {
    availability: 'everyone',
    sampling_percent: 100,
    sample_named: true,
    content_retention_days: 3,
  });
  const modelAnswer = await askModel(app, fixture.key, {
    model: 'sim-small',
    messages: [{ role: 'user', content: 'Solve the equation of the lighthouse.' }],
  });
  const requestId = modelAnswer.headers.get('x-request-id') ?? '';
  await waitForEvaluation(app, requestId);
  // Stops sampling, so that no value is sealed during the count.
  await setQuality(app, fixture.organisationId, { sampling_percent: 0 });
  const firstResponse = await createResponse(app, { input: 'Remember' });
  const firstReply = await sendIdempotent(app);
  const factor = await app.application.get(SecondFactors, { strict: false }).setup(fixture.userId);
  const conversationId = await addConversation();

  const sealedCount = await countSealed(former);
  expect(sealedCount).toBeGreaterThanOrEqual(sealedColumns.length);
  const result = await rewrap(`${current},${former}`);
  expect(result).toEqual({
    code: 0,
    output: `${sealedCount} secrets are under the current master key now.\n`,
  });
  expect((await rewrap(`${current},${former}`)).output).toContain('0 secrets');

  const laterApp = await start(current);
  try {
    const getService = <T>(type: abstract new (...given: never[]) => T): T =>
      laterApp.application.get(type, { strict: false });
    const content = await getService(SampleContent).find(requestId);
    expect(JSON.stringify(content?.request)).toContain('lighthouse');
    expect(content?.answers.get('sim-small')?.rationale).toEqual(expect.any(String));
    expect((await getService(AutoSalts).of(fixture.organisationId)).order).toHaveLength(1 << 15);
    expect((await getService(SecondFactors).setup(fixture.userId))?.secret).toBe(factor?.secret);
    const [row] = await laterApp.database.query<Record<'title' | 'content' | 'name' | 'file', Buffer>>(
      `SELECT c.title, m.content, a.name, a.content AS file FROM conversation c
         JOIN conversation_message m ON m.conversation_id = c.id JOIN conversation_attachment a ON a.message_id = m.id
        WHERE c.id = $1`,
      [conversationId],
    );
    const texts = getService(ConversationContent);
    expect([
      texts.text(conversationId, 'title', row?.title ?? null),
      texts.text(conversationId, 'content', row?.content ?? null),
      texts.text(conversationId, 'attachment-name', row?.name ?? null),
      texts.text(conversationId, 'attachment', row?.file ?? null),
    ]).toEqual(['A title', 'A word', 'a.txt', 'A file']);
    const nextResponse = await createResponse(laterApp, {
      input: 'What?',
      previous_response_id: firstResponse.id,
    });
    expect(nextResponse.previous_response_id).toBe(firstResponse.id);
    expect(await sendIdempotent(laterApp)).toBe(firstReply);
  } finally {
    await laterApp.close();
  }
});

test('a value that its key cannot decrypt is kept and reported', async () => {
  await app.database.query('UPDATE second_factor SET secret = overlay(secret placing $1 from 60)', [
    Buffer.alloc(4),
  ]);
  const { code, complaint } = await rewrapWith(`${former},${current}`);
  expect(code).toBe(1);
  expect(complaint).toContain(`second_factor.secret of ${fixture.userId}`);
});

const columnsUnder = (id: string): string =>
  sealedColumns
    .map(({ table, column, keyIdColumn }) =>
      keyIdColumn === undefined
        ? `SELECT 1 FROM ${table} WHERE position('${id}'::bytea in substring(${column} for 80)) = 3`
        : `SELECT 1 FROM ${table} WHERE ${keyIdColumn} = '${id}'`,
    )
    .join(' UNION ALL ');

async function countSealed(masterKey: string): Promise<number> {
  const { id } = masterKeyOf(masterKey);
  const [row] = await app.database.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM (${columnsUnder(id)}) values`,
  );
  return row?.count ?? 0;
}

async function rewrapWith(masterKey: string) {
  let [output, complaint] = ['', ''];
  const code = await executeCommand(['credentials', 'rewrap'], {
    environment: { ...app.environment, MASTER_KEY: masterKey },
    write: (text) => (output += text),
    writeStderr: (text) => (complaint += text),
    confirm: () => Promise.resolve(true),
  });
  return { code, output, complaint };
}
const rewrap = async (masterKey: string) => {
  const { code, output } = await rewrapWith(masterKey);
  return { code, output };
};

async function createResponse(at: TestApp, body: object) {
  const requestBody = { model: 'sim-small', max_tokens: undefined, ...body };
  const answer = await askModel(at, fixture.key, requestBody, '/v1/responses');
  expect(answer.status).toBe(200);
  return (await answer.json()) as { id: string; previous_response_id: string | null };
}

/** Sends a request with an idempotency key; a repetition returns the same reply. */
async function sendIdempotent(at: TestApp): Promise<string> {
  const answer = await fetch(`${at.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${fixture.key}`,
      'content-type': 'application/json',
      'idempotency-key': 'told-once',
    },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Once' }] }),
  });
  expect(answer.status).toBe(200);
  return answer.text();
}

async function addConversation(): Promise<number> {
  const texts = app.application.get(ConversationContent, { strict: false });
  const idOf = async (sql: string, values: unknown[]): Promise<number> => {
    const [row] = await app.database.query<{ id: string }>(`${sql} RETURNING id`, values);
    return Number(row?.id);
  };
  const id = await idOf(`INSERT INTO conversation (user_id, model) VALUES ($1, 'sim-small')`, [
    fixture.userId,
  ]);
  await app.database.query('UPDATE conversation SET title = $2 WHERE id = $1', [
    id,
    texts.seal(id, 'title', 'A title'),
  ]);
  const message = await idOf(
    `INSERT INTO conversation_message (conversation_id, role, model, content) VALUES ($1, 'user', 'sim-small', $2)`,
    [id, texts.seal(id, 'content', 'A word')],
  );
  await app.database.query(
    `INSERT INTO conversation_attachment (message_id, place, media_type, bytes, name, content)
     VALUES ($1, 0, 'text/plain', 6, $2, $3)`,
    [message, texts.seal(id, 'attachment-name', 'a.txt'), texts.seal(id, 'attachment', 'A file')],
  );
  return id;
}
