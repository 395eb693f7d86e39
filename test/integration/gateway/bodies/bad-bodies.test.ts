import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { priceRates } from '#product/kernel';
import { startTestApp, type TestApp } from '../../../support/app';
import { startSimulator, type Simulator } from '../../../support/simulator';

interface BodyError {
  readonly code: string;
  readonly param?: string | null;
  readonly human_message: string;
}

const message = [{ role: 'user', content: 'Hello' }];
const validBodies = {
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
type BodyRoute = keyof typeof validBodies;

const paths: Readonly<Record<BodyRoute, string>> = {
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
const allRoutes = Object.keys(validBodies) as BodyRoute[];
const conversationRoutes: readonly BodyRoute[] = ['chat', 'messages', 'responses', 'translated'];

/** A change to a valid body, the field that the error has to name, and the expectation in its message. */
type InvalidBodyCase = readonly [
  route: BodyRoute,
  change: Readonly<Record<string, unknown>>,
  param: string,
  says: RegExp,
];
const forRoutes = (
  routes: readonly BodyRoute[],
  ...rest: [change: InvalidBodyCase[1], param: string, says: RegExp]
): InvalidBodyCase[] => routes.map((route) => [route, ...rest] as const);

const rows: readonly InvalidBodyCase[] = [
  ...forRoutes(allRoutes, { model: undefined }, 'model', /model/),
  ...forRoutes(allRoutes, { model: '' }, 'model', /model/),
  ...forRoutes(allRoutes, { model: null }, 'model', /model/),
  ...forRoutes(allRoutes, { model: 7 }, 'model', /id of a model/),
  ...forRoutes(allRoutes, { model: ['sim-small'] }, 'model', /id of a model/),
  ...forRoutes(allRoutes, { model: 'x'.repeat(300) }, 'model', /id of a model/),
  ...forRoutes(allRoutes, { region: 7 }, 'region', /text of at most 64/),
  ...forRoutes(allRoutes, { region: '' }, 'region', /text of at most 64/),
  ...forRoutes(allRoutes, { region: ['eu'] }, 'region', /text of at most 64/),
  ...forRoutes(allRoutes, { region: 'x'.repeat(65) }, 'region', /text of at most 64/),
  ...forRoutes(conversationRoutes, { stream: 'yes' }, 'stream', /true or false/),
  ...forRoutes(conversationRoutes, { stream: 1 }, 'stream', /true or false/),
  ...forRoutes(conversationRoutes, { temperature: 'warm' }, 'temperature', /number/),
  ...forRoutes(conversationRoutes, { temperature: -1 }, 'temperature', /from 0/),
  ...forRoutes(conversationRoutes, { temperature: 3 }, 'temperature', /from 0/),
  ...forRoutes(conversationRoutes, { top_p: 2 }, 'top_p', /from 0/),
  ...forRoutes(['chat', 'messages', 'translated'], { messages: undefined }, 'messages', /messages/),
  ...forRoutes(['chat', 'messages', 'translated'], { messages: [] }, 'messages', /not be empty|at least one/),
  ...forRoutes(['chat', 'messages', 'translated'], { messages: 'Hello' }, 'messages', /messages/),
  ...forRoutes(['chat', 'messages', 'translated'], { messages: {} }, 'messages', /messages/),
  ...forRoutes(['chat', 'translated'], { max_tokens: 0 }, 'max_tokens', /whole number/),
  ...forRoutes(['chat', 'translated'], { max_tokens: '50' }, 'max_tokens', /whole number/),
  ...forRoutes(
    ['chat', 'translated'],
    { max_completion_tokens: 1.5 },
    'max_completion_tokens',
    /whole number/,
  ),
  ...forRoutes(['chat', 'translated'], { n: 0 }, 'n', /whole number/),
  ...forRoutes(['chat', 'translated'], { n: 1_000 }, 'n', /whole number/),
  ...forRoutes(['chat', 'translated'], { stream_options: {} }, 'stream_options', /stream: true/),
  ...forRoutes(['chat', 'translated'], { stream: true, stream_options: 'all' }, 'stream_options', /object/),
  ...forRoutes(['chat'], { frequency_penalty: 9 }, 'frequency_penalty', /-2/),
  ...forRoutes(['messages'], { max_tokens: -1 }, 'max_tokens', /whole number/),
  ...forRoutes(['messages'], { max_tokens: 1e12 }, 'max_tokens', /whole number/),
  ...forRoutes(['responses'], { input: undefined }, 'input', /input/),
  ...forRoutes(['responses'], { input: '' }, 'input', /not be empty/),
  ...forRoutes(['responses'], { input: [] }, 'input', /not be empty/),
  ...forRoutes(['responses'], { input: 7 }, 'input', /input/),
  ...forRoutes(['responses'], { max_output_tokens: 'many' }, 'max_output_tokens', /whole number/),
  ...forRoutes(['embeddings'], { input: undefined }, 'input', /input/),
  ...forRoutes(['embeddings'], { input: [] }, 'input', /empty/),
  ...forRoutes(['embeddings'], { input: ['Hello', 7.5] }, 'input[1]', /text or a list of tokens/),
  ...forRoutes(['embeddings'], { input: Array.from({ length: 2_049 }, () => 'x') }, 'input', /2,048/),
  ...forRoutes(['embeddings'], { encoding_format: 'hex' }, 'encoding_format', /float.*base64/),
  ...forRoutes(['embeddings'], { dimensions: 0 }, 'dimensions', /from 1/),
  ...forRoutes(['rerank'], { query: undefined }, 'query', /text/),
  ...forRoutes(['rerank'], { query: [] }, 'query', /text/),
  ...forRoutes(['rerank'], { documents: undefined }, 'documents', /list/),
  ...forRoutes(['rerank'], { documents: [] }, 'documents', /empty/),
  ...forRoutes(['rerank'], { documents: ['Hello', 7] }, 'documents[1]', /text or an object/),
  ...forRoutes(['rerank'], { top_n: 0 }, 'top_n', /from 1/),
  ...forRoutes(['speech'], { input: undefined }, 'input', /text/),
  ...forRoutes(['speech'], { input: ['Hello'] }, 'input', /text/),
  ...forRoutes(['speech'], { input: 'x'.repeat(5_000) }, 'input', /4,096/),
  ...forRoutes(['speech'], { voice: 7 }, 'voice', /name of a voice/),
  ...forRoutes(['speech'], { speed: 9 }, 'speed', /0\.25/),
  ...forRoutes(['speech'], { response_format: 'exe' }, 'response_format', /mp3/),
  ...forRoutes(['images'], { prompt: undefined }, 'prompt', /text/),
  ...forRoutes(['images'], { prompt: 7 }, 'prompt', /text/),
  ...forRoutes(['images'], { n: 11 }, 'n', /from 1/),
  ...forRoutes(['images'], { stream: true }, 'stream', /not streamed/),
  ...forRoutes(['moderations'], { input: undefined }, 'input', /input/),
  ...forRoutes(['moderations'], { input: [] }, 'input', /empty/),
  ...forRoutes(['moderations'], { input: ['Hello', 7] }, 'input[1]', /text or an object/),
  // Errors that only the supplier would find are found by the gateway if it converts the request.
  ...forRoutes(
    ['translated'],
    { messages: [{ role: 'user', content: 7 }] },
    'messages.0.content',
    /Expected/,
  ),
  ...forRoutes(['translated'], { messages: ['Hello'] }, 'messages.0', /Expected an object/),
  ...forRoutes(['translated'], { messages: [{ content: 'x' }] }, 'messages.0.role', /Expected/),
  ...forRoutes(['translated'], { tools: 'all' }, 'tools', /Expected a list/),
  ...forRoutes(
    ['translated'],
    { tools: [{ type: 'function', function: {} }] },
    'tools.0.function.name',
    /Expected/,
  ),
  ...forRoutes(['translated'], { tool_choice: 'always' }, 'tool_choice', /Expected/),
  ...forRoutes(['translated'], { response_format: { type: 'xml' } }, 'response_format.type', /Expected/),
  ...forRoutes(['translated'], { stop: 7 }, 'stop', /Expected/),
];

describe('Validation errors', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    await addMessagesModel();
  });
  beforeEach(() => supplier.clearRequests());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  /** Adds a model whose supplier does not speak chat. */
  async function addMessagesModel(): Promise<void> {
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

  const send = async (path: string, body: string): Promise<[status: number, refusal: BodyError]> => {
    const answer = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    return [
      answer.status,
      answer.status < 400 ? ({} as BodyError) : (JSON.parse(text) as { error: BodyError }).error,
    ];
  };

  test.each(allRoutes)('%s accepts the valid body that the other cases change', async (route) => {
    const [status] = await send(paths[route], JSON.stringify(validBodies[route]));
    expect(status).toBe(200);
  });

  test.each(rows)('%s rejects %j, naming %s', async (route, change, param, says) => {
    const [status, refusal] = await send(paths[route], JSON.stringify({ ...validBodies[route], ...change }));
    expect([status, refusal.param]).toEqual([400, param]);
    expect(refusal.human_message).toMatch(says);
    expect(refusal.code).toMatch(/^(invalid_request|invalid_input|missing_model|unsupported_parameter)$/);
    expect(await supplier.requests()).toEqual([]);
  });

  test.each(allRoutes)('%s rejects a body that is not a JSON object', async (route) => {
    for (const body of ['', '{', '[]', '7', 'null', '"text"']) {
      const [status, refusal] = await send(paths[route], body);
      expect([status, refusal.code]).toEqual([400, 'invalid_json']);
      expect(refusal.human_message).toMatch(/JSON/);
    }
  });

  test.each<[BodyRoute, object, string]>([
    ['chat', { messages: [{ role: 'nobody', content: 'x' }] }, 'messages[0].role'],
    ['messages', { messages: [{ role: 'nobody', content: 'x' }] }, 'messages'],
    ['responses', { input: [{ role: 'nobody', content: 'x' }] }, 'input'],
  ])("%s passes on the supplier's validation error with its field", async (route, change, param) => {
    const [status, refusal] = await send(paths[route], JSON.stringify({ ...validBodies[route], ...change }));
    expect(status).toBe(400);
    expect(refusal.param).toContain(param);
  });
});
