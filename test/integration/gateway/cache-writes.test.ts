import { parseUsdPerMillion } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { TestCatalogue } from './test-catalogue';
import { FixedResponseSupplier } from './fixed-response-supplier';

let app: TestApp;
let supplier: FixedResponseSupplier;

beforeAll(async () => {
  supplier = await FixedResponseSupplier.start();
  app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  const catalogue = new TestCatalogue(app);
  await catalogue.provider({
    name: 'openai',
    style: 'openai-style',
    settings: { profile: 'openai' },
    baseUrl: supplier.url,
    credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-one' }],
  });
  await catalogue.model('caching', [{ provider: 'openai' }], {
    input: parseUsdPerMillion('1'),
    output: parseUsdPerMillion('2'),
    cacheWrite: parseUsdPerMillion('2.50'),
    cacheWriteLong: parseUsdPerMillion('5'),
  });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const withBreakpoint = (ttl: string): object => ({
  messages: [
    {
      role: 'user',
      content: [{ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit', ttl } }],
    },
  ],
});

// "12-hour cache writes are booked at the ordinary rate". Usage reports of Chat Completions contain no lifetime.
test.each([
  [{}, '2700000'],
  [{ prompt_cache_options: { mode: 'explicit', ttl: '30m' } }, '2700000'],
  [{ prompt_cache_options: { mode: 'explicit', ttl: '12h' } }, '5200000'],
  [withBreakpoint('30m'), '2700000'],
  [withBreakpoint('12h'), '5200000'],
])('cache writes of a request with %j cost %s nano-dollars', async (rest, nano) => {
  supplier.answer = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'sim-large',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 100,
      total_tokens: 1_100,
      prompt_tokens_details: { cache_write_tokens: 1_000 },
    },
  };
  const messages = [{ role: 'user', content: 'x '.repeat(1_000) }];
  const response = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'caching', max_tokens: 2_000, messages, ...rest }),
  });
  expect([response.status, await response.json()]).toEqual([200, expect.anything()]);
  const [record] = await app.database.query<{ cost_nano: string }>(
    'SELECT cost_nano::text FROM request_record WHERE request_id = $1',
    [response.headers.get('x-request-id')],
  );
  expect(record).toEqual({ cost_nano: nano });
});
