import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { ModelShelf } from './model-shelf';
import {
  chunk,
  data,
  type Json,
  messageStart,
  named,
  responseBegun,
  textAfter,
  textBlock,
} from './streams/stream-house';

const styles = { chat: 'openai-style', messages: 'messages-style', responses: 'openai-style' } as const;
type Provider = keyof typeof styles;
const providers = Object.keys(styles) as Provider[];

const callers = {
  chat: ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }] }],
  messages: ['/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content: 'x' }] }],
  responses: ['/v1/responses', { input: 'x' }],
} as const;
/** Callers of every dialect, on lanes that forward and lanes that convert. */
const pairs = providers.flatMap((provider) =>
  (Object.keys(callers) as Provider[])
    .filter((caller) => provider !== 'responses' || caller === 'responses')
    .map((caller) => [caller, provider] as const),
);

const troubles = [
  ['supplier_limit', 429, 'rate_limit_error', 'slow down org-XYZ'],
  ['upstream_unavailable', 500, 'api_error', 'boom at /srv/app/index'],
] as const;

describe("a supplier's wording", () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let shelf: ModelShelf;
  let made = 0;

  beforeAll(async () => {
    supplier = await ScriptedSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    shelf = new ModelShelf(app);
    for (const name of providers) await addProvider(name, name);
  });
  beforeEach(() => void (app.log.length = 0));
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const addProvider = (name: string, dialect: Provider): Promise<void> =>
    shelf.provider({
      name,
      style: styles[dialect],
      baseUrl: supplier.url,
      settings: dialect === 'responses' ? { profile: 'openai' } : {},
      credentials: [
        { label: 'key', kind: dialect === 'messages' ? 'header' : 'bearer', secret: 'their-key' },
      ],
    });

  /** Each call has a model of its own, so that no open circuit breaker of another test matters. */
  const call = async (caller: Provider, provider: string, extra: Json = {}): Promise<Response> => {
    const [path, body] = callers[caller];
    const model = `ours-${(made += 1)}`;
    await shelf.model(model, [{ provider, upstreamModel: `theirs-${made}` }]);
    return fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...body, ...extra }),
    });
  };
  const errorIn = (text: string): Json => (JSON.parse(text) as { error: Json }).error;
  const causes = (): unknown[] =>
    app.log
      .map((line) => JSON.parse(line) as Json)
      .filter(({ msg }) => msg === 'request failed' || msg === 'stream failed')
      .map(({ cause }) => cause);
  const catalogueText = async (code: string): Promise<unknown> =>
    ((await (await fetch(`${app.url}/v1/errors/${code}`)).json()) as Json).human_message;
  const events = (provider: Provider): readonly [string, (error: Json) => string] =>
    ({
      chat: [data(chunk({ content: 'Bern.' })), (error: Json) => data({ error })] as const,
      messages: [
        named(messageStart, ...textBlock('Bern.')),
        (error: Json) => named({ type: 'error', error }),
      ] as const,
      responses: [
        named(...responseBegun),
        (error: Json) =>
          named({
            type: 'error',
            sequence_number: 4,
            code: error.type === 'api_error' ? 'server_error' : 'rate_limit_exceeded',
            message: error.message,
          }),
      ] as const,
    })[provider];
  const stream = { 'content-type': 'text/event-stream' };

  describe.each(pairs)('for a caller of %s on a lane of %s', (caller, provider) => {
    test.each(troubles)(
      "%s shows the catalogue's text, and the log holds the supplier's",
      async (code, status, type, message) => {
        supplier.answer = { status, body: { type: 'error', error: { type, message } } };
        const answer = await call(caller, provider);
        const text = await answer.text();
        expect(text).not.toContain(message);
        const human = await catalogueText(code);
        expect(errorIn(text)).toMatchObject({
          code,
          human_message: human,
          message: `${code} - ${String(human)}`,
        });
        expect(errorIn(text)).not.toHaveProperty('details');
        expect(causes()).toEqual([expect.stringContaining(message)]);
      },
    );

    test.each(troubles)(
      '%s before the first event of a stream is the same',
      async (code, _status, type, message) => {
        supplier.answer = { headers: stream, body: events(provider)[1]({ type, message }) };
        const text = await (await call(caller, provider, { stream: true })).text();
        expect(text).not.toContain(message);
        expect(errorIn(text)).toMatchObject({ code, human_message: await catalogueText(code) });
        expect(causes()).toEqual([expect.stringContaining(message)]);
      },
    );

    test.each(troubles)(
      '%s after the first event is a stream error',
      async (_code, _status, type, message) => {
        const [begun, failed] = events(provider);
        supplier.answer = { headers: stream, body: begun, rest: failed({ type, message }) };
        const answer = await call(caller, provider, { stream: true });
        const text = await textAfter(answer, () => supplier.resume());
        expect(text).toContain('stream_error');
        expect(text).not.toContain(message);
        expect(causes()).toEqual([expect.stringContaining(message)]);
      },
    );
  });

  test.each(pairs)('about the request reaches a caller of %s on a lane of %s', async (caller, provider) => {
    const message = 'temperature is out of range';
    supplier.answer = {
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message } },
    };
    const text = await (await call(caller, provider)).text();
    expect(errorIn(text)).toMatchObject({
      code: 'invalid_request',
      human_message: expect.stringContaining(message) as string,
      details: { supplier: { message } },
    });
  });

  describe('with a code of its own', () => {
    const codeFor = async (error: Json, caller: Provider = 'chat'): Promise<readonly unknown[]> => {
      supplier.answer = {
        status: 400,
        body: { type: 'error', error: { message: 'No such voice.', ...error } },
      };
      const { code, message, details } = errorIn(await (await call(caller, 'chat')).text());
      expect(message).toMatch(new RegExp(`^${String(code)} - .*No such voice\\.$`));
      return [code, ((details as Json).supplier as Json).code];
    };

    test.each(['chat', 'messages', 'responses'] as const)(
      'keeps its identity as `error.code` for a caller of %s',
      async (caller) => {
        const code = 'weird_vendor_code';
        expect(await codeFor({ code }, caller)).toEqual([code, code]);
      },
    );

    test.each([
      ['that is a code of ours with another meaning', 'not_found', 'invalid_request'],
      ['that is a category of ours', 'invalid_request_error', 'invalid_request'],
      ['in another form', 'InvalidParameter', 'invalid_request'],
      ['that is a number', -32_602, 'invalid_request'],
    ])('%s: %s is sent as %s', async (_what, own, code) => {
      expect(await codeFor({ code: own })).toEqual([code, own]);
    });

    test('`context_length_exceeded` stays, since clients act on it', async () => {
      supplier.answer = {
        status: 400,
        body: { error: { message: 'prompt is too long: 9 tokens > 8', code: 'invalid_parameter_error' } },
      };
      const error = errorIn(await (await call('chat', 'chat')).text());
      expect(error).toMatchObject({
        code: 'context_length_exceeded',
        details: { supplier: { code: 'invalid_parameter_error' } },
      });
    });
  });

  test('is logged up to the point at which it repeats the request', async () => {
    supplier.answer = { status: 500, body: { error: { message: 'cannot parse "the secret plan" of x' } } };
    await (await call('chat', 'chat')).text();
    expect(causes()).toEqual(['cannot parse']);
    expect(app.log.join('')).not.toContain('secret plan');
  });

  test.each(['Your credit balance is too low', 'Insufficient balance'])(
    '"%s" with status 400 is no mistake of the caller',
    async (message) => {
      // The complete account rests after this answer.
      const provider = `spent-${(made += 1)}`;
      await addProvider(provider, 'chat');
      supplier.answer = { status: 400, body: { error: { type: 'invalid_request_error', message } } };
      const answer = await call('chat', provider);
      const text = await answer.text();
      expect([answer.status, errorIn(text).code]).toEqual([503, 'provider_unavailable']);
      expect(text).not.toContain('balance');
    },
  );
});
