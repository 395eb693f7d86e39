import { parseUsd, parseUsdPerMillion, platformScope } from '#product/kernel';
import { KeysService } from '#product/keys';
import { addCustomer, type Customer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';
import { events, FixedResponseSupplier } from './fixed-response-supplier';

type Json = Record<string, unknown>;

// Issue: "References to stored content (threads, previous responses, files, items, containers): an id is usable only by
// the key that created it; otherwise 404. Recorded at creation from the supplier's answers."

const environment = {
  SUPPLIER_ALLOW: '127.0.0.1',
  KEY_PEPPER: 'one pepper for all of the nodes',
  MASTER_KEY: 'one master key for all of them',
  SHARED_CONTENT: 'file-shared, vs_shared',
};
const rates = {
  input: parseUsdPerMillion('0.01'),
  output: parseUsdPerMillion('0.01'),
  uses: { code_execution: parseUsd('0.01'), file_search: parseUsd('0.001') },
};

let database: TestDatabase;
let simulator: Simulator;
let messagesSupplier: FixedResponseSupplier;
let responsesSupplier: FixedResponseSupplier;
let app: TestApp;
let secondNode: TestApp;
let owner: Customer;
let otherCustomer: Customer;
const nodes: TestApp[] = [];

const startNode = async (): Promise<TestApp> => {
  const node = await startTestApp({ environment, sharedDatabase: database });
  nodes.push(node);
  return node;
};

beforeAll(async () => {
  database = await createTestDatabase();
  simulator = await startSimulator();
  [messagesSupplier, responsesSupplier] = [
    await FixedResponseSupplier.start(),
    await FixedResponseSupplier.start(),
  ];
  app = await startNode();
  secondNode = await startNode();
  const catalogue = new TestCatalogue(app);
  await catalogue.provider({
    name: 'agents',
    style: 'native-oauth',
    baseUrl: `${simulator.url}/v1`,
    settings: { oauth: { token_url: simulator.url, client_id: 'agent' } },
    credentials: [
      {
        label: 'one',
        kind: 'oauth-pool',
        secret: { accessToken: 'sim-one', refreshToken: 'r', expiresAt: Date.now() + 3_600_000 },
      },
    ],
  });
  const bearer = { label: 'key', secret: 'sim-key', kind: 'bearer' } as const;
  await catalogue.provider({
    name: 'modern',
    style: 'openai-style',
    baseUrl: responsesSupplier.url,
    settings: { profile: 'openai' },
    credentials: [bearer],
  });
  await catalogue.provider({
    name: 'wordy',
    style: 'messages-style',
    baseUrl: messagesSupplier.url,
    credentials: [{ ...bearer, kind: 'header' }],
  });
  await catalogue.model('agent', [{ provider: 'agents' }], rates);
  await catalogue.model('modern', [{ provider: 'modern' }], rates);
  await catalogue.model('wordy', [{ provider: 'wordy' }], rates);
  owner = await addCustomer(app, 'owner', 9_000_000_000n);
  otherCustomer = await addCustomer(app, 'other', 9_000_000_000n);
});
afterAll(async () => {
  for (const node of nodes) await node.close();
  for (const supplier of [messagesSupplier, responsesSupplier, simulator]) await supplier.stop();
  await database.drop();
});

const post = async (path: string, body: Json, key = owner.key, at = app) => {
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const isJsonResponse = response.headers.get('content-type')?.startsWith('application/json') === true;
  const { error } = isJsonResponse ? (JSON.parse(text) as { error?: Json }) : {};
  return { status: response.status, text, error };
};
const countCalls = async (): Promise<number> =>
  (await simulator.requests()).length + messagesSupplier.requests.length + responsesSupplier.requests.length;

/** Expects 404 for the other key, without a supplier call. */
const expectOtherKeyRefused = async (path: string, body: Json): Promise<Json | undefined> => {
  const callsBefore = await countCalls();
  const { status, error } = await post(path, body, otherCustomer.key);
  expect({ status, heard: (await countCalls()) - callsBefore }).toEqual({ status: 404, heard: 0 });
  return error;
};

const userMessage = (content: string): Json => ({ type: 'message', role: 'user', content });
const completedResponse = (text: string): { id: string; output: { id: string }[] } => {
  const line = text.split('\n').find((one) => one.startsWith('data: {"type":"response.completed"'));
  return (JSON.parse(line!.slice('data: '.length)) as { response: { id: string; output: { id: string }[] } })
    .response;
};
const nativeBody = (more: Json): Json => ({
  model: 'agent',
  stream: true,
  input: [userMessage('Hello')],
  ...more,
});

describe('Stored content of the native route', () => {
  test('previous responses and items can be used immediately by their key only, on every node and after a restart', async () => {
    const firstTurn = await post('/v1/native/responses', nativeBody({}));
    const { id, output } = completedResponse(firstTurn.text);
    const continuation = nativeBody({ previous_response_id: id });
    const referencing = nativeBody({
      input: [userMessage('Hello'), { type: 'item_reference', id: output[0]!.id }, userMessage('And?')],
    });
    for (const body of [continuation, referencing]) {
      for (const node of [app, secondNode, await startNode()]) {
        expect(await post('/v1/native/responses', body, owner.key, node)).toMatchObject({ status: 200 });
      }
    }
    expect(await expectOtherKeyRefused('/v1/native/responses', continuation)).toMatchObject({
      code: 'previous_response_not_found',
      type: 'not_found_error',
      param: 'previous_response_id',
      message: expect.stringContaining(`Previous response with id '${id}' not found.`) as string,
    });
    expect(await expectOtherKeyRefused('/v1/native/responses', referencing)).toMatchObject({
      code: 'not_found',
    });
    await expectOtherKeyRefused('/v1/native/responses', nativeBody({ conversation: 'conv_1' }));
    await expectOtherKeyRefused(
      '/v1/native/responses',
      nativeBody({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }, userMessage('And?')] }),
    );
  });

  test('rotated key keeps access to its ids', async () => {
    const { id } = completedResponse((await post('/v1/native/responses', nativeBody({}))).text);
    const { key } = await app.database.transaction(async (tx) => {
      const [row] = await app.database.query<{ public_id: string }>(
        'SELECT public_id FROM api_key WHERE id = $1',
        [owner.keyId],
      );
      const keys = app.application.get(KeysService, { strict: false });
      return { key: (await keys.rotate(platformScope, tx, row!.public_id, 3_600)).text };
    });
    const body = nativeBody({ previous_response_id: id });
    expect(await post('/v1/native/responses', body, key, await startNode())).toMatchObject({ status: 200 });
  });

  test('nothing is recorded when the supplier stores nothing', async () => {
    const count = async (): Promise<unknown> =>
      (
        await app.database.query('SELECT count(*)::integer FROM stored_id WHERE key_id = $1', [
          otherCustomer.keyId,
        ])
      )[0];
    const { text } = await post('/v1/native/responses', nativeBody({ store: false }), otherCustomer.key);
    expect(completedResponse(text).id).toMatch(/^resp_/);
    expect(await count()).toEqual({ count: 0 });
  });
});

const usage = { input_tokens: 5, output_tokens: 2 };
const block = {
  type: 'bash_code_execution_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: {
    type: 'bash_code_execution_result',
    stdout: '',
    stderr: '',
    return_code: 0,
    content: [{ type: 'bash_code_execution_output', file_id: 'file_made' }],
  },
};
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'sim-large', usage };
const text = { type: 'text', text: 'Done.' };
const container = { id: 'container_1', expires_at: '2026-12-28T00:00:00Z' };

describe.each(['whole', 'streamed'])('Stored content of a %s response', (manner) => {
  const stream = manner === 'streamed';
  // Gives each mode its own ids.
  const withOwnIds = <T>(value: T): T =>
    JSON.parse(
      JSON.stringify(value).replace(/"(container_1|cntr_1|cfile_1|file_made|audio_1)"/g, `"$1_${manner}"`),
    ) as T;

  test('Anthropic containers and files can be used by their key only', async () => {
    const endDelta = { stop_reason: 'end_turn', stop_sequence: null, container };
    messagesSupplier.answer = stream
      ? events(
          ...withOwnIds([
            { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
            { type: 'content_block_start', index: 0, content_block: block },
            { type: 'content_block_stop', index: 0 },
            { type: 'content_block_start', index: 1, content_block: { ...text, text: '' } },
            { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Done.' } },
            { type: 'content_block_stop', index: 1 },
            { type: 'message_delta', delta: endDelta, usage },
            { type: 'message_stop' },
          ]),
        )
      : withOwnIds({ ...message, ...endDelta, content: [block, text] });
    const messagesBody = (more: Json): Json => ({
      model: 'wordy',
      max_tokens: 50,
      stream,
      messages: [{ role: 'user', content: 'Run it' }],
      ...more,
    });
    expect(await post('/v1/messages', messagesBody({}))).toMatchObject({ status: 200 });
    const upload = { type: 'container_upload', file_id: `file_made_${manner}` };
    for (const fields of [
      { container: `container_1_${manner}` },
      { container: { id: `container_1_${manner}` } },
      { messages: [{ role: 'user', content: [upload, text] }] },
    ]) {
      expect(await post('/v1/messages', messagesBody(fields))).toMatchObject({ status: 200 });
      expect(messagesSupplier.requests.at(-1)).toMatchObject(fields);
      expect(await post('/v1/messages', messagesBody(fields), owner.key, secondNode)).toMatchObject({
        status: 200,
      });
      expect(await expectOtherKeyRefused('/v1/messages', messagesBody(fields))).toMatchObject({
        type: 'not_found_error',
      });
      await expectOtherKeyRefused('/v1/messages/count_tokens', messagesBody(fields));
    }
    // Earlier results in the conversation repeat the ids without using them.
    const history = messagesBody({
      messages: [
        { role: 'user', content: 'Run it' },
        { role: 'assistant', content: [block, text] },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(await post('/v1/messages', history, otherCustomer.key)).toMatchObject({ status: 200 });
  });

  test('OpenAI containers and files can be used by their key only', async () => {
    const call = {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      code: '1',
      outputs: null,
      container_id: 'cntr_1',
    };
    const citation = { type: 'container_file_citation', container_id: 'cntr_1', file_id: 'cfile_1' };
    const citedMessage = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Done.', annotations: [citation] }],
    };
    const response = withOwnIds({
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'sim-large',
      status: 'completed',
      output: [call, citedMessage],
      usage: { ...usage, total_tokens: 7 },
    });
    responsesSupplier.answer = stream
      ? events(
          { type: 'response.created', sequence_number: 0, response: { ...response, output: [] } },
          ...response.output.map((item, index) => ({
            type: 'response.output_item.done',
            sequence_number: index + 1,
            output_index: index,
            item,
          })),
          { type: 'response.completed', sequence_number: 3, response: { ...response, output: [] } },
        )
      : response;
    const responsesBody = (more: Json): Json => ({
      model: 'modern',
      stream,
      input: 'Run it',
      store: false,
      ...more,
    });
    const [cntr, cfile] = [`cntr_1_${manner}`, `cfile_1_${manner}`];
    expect(await post('/v1/responses', responsesBody({}))).toMatchObject({ status: 200 });
    for (const fields of [
      { tools: [{ type: 'code_interpreter', container: cntr }] },
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [cfile] } }] },
      { tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: cntr } }] },
      { input: [userMessage('Run it'), { ...call, container_id: cntr }, userMessage('And?')] },
      { input: [{ ...userMessage(''), content: [{ type: 'input_file', file_id: cfile }] }] },
    ]) {
      expect(await post('/v1/responses', responsesBody(fields))).toMatchObject({ status: 200 });
      expect(JSON.stringify(responsesSupplier.requests.at(-1))).toMatch(/"(cntr|cfile)_1_/);
      expect(await post('/v1/responses', responsesBody(fields), owner.key, secondNode)).toMatchObject({
        status: 200,
      });
      expect(await expectOtherKeyRefused('/v1/responses', responsesBody(fields))).toMatchObject({
        code: 'not_found',
      });
    }
  });

  test('audio of an earlier response can be used by its key only', async () => {
    const audio = withOwnIds({ id: 'audio_1', data: 'AAAA', transcript: 'Hi', expires_at: 1 });
    const chunk = { id: 'c', object: 'chat.completion', created: 1, model: 'sim-large' };
    responsesSupplier.answer = stream
      ? events(
          { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', audio }, finish_reason: null }] },
          { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        ) + 'data: [DONE]\n\n'
      : {
          ...chunk,
          choices: [
            { index: 0, message: { role: 'assistant', content: null, audio }, finish_reason: 'stop' },
          ],
        };
    const chatBody = (more: Json[] = []): Json => ({
      model: 'modern',
      stream,
      messages: [{ role: 'user', content: 'Hi' }, ...more],
    });
    expect(await post('/v1/chat/completions', chatBody())).toMatchObject({ status: 200 });
    const followUp = chatBody([
      { role: 'assistant', audio: { id: audio.id } },
      { role: 'user', content: 'And?' },
    ]);
    expect(await post('/v1/chat/completions', followUp)).toMatchObject({ status: 200 });
    await expectOtherKeyRefused('/v1/chat/completions', followUp);
  });
});

test.each([
  [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-x' } }] }] },
  ],
  [
    '/v1/messages',
    {
      max_tokens: 5,
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file-x' } }] },
      ],
    },
  ],
  ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-x' }] }] }],
  ['/v1/responses', { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs-x'] }] }],
  ['/v1/responses', { input: 'x', conversation: { id: 'conv-x' } }],
  [
    '/v1/responses',
    { input: 'x', prompt: { id: 'p', variables: { plan: { type: 'input_file', file_id: 'file-x' } } } },
  ],
  ['/v1/responses', { input: [userMessage('x'), { type: 'image_generation_call', id: 'ig-x' }] }],
  ['/v1/responses', { input: 'x', previous_response_id: 'resp-x' }],
])('unknown content returns 404 with advice: %s %j', async (path, body) => {
  const model = path === '/v1/messages' ? 'wordy' : 'modern';
  const error = await expectOtherKeyRefused(path, { model, ...body });
  expect(error).toMatchObject({
    human_message: expect.stringMatching(/ with id '.*-x' not found\. .*\.$/) as string,
  });
});

test('shared content can be used by every key', async () => {
  responsesSupplier.answer = {
    id: 'r',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [],
    usage,
  };
  const sharedRequest = {
    model: 'modern',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-shared' }] }],
    tools: [{ type: 'file_search', vector_store_ids: ['vs_shared'] }],
  };
  expect((await post('/v1/responses', sharedRequest, otherCustomer.key)).error?.code).not.toBe('not_found');
  expect(JSON.stringify(responsesSupplier.requests.at(-1))).toContain('file-shared');
});
