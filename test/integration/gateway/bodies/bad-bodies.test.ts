import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { priceRates } from '#product/kernel';
import { startTestApp, type TestApp } from '../../../support/app';
import { startSimulator, type Simulator } from '../../../support/simulator';

interface Refusal {
  readonly code: string;
  readonly param?: string | null;
  readonly human_message: string;
}

const message = [{ role: 'user', content: 'Hello' }];
const good = {
  chat: { model: 'sim-small', messages: message },
  messages: { model: 'sim-small', max_tokens: 50, messages: message },
  responses: { model: 'sim-small', input: message },
  embeddings: { model: 'sim-embed', input: 'Hello' },
  rerank: { model: 'sim-rerank', query: 'Hello', documents: ['Hello'] },
  speech: { model: 'sim-speech', input: 'Hello', voice: 'alloy' },
  images: { model: 'sim-image', prompt: 'Hello' },
  moderations: { model: 'sim-moderation', input: 'Hello' },
  translated: { model: 'stranger', messages: message },
} as const;
type Route = keyof typeof good;

const paths: Readonly<Record<Route, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  speech: '/v1/audio/speech',
  images: '/v1/images/generations',
  moderations: '/v1/moderations',
  translated: '/v1/chat/completions',
};
const every = Object.keys(good) as Route[];
const texts: readonly Route[] = ['chat', 'messages', 'responses', 'translated'];

/** A change of a good body, the field the refusal has to name, and what it has to say was expected. */
type Row = readonly [route: Route, change: Readonly<Record<string, unknown>>, param: string, says: RegExp];
const on = (routes: readonly Route[], ...rest: [change: Row[1], param: string, says: RegExp]): Row[] =>
  routes.map((route) => [route, ...rest] as const);

const rows: readonly Row[] = [
  ...on(every, { model: undefined }, 'model', /model/),
  ...on(every, { model: '' }, 'model', /model/),
  ...on(every, { model: null }, 'model', /model/),
  ...on(every, { model: 7 }, 'model', /id of a model/),
  ...on(every, { model: ['sim-small'] }, 'model', /id of a model/),
  ...on(every, { model: 'x'.repeat(300) }, 'model', /id of a model/),
  ...on(every, { region: 7 }, 'region', /text of at most 64/),
  ...on(every, { region: '' }, 'region', /text of at most 64/),
  ...on(every, { region: ['eu'] }, 'region', /text of at most 64/),
  ...on(every, { region: 'x'.repeat(65) }, 'region', /text of at most 64/),
  ...on(texts, { stream: 'yes' }, 'stream', /true or false/),
  ...on(texts, { stream: 1 }, 'stream', /true or false/),
  ...on(texts, { temperature: 'warm' }, 'temperature', /number/),
  ...on(texts, { temperature: -1 }, 'temperature', /from 0/),
  ...on(texts, { temperature: 3 }, 'temperature', /from 0/),
  ...on(texts, { top_p: 2 }, 'top_p', /from 0/),
  ...on(['chat', 'messages', 'translated'], { messages: undefined }, 'messages', /messages/),
  ...on(['chat', 'messages', 'translated'], { messages: [] }, 'messages', /not be empty|at least one/),
  ...on(['chat', 'messages', 'translated'], { messages: 'Hello' }, 'messages', /messages/),
  ...on(['chat', 'messages', 'translated'], { messages: {} }, 'messages', /messages/),
  ...on(['chat', 'translated'], { max_tokens: 0 }, 'max_tokens', /whole number/),
  ...on(['chat', 'translated'], { max_tokens: '50' }, 'max_tokens', /whole number/),
  ...on(['chat', 'translated'], { max_completion_tokens: 1.5 }, 'max_completion_tokens', /whole number/),
  ...on(['chat', 'translated'], { n: 0 }, 'n', /whole number/),
  ...on(['chat', 'translated'], { n: 1_000 }, 'n', /whole number/),
  ...on(['chat', 'translated'], { stream_options: {} }, 'stream_options', /stream: true/),
  ...on(['chat', 'translated'], { stream: true, stream_options: 'all' }, 'stream_options', /object/),
  ...on(['chat'], { frequency_penalty: 9 }, 'frequency_penalty', /-2/),
  ...on(['messages'], { max_tokens: -1 }, 'max_tokens', /whole number/),
  ...on(['messages'], { max_tokens: 1e12 }, 'max_tokens', /whole number/),
  ...on(['responses'], { input: undefined }, 'input', /input/),
  ...on(['responses'], { input: '' }, 'input', /not be empty/),
  ...on(['responses'], { input: [] }, 'input', /not be empty/),
  ...on(['responses'], { input: 7 }, 'input', /input/),
  ...on(['responses'], { max_output_tokens: 'many' }, 'max_output_tokens', /whole number/),
  ...on(['embeddings'], { input: undefined }, 'input', /input/),
  ...on(['embeddings'], { input: [] }, 'input', /empty/),
  ...on(['embeddings'], { input: ['Hello', 7.5] }, 'input[1]', /text or a list of tokens/),
  ...on(['embeddings'], { input: Array.from({ length: 2_049 }, () => 'x') }, 'input', /2,048/),
  ...on(['embeddings'], { encoding_format: 'hex' }, 'encoding_format', /float.*base64/),
  ...on(['embeddings'], { dimensions: 0 }, 'dimensions', /from 1/),
  ...on(['rerank'], { query: undefined }, 'query', /text/),
  ...on(['rerank'], { query: [] }, 'query', /text/),
  ...on(['rerank'], { documents: undefined }, 'documents', /list/),
  ...on(['rerank'], { documents: [] }, 'documents', /empty/),
  ...on(['rerank'], { documents: ['Hello', 7] }, 'documents[1]', /text or an object/),
  ...on(['rerank'], { top_n: 0 }, 'top_n', /from 1/),
  ...on(['speech'], { input: undefined }, 'input', /text/),
  ...on(['speech'], { input: ['Hello'] }, 'input', /text/),
  ...on(['speech'], { input: 'x'.repeat(5_000) }, 'input', /4,096/),
  ...on(['speech'], { voice: 7 }, 'voice', /name of a voice/),
  ...on(['speech'], { speed: 9 }, 'speed', /0\.25/),
  ...on(['speech'], { response_format: 'exe' }, 'response_format', /mp3/),
  ...on(['images'], { prompt: undefined }, 'prompt', /text/),
  ...on(['images'], { prompt: 7 }, 'prompt', /text/),
  ...on(['images'], { n: 11 }, 'n', /from 1/),
  ...on(['images'], { stream: true }, 'stream', /not streamed/),
  ...on(['moderations'], { input: undefined }, 'input', /input/),
  ...on(['moderations'], { input: [] }, 'input', /empty/),
  ...on(['moderations'], { input: ['Hello', 7] }, 'input[1]', /text or an object/),
  // Faults that the supplier alone would find are found here where its dialect is another one.
  ...on(['translated'], { messages: [{ role: 'user', content: 7 }] }, 'messages.0.content', /Expected/),
  ...on(['translated'], { messages: ['Hello'] }, 'messages.0', /Expected an object/),
  ...on(['translated'], { messages: [{ content: 'x' }] }, 'messages.0.role', /Expected/),
  ...on(['translated'], { tools: 'all' }, 'tools', /Expected a list/),
  ...on(['translated'], { tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name', /Expected/),
  ...on(['translated'], { tool_choice: 'always' }, 'tool_choice', /Expected/),
  ...on(['translated'], { response_format: { type: 'xml' } }, 'response_format.type', /Expected/),
  ...on(['translated'], { stop: 7 }, 'stop', /Expected/),
];

describe('every 400 names the field and says what was expected', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    await addStranger();
  });
  beforeEach(() => supplier.clearRequests());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  /** A model whose supplier speaks another dialect than chat. */
  async function addStranger(): Promise<void> {
    const editor = new CatalogueEditor();
    await app.database.transaction(async (tx) => {
      const provider = { name: 'stranger', style: 'messages-style', baseUrl: supplier.url };
      const { id: providerId } = await editor.upsertProvider(tx, provider);
      const credentials = app.application.get(CredentialEditor, { strict: false });
      await credentials.put(tx, { providerId, label: 'test', kind: 'header', secret: 'sim-test' });
      await editor.upsertModel(tx, { name: 'stranger', kind: 'chat', ownedBy: 'test' });
      await editor.setLanes(tx, 'stranger', [
        { provider: 'stranger', upstreamModel: 'sim-large', region: 'local' },
      ]);
      await new PriceService().addPrice(tx, { model: 'stranger', source: 'test', rates: priceRates({}) });
    });
    await app.application.get(CatalogueService).reload();
  }

  const send = async (path: string, body: string): Promise<[status: number, refusal: Refusal]> => {
    const answer = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    return [
      answer.status,
      answer.status < 400 ? ({} as Refusal) : (JSON.parse(text) as { error: Refusal }).error,
    ];
  };

  test.each(every)('%s: the body that the others are changes of is good', async (route) => {
    const [status] = await send(paths[route], JSON.stringify(good[route]));
    expect(status).toBe(200);
  });

  test.each(rows)('%s %j → %s', async (route, change, param, says) => {
    const [status, refusal] = await send(paths[route], JSON.stringify({ ...good[route], ...change }));
    expect([status, refusal.param]).toEqual([400, param]);
    expect(refusal.human_message).toMatch(says);
    expect(refusal.code).toMatch(/^(invalid_request|invalid_input|missing_model|unsupported_parameter)$/);
    expect(await supplier.requests()).toEqual([]);
  });

  test.each(every)('%s: what is no JSON object at all', async (route) => {
    for (const body of ['', '{', '[]', '7', 'null', '"text"']) {
      const [status, refusal] = await send(paths[route], body);
      expect([status, refusal.code]).toEqual([400, 'invalid_json']);
      expect(refusal.human_message).toMatch(/JSON/);
    }
  });

  test.each<[Route, object, string]>([
    ['chat', { messages: [{ role: 'nobody', content: 'x' }] }, 'messages[0].role'],
    ['messages', { messages: [{ role: 'nobody', content: 'x' }] }, 'messages'],
    ['responses', { input: [{ role: 'nobody', content: 'x' }] }, 'input'],
  ])(
    '%s: what the supplier refuses is refused in its words, with the field it names',
    async (route, change, param) => {
      const [status, refusal] = await send(paths[route], JSON.stringify({ ...good[route], ...change }));
      expect(status).toBe(400);
      expect(refusal.param).toContain(param);
    },
  );
});
