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
import { addHouse, askModel, evaluated, type House, setQuality } from '../quality/house';

const former = 'the-former-master-key-0123456789abcdef';
const current = 'the-current-master-key-0123456789abcde';
/** Bytes that are no secret, or one that nobody can read back. */
const plain = [
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
let house: House;

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
  house = await addHouse(app, 'rewrapped');
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
  await database.drop();
});

test('every column of bytes is listed as sealed, or known to be no secret', async () => {
  const rows = await app.database.query<{ table: string; column: string }>(
    `SELECT c.table_name AS table, c.column_name AS column FROM information_schema.columns c
       JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.table_schema = 'public' AND c.data_type = 'bytea' AND t.table_type = 'BASE TABLE'`,
  );
  const isPlain = (table: string, name: string): boolean =>
    plain.includes(table) || plain.includes(name) || /[._](hash|digest)$/.test(name);
  const left = rows
    .map(({ table, column }) => [table, `${table}.${column}`] as const)
    .filter(([table, name]) => !isPlain(table, name))
    .map(([, name]) => name);
  expect(left.sort()).toEqual(sealedColumns.map(({ table, column }) => `${table}.${column}`).sort());
});

test('what was sealed under a former key is read with the current one alone', async () => {
  await setQuality(app, house.organisationId, {
    availability: 'everyone',
    sampling_percent: 100,
    sample_named: true,
    content_retention_days: 3,
  });
  const asked = await askModel(app, house.key, {
    model: 'sim-small',
    messages: [{ role: 'user', content: 'Solve the equation of the lighthouse.' }],
  });
  const requestId = asked.headers.get('x-request-id') ?? '';
  await evaluated(app, requestId);
  // Nothing is to be sealed while it is counted.
  await setQuality(app, house.organisationId, { sampling_percent: 0 });
  const kept = await respond(app, { input: 'Remember' });
  const once = await sayOnce(app);
  const factor = await app.application.get(SecondFactors, { strict: false }).setup(house.userId);
  const conversationId = await addConversation();

  const unmoved = await countOf(former);
  expect(unmoved).toBeGreaterThanOrEqual(sealedColumns.length);
  const spoken = await rewrap(`${current},${former}`);
  expect(spoken).toEqual({ code: 0, output: `${unmoved} secrets are under the current master key now.\n` });
  expect((await rewrap(`${current},${former}`)).output).toContain('0 secrets');

  const later = await start(current);
  try {
    const at = <T>(type: abstract new (...given: never[]) => T): T =>
      later.application.get(type, { strict: false });
    const content = await at(SampleContent).find(requestId);
    expect(JSON.stringify(content?.request)).toContain('lighthouse');
    expect(content?.answers.get('sim-small')?.rationale).toEqual(expect.any(String));
    expect((await at(AutoSalts).of(house.organisationId)).order).toHaveLength(1 << 15);
    expect((await at(SecondFactors).setup(house.userId))?.secret).toBe(factor?.secret);
    const [row] = await later.database.query<Record<'title' | 'content' | 'name' | 'file', Buffer>>(
      `SELECT c.title, m.content, a.name, a.content AS file FROM conversation c
         JOIN conversation_message m ON m.conversation_id = c.id JOIN conversation_attachment a ON a.message_id = m.id
        WHERE c.id = $1`,
      [conversationId],
    );
    const texts = at(ConversationContent);
    expect([
      texts.text(conversationId, 'title', row?.title ?? null),
      texts.text(conversationId, 'content', row?.content ?? null),
      texts.text(conversationId, 'attachment-name', row?.name ?? null),
      texts.text(conversationId, 'attachment', row?.file ?? null),
    ]).toEqual(['A title', 'A word', 'a.txt', 'A file']);
    const further = await respond(later, { input: 'What?', previous_response_id: kept.id });
    expect(further.previous_response_id).toBe(kept.id);
    expect(await sayOnce(later)).toBe(once);
  } finally {
    await later.close();
  }
});

test('a value that its key does not open stays as it is, and is named', async () => {
  await app.database.query('UPDATE second_factor SET secret = overlay(secret placing $1 from 60)', [
    Buffer.alloc(4),
  ]);
  const { code, complaint } = await rewrapWith(`${former},${current}`);
  expect(code).toBe(1);
  expect(complaint).toContain(`second_factor.secret of ${house.userId}`);
});

const columnsUnder = (id: string): string =>
  sealedColumns
    .map(({ table, column, keyIdColumn }) =>
      keyIdColumn === undefined
        ? `SELECT 1 FROM ${table} WHERE position('${id}'::bytea in substring(${column} for 80)) = 3`
        : `SELECT 1 FROM ${table} WHERE ${keyIdColumn} = '${id}'`,
    )
    .join(' UNION ALL ');

async function countOf(masterKey: string): Promise<number> {
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

async function respond(at: TestApp, body: object) {
  const asked = { model: 'sim-small', max_tokens: undefined, ...body };
  const answer = await askModel(at, house.key, asked, '/v1/responses');
  expect(answer.status).toBe(200);
  return (await answer.json()) as { id: string; previous_response_id: string | null };
}

/** An answer that is told once; asked again it is the same, word for word. */
async function sayOnce(at: TestApp): Promise<string> {
  const answer = await fetch(`${at.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${house.key}`,
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
  const id = await idOf(`INSERT INTO conversation (user_id, model) VALUES ($1, 'sim-small')`, [house.userId]);
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
