import { parseUsd, parseUsdPerMillion, platformScope } from '#product/kernel';
import { KeysService } from '#product/keys';
import { addCustomer, type Customer } from '../../support/customer';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';
import { events, ScriptedSupplier } from './scripted-supplier';

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
let wordy: ScriptedSupplier;
let modern: ScriptedSupplier;
let app: TestApp;
let second: TestApp;
let owner: Customer;
let other: Customer;
const nodes: TestApp[] = [];

const start = async (): Promise<TestApp> => {
  const node = await startTestApp({ environment, sharedDatabase: database });
  nodes.push(node);
  return node;
};

beforeAll(async () => {
  database = await createTestDatabase();
  simulator = await startSimulator();
  [wordy, modern] = [await ScriptedSupplier.start(), await ScriptedSupplier.start()];
  app = await start();
  second = await start();
  const shelf = new ModelShelf(app);
  await shelf.provider({
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
  await shelf.provider({
    name: 'modern',
    style: 'openai-style',
    baseUrl: modern.url,
    settings: { profile: 'openai' },
    credentials: [bearer],
  });
  await shelf.provider({
    name: 'wordy',
    style: 'messages-style',
    baseUrl: wordy.url,
    credentials: [{ ...bearer, kind: 'header' }],
  });
  await shelf.model('agent', [{ provider: 'agents' }], rates);
  await shelf.model('modern', [{ provider: 'modern' }], rates);
  await shelf.model('wordy', [{ provider: 'wordy' }], rates);
  owner = await addCustomer(app, 'owner', 9_000_000_000n);
  other = await addCustomer(app, 'other', 9_000_000_000n);
});
afterAll(async () => {
  for (const node of nodes) await node.close();
  for (const supplier of [wordy, modern, simulator]) await supplier.stop();
  await database.drop();
});

const post = async (path: string, body: Json, key = owner.key, at = app) => {
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  const { error } = isJson ? (JSON.parse(text) as { error?: Json }) : {};
  return { status: response.status, text, error };
};
const callsOf = async (): Promise<number> =>
  (await simulator.requests()).length + wordy.requests.length + modern.requests.length;

/** The other key is refused, and no supplier hears of it. */
const refusedToOther = async (path: string, body: Json): Promise<Json | undefined> => {
  const before = await callsOf();
  const { status, error } = await post(path, body, other.key);
  expect({ status, heard: (await callsOf()) - before }).toEqual({ status: 404, heard: 0 });
  return error;
};

const say = (content: string): Json => ({ type: 'message', role: 'user', content });
const completed = (text: string): { id: string; output: { id: string }[] } => {
  const line = text.split('\n').find((one) => one.startsWith('data: {"type":"response.completed"'));
  return (JSON.parse(line!.slice('data: '.length)) as { response: { id: string; output: { id: string }[] } })
    .response;
};
const native = (more: Json): Json => ({ model: 'agent', stream: true, input: [say('Hello')], ...more });

describe('of the native route', () => {
  test('previous responses and items are usable at once, on every node and after a restart, by their key only', async () => {
    const first = await post('/v1/native/responses', native({}));
    const { id, output } = completed(first.text);
    const goOn = native({ previous_response_id: id });
    const named = native({
      input: [say('Hello'), { type: 'item_reference', id: output[0]!.id }, say('And?')],
    });
    for (const body of [goOn, named]) {
      for (const node of [app, second, await start()]) {
        expect(await post('/v1/native/responses', body, owner.key, node)).toMatchObject({ status: 200 });
      }
    }
    expect(await refusedToOther('/v1/native/responses', goOn)).toMatchObject({
      code: 'previous_response_not_found',
      type: 'not_found_error',
      param: 'previous_response_id',
      message: expect.stringContaining(`Previous response with id '${id}' not found.`) as string,
    });
    expect(await refusedToOther('/v1/native/responses', named)).toMatchObject({ code: 'not_found' });
    await refusedToOther('/v1/native/responses', native({ conversation: 'conv_1' }));
    await refusedToOther(
      '/v1/native/responses',
      native({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }, say('And?')] }),
    );
  });

  test('a rotated key keeps its ids', async () => {
    const { id } = completed((await post('/v1/native/responses', native({}))).text);
    const { key } = await app.database.transaction(async (tx) => {
      const [row] = await app.database.query<{ public_id: string }>(
        'SELECT public_id FROM api_key WHERE id = $1',
        [owner.keyId],
      );
      const keys = app.application.get(KeysService, { strict: false });
      return { key: (await keys.rotate(platformScope, tx, row!.public_id, 3_600)).text };
    });
    const body = native({ previous_response_id: id });
    expect(await post('/v1/native/responses', body, key, await start())).toMatchObject({ status: 200 });
  });

  test('nothing is recorded when the supplier stores nothing', async () => {
    const count = async (): Promise<unknown> =>
      (
        await app.database.query('SELECT count(*)::integer FROM stored_id WHERE key_id = $1', [other.keyId])
      )[0];
    const { text } = await post('/v1/native/responses', native({ store: false }), other.key);
    expect(completed(text).id).toMatch(/^resp_/);
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

describe.each(['whole', 'streamed'])('of a %s answer', (manner) => {
  const stream = manner === 'streamed';
  // Each manner has ids of its own.
  const own = <T>(value: T): T =>
    JSON.parse(
      JSON.stringify(value).replace(/"(container_1|cntr_1|cfile_1|file_made|audio_1)"/g, `"$1_${manner}"`),
    ) as T;

  test('containers and files of Anthropic are usable by their key only', async () => {
    const ended = { stop_reason: 'end_turn', stop_sequence: null, container };
    wordy.answer = stream
      ? events(
          ...own([
            { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
            { type: 'content_block_start', index: 0, content_block: block },
            { type: 'content_block_stop', index: 0 },
            { type: 'content_block_start', index: 1, content_block: { ...text, text: '' } },
            { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Done.' } },
            { type: 'content_block_stop', index: 1 },
            { type: 'message_delta', delta: ended, usage },
            { type: 'message_stop' },
          ]),
        )
      : own({ ...message, ...ended, content: [block, text] });
    const ask = (more: Json): Json => ({
      model: 'wordy',
      max_tokens: 50,
      stream,
      messages: [{ role: 'user', content: 'Run it' }],
      ...more,
    });
    expect(await post('/v1/messages', ask({}))).toMatchObject({ status: 200 });
    const upload = { type: 'container_upload', file_id: `file_made_${manner}` };
    for (const more of [
      { container: `container_1_${manner}` },
      { container: { id: `container_1_${manner}` } },
      { messages: [{ role: 'user', content: [upload, text] }] },
    ]) {
      expect(await post('/v1/messages', ask(more))).toMatchObject({ status: 200 });
      expect(wordy.requests.at(-1)).toMatchObject(more);
      expect(await post('/v1/messages', ask(more), owner.key, second)).toMatchObject({ status: 200 });
      expect(await refusedToOther('/v1/messages', ask(more))).toMatchObject({ type: 'not_found_error' });
      await refusedToOther('/v1/messages/count_tokens', ask(more));
    }
    // Earlier results in the conversation repeat the ids and use none.
    const history = ask({
      messages: [
        { role: 'user', content: 'Run it' },
        { role: 'assistant', content: [block, text] },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(await post('/v1/messages', history, other.key)).toMatchObject({ status: 200 });
  });

  test('containers and files of OpenAI are usable by their key only', async () => {
    const call = {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      code: '1',
      outputs: null,
      container_id: 'cntr_1',
    };
    const citation = { type: 'container_file_citation', container_id: 'cntr_1', file_id: 'cfile_1' };
    const said = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Done.', annotations: [citation] }],
    };
    const response = own({
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'sim-large',
      status: 'completed',
      output: [call, said],
      usage: { ...usage, total_tokens: 7 },
    });
    modern.answer = stream
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
    const ask = (more: Json): Json => ({ model: 'modern', stream, input: 'Run it', store: false, ...more });
    const [cntr, cfile] = [`cntr_1_${manner}`, `cfile_1_${manner}`];
    expect(await post('/v1/responses', ask({}))).toMatchObject({ status: 200 });
    for (const more of [
      { tools: [{ type: 'code_interpreter', container: cntr }] },
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [cfile] } }] },
      { tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: cntr } }] },
      { input: [say('Run it'), { ...call, container_id: cntr }, say('And?')] },
      { input: [{ ...say(''), content: [{ type: 'input_file', file_id: cfile }] }] },
    ]) {
      expect(await post('/v1/responses', ask(more))).toMatchObject({ status: 200 });
      expect(JSON.stringify(modern.requests.at(-1))).toMatch(/"(cntr|cfile)_1_/);
      expect(await post('/v1/responses', ask(more), owner.key, second)).toMatchObject({ status: 200 });
      expect(await refusedToOther('/v1/responses', ask(more))).toMatchObject({ code: 'not_found' });
    }
  });

  test('the sound of an earlier answer is usable by its key only', async () => {
    const audio = own({ id: 'audio_1', data: 'AAAA', transcript: 'Hi', expires_at: 1 });
    const chunk = { id: 'c', object: 'chat.completion', created: 1, model: 'sim-large' };
    modern.answer = stream
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
    const ask = (more: Json[] = []): Json => ({
      model: 'modern',
      stream,
      messages: [{ role: 'user', content: 'Hi' }, ...more],
    });
    expect(await post('/v1/chat/completions', ask())).toMatchObject({ status: 200 });
    const again = ask([
      { role: 'assistant', audio: { id: audio.id } },
      { role: 'user', content: 'And?' },
    ]);
    expect(await post('/v1/chat/completions', again)).toMatchObject({ status: 200 });
    await refusedToOther('/v1/chat/completions', again);
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
  ['/v1/responses', { input: [say('x'), { type: 'image_generation_call', id: 'ig-x' }] }],
  ['/v1/responses', { input: 'x', previous_response_id: 'resp-x' }],
])('content that no answer handed out is refused with advice: %s %j', async (path, body) => {
  const model = path === '/v1/messages' ? 'wordy' : 'modern';
  const error = await refusedToOther(path, { model, ...body });
  expect(error).toMatchObject({
    human_message: expect.stringMatching(/ with id '.*-x' not found\. .*\.$/) as string,
  });
});

test('what the operator shares is usable by every key', async () => {
  modern.answer = {
    id: 'r',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [],
    usage,
  };
  const shared = {
    model: 'modern',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-shared' }] }],
    tools: [{ type: 'file_search', vector_store_ids: ['vs_shared'] }],
  };
  expect((await post('/v1/responses', shared, other.key)).error?.code).not.toBe('not_found');
  expect(JSON.stringify(modern.requests.at(-1))).toContain('file-shared');
});
