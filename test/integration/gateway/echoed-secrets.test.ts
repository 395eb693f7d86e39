import { startTestApp, type TestApp } from '../../support/app';
import { type ScriptedResponse, ScriptedSupplier } from '../../support/scripted-supplier';
import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { TestCatalogue } from './test-catalogue';

const SECRET = 'sk-canary/of+ours"zqxj';
/** Parts that identify the secret whatever replaces its other letters, and that no id contains by chance. */
const SECRET_TRACE = /canary|zqxj|of.{0,6}ours/i;

const escaped = JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/');
const unicode = [...SECRET]
  .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
  .join('');
const encoded = encodeURIComponent(SECRET);
const inJson = JSON.stringify({ key: SECRET });

const sse = (...events: (object | string)[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const chunk = (delta: object): object => ({ id: 'c', model: 'm', choices: [{ index: 0, delta }] });
const stream = { 'content-type': 'text/event-stream' };

/** Kinds of responses in which a supplier, or a proxy in front of it, might repeat what it received. */
const kinds: Readonly<Record<string, { route?: string; answers: readonly ScriptedResponse[] }>> = {
  'an error in JSON': {
    answers: [400, 404, 413, 422, 429, 500, 503].flatMap((status) => [
      {
        status,
        body: { error: { message: `wrong key ${SECRET}`, type: SECRET, code: SECRET, param: SECRET } },
      },
      { status, body: `{"error":{"message":"wrong key ${unicode}","type":"invalid_request_error"}}` },
      {
        status,
        body: `{"error":{"message":"wrong key ${escaped} and ${encoded}","details":{"${escaped}":[1]}}}`,
      },
      { status, body: { error: { message: `upstream said ${inJson} and ${JSON.stringify(inJson)}` } } },
      { status, body: { error: { message: Buffer.from(`Bearer ${SECRET}`).toString('base64') } } },
    ]),
  },
  'plain text': {
    answers: [400, 500].map((status) => ({
      status,
      headers: { 'content-type': 'text/plain' },
      body: `authorization: Bearer ${SECRET}`,
    })),
  },
  'a text longer than is passed on': {
    answers: [
      { status: 400, headers: { 'content-type': 'text/plain' }, body: `${'x'.repeat(1_985)}${SECRET}` },
    ],
  },
  'a page': {
    answers: [{ status: 502, headers: { 'content-type': 'text/html' }, body: `<p>${SECRET}</p>` }],
  },
  'a page with a 200': { answers: [{ headers: { 'content-type': 'text/html' }, body: `<p>${SECRET}</p>` }] },
  headers: { answers: [{ status: 400, headers: { 'x-request-id': SECRET, 'x-echo': SECRET }, body: {} }] },
  'the type of what is passed on': {
    route: 'speech',
    answers: [{ headers: { 'content-type': `audio/mpeg; key=${SECRET}` }, body: 'sound' }],
  },
  'an error with a 200': {
    answers: [
      { body: { error: { message: `wrong ${SECRET}`, type: 'invalid_request_error' } } },
      { body: { error: `wrong ${SECRET}` } },
      { body: { message: SECRET } },
    ],
  },
  'an error in place of sound': {
    route: 'speech',
    answers: [
      { headers: { 'content-type': 'audio/mpeg' }, body: { error: { message: SECRET } } },
      { status: 400, headers: { 'content-type': 'audio/mpeg' }, body: SECRET },
    ],
  },
  'an error for numbers': {
    route: 'embeddings',
    answers: [
      { status: 400, body: { error: { message: SECRET } } },
      { body: { error: { message: SECRET, type: 'invalid_request_error' } } },
    ],
  },
  'an error that is translated': {
    route: 'translated',
    answers: [
      {
        status: 400,
        body: { type: 'error', error: { type: 'invalid_request_error', message: `a.b: ${SECRET}` } },
      },
      { body: { type: 'error', error: { type: 'api_error', message: SECRET } } },
    ],
  },
  'an error while counting': {
    route: 'count',
    answers: [
      { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: SECRET } } },
    ],
  },
  'an error in a stream, before a word': {
    route: 'stream',
    answers: [
      { headers: stream, body: sse({ error: { message: `wrong ${SECRET}`, type: 'server_error' } }) },
      { headers: stream, body: `data: {"error":{"message":"wrong ${unicode}"}}\n\n` },
    ],
  },
  'an error in a stream, after a word': {
    route: 'stream',
    answers: [
      {
        headers: stream,
        body: sse(chunk({ content: 'Hi' })),
        rest: sse({ error: { message: `wrong ${SECRET}` } }),
      },
    ],
  },
  'an error in a stream of messages': {
    route: 'messages stream',
    answers: [
      { headers: stream, body: sse({ type: 'error', error: { type: 'api_error', message: SECRET } }) },
      {
        headers: stream,
        body: sse(
          {
            type: 'message_start',
            message: { id: 'm', model: 'x', usage: { input_tokens: 1, output_tokens: 1 } },
          },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
        ),
        rest: sse({ type: 'error', error: { type: 'overloaded_error', message: SECRET } }),
      },
    ],
  },
  'an error in a stream of responses': {
    route: 'responses stream',
    answers: [
      { headers: stream, body: sse({ type: 'error', message: SECRET, code: SECRET }) },
      {
        headers: stream,
        body: sse(
          { type: 'response.created', response: { id: 'r', model: 'x' } },
          { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'i' } },
          { type: 'response.output_text.delta', output_index: 0, delta: 'Hi' },
        ),
        rest: sse({
          type: 'response.failed',
          response: { status: 'failed', error: { code: 'x', message: SECRET } },
        }),
      },
    ],
  },
  'an error in a native stream': {
    route: 'native',
    answers: [
      { headers: stream, body: sse({ type: 'error', message: SECRET }) },
      {
        headers: stream,
        body: sse(
          { type: 'response.created', response: { id: 'r', model: 'x' } },
          { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'i' } },
          { type: 'response.output_text.delta', output_index: 0, delta: 'Hi' },
        ),
        rest: sse({
          type: 'response.failed',
          response: { status: 'failed', error: { code: 'x', message: SECRET } },
        }),
      },
    ],
  },
  'a stream that is none': {
    route: 'stream',
    answers: [
      { headers: stream, body: sse(`wrong key ${SECRET}`) },
      { headers: stream, body: `wrong key ${SECRET}\n\n` },
      { headers: stream, body: sse(chunk({ content: 'Hi' })), rest: sse(`{"wrong key": ${SECRET}`) },
    ],
  },
  'a stream in answer to no stream': {
    answers: [
      { headers: stream, body: sse({ error: { message: SECRET } }) },
      { headers: stream, body: sse(SECRET) },
    ],
  },
};

describe("Supplier that echoes the gateway's credential", () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let catalogue: TestCatalogue;
  let modelCount = 0;

  beforeAll(async () => {
    supplier = await ScriptedSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8', LOG_LEVEL: 'trace' } });
    catalogue = new TestCatalogue(app);
    const settings = { profile: 'openai' };
    const credentials = (kind: 'bearer' | 'header') => [{ label: 'one', kind, secret: SECRET }];
    const { url: baseUrl } = supplier;
    await catalogue.provider({
      name: 'talker',
      style: 'openai-style',
      baseUrl,
      settings,
      credentials: credentials('bearer'),
    });
    await catalogue.provider({
      name: 'messenger',
      style: 'messages-style',
      baseUrl,
      credentials: credentials('header'),
    });
    await catalogue.provider({
      name: 'native',
      style: 'native-oauth',
      baseUrl,
      credentials: [{ label: 'one', kind: 'oauth-pool', secret: { accessToken: SECRET } }],
    });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const messages = [{ role: 'user', content: 'Hello' }];
  const max_tokens = 9;
  const routes: Readonly<Record<string, readonly [string, string, string, object]>> = {
    chat: ['/v1/chat/completions', 'talker', 'chat', { messages }],
    translated: ['/v1/chat/completions', 'messenger', 'chat', { messages }],
    stream: ['/v1/chat/completions', 'talker', 'chat', { messages, stream: true }],
    'messages stream': ['/v1/messages', 'messenger', 'chat', { messages, max_tokens, stream: true }],
    'responses stream': ['/v1/responses', 'talker', 'chat', { input: 'Hello', stream: true }],
    native: ['/v1/native/responses', 'native', 'chat', { input: messages, stream: true }],
    count: ['/v1/messages/count_tokens', 'messenger', 'chat', { messages }],
    speech: ['/v1/audio/speech', 'talker', 'speech', { input: 'Hello', voice: 'alloy' }],
    embeddings: ['/v1/embeddings', 'talker', 'embedding', { input: 'Hello' }],
  };

  const sendRequest = async (route: string, answer: ScriptedResponse): Promise<string> => {
    const [path, provider, kind, body] = routes[route]!;
    const model = `echo-${(modelCount += 1)}`;
    await catalogue.model(model, [{ provider, upstreamModel: `up-${model}` }]);
    if (kind !== 'chat') {
      await app.database.transaction((tx) =>
        new CatalogueEditor().upsertModel(tx, { name: model, kind: kind as 'speech', ownedBy: 'test' }),
      );
      await app.application.get(CatalogueService).reload();
    }
    supplier.answer = answer;
    const requestsBefore = supplier.requests.length;
    const response = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...body }),
    });
    supplier.resume();
    const text = `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
    // The supplier did receive what it repeats.
    const lastRequest = supplier.requests.at(-1);
    expect(supplier.requests.length).toBeGreaterThan(requestsBefore);
    expect(JSON.stringify([lastRequest?.headers.authorization, lastRequest?.headers['x-api-key']])).toContain(
      'canary',
    );
    return text;
  };

  test.each(Object.entries(kinds))(
    'credential does not reach the caller in %s',
    async (_kind, { route, answers }) => {
      for (const answer of answers)
        expect(await sendRequest(route ?? 'chat', answer)).not.toMatch(SECRET_TRACE);
    },
  );

  test('credential appears in no log line and no record', async () => {
    expect(app.log.join('\n')).not.toMatch(SECRET_TRACE);
    const rows = await app.database.query<{ row: string }>('SELECT r::text AS row FROM request_record r');
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.map(({ row }) => row).join('\n')).not.toMatch(SECRET_TRACE);
  });
});
