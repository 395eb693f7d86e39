import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { TestCatalogue } from './test-catalogue';
import {
  chunk,
  data,
  type Json,
  messageStart,
  namedEvents,
  responseStartEvents,
  textAfter,
  textBlock,
} from './streams/stream-fixture';

const styles = { chat: 'openai-style', messages: 'messages-style', responses: 'openai-style' } as const;
type LaneDialect = keyof typeof styles;
const providers = Object.keys(styles) as LaneDialect[];

const callers = {
  chat: ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }] }],
  messages: ['/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content: 'x' }] }],
  responses: ['/v1/responses', { input: 'x' }],
} as const;
/** Callers of every dialect, on lanes that forward and lanes that convert. */
const pairs = providers.flatMap((provider) =>
  (Object.keys(callers) as LaneDialect[])
    .filter((caller) => provider !== 'responses' || caller === 'responses')
    .map((caller) => [caller, provider] as const),
);

const failures = [
  ['supplier_limit', 429, 'rate_limit_error', 'slow down org-XYZ'],
  ['upstream_unavailable', 500, 'api_error', 'boom at /srv/app/index'],
] as const;

describe('Supplier error messages', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;
  let catalogue: TestCatalogue;
  let modelCount = 0;

  beforeAll(async () => {
    supplier = await ScriptedSupplier.start();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    catalogue = new TestCatalogue(app);
    for (const name of providers) await addProvider(name, name);
  });
  beforeEach(() => void (app.log.length = 0));
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const addProvider = (name: string, dialect: LaneDialect): Promise<void> =>
    catalogue.provider({
      name,
      style: styles[dialect],
      baseUrl: supplier.url,
      settings: dialect === 'responses' ? { profile: 'openai' } : {},
      credentials: [
        { label: 'key', kind: dialect === 'messages' ? 'header' : 'bearer', secret: 'their-key' },
      ],
    });

  /** Creates a model per call, so that open circuit breakers of other tests have no effect. */
  const call = async (caller: LaneDialect, provider: string, extra: Json = {}): Promise<Response> => {
    const [path, body] = callers[caller];
    const model = `ours-${(modelCount += 1)}`;
    await catalogue.model(model, [{ provider, upstreamModel: `theirs-${modelCount}` }]);
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
  const eventsOf = (provider: LaneDialect): readonly [string, (error: Json) => string] =>
    ({
      chat: [data(chunk({ content: 'Bern.' })), (error: Json) => data({ error })] as const,
      messages: [
        namedEvents(messageStart, ...textBlock('Bern.')),
        (error: Json) => namedEvents({ type: 'error', error }),
      ] as const,
      responses: [
        namedEvents(...responseStartEvents),
        (error: Json) =>
          namedEvents({
            type: 'error',
            sequence_number: 4,
            code: error.type === 'api_error' ? 'server_error' : 'rate_limit_exceeded',
            message: error.message,
          }),
      ] as const,
    })[provider];
  const stream = { 'content-type': 'text/event-stream' };

  describe.each(pairs)('%s caller on a %s lane', (caller, provider) => {
    test.each(failures)(
      "%s returns the catalogue's text, and the log has the supplier's",
      async (code, status, type, message) => {
        supplier.answer = { status, body: { type: 'error', error: { type, message } } };
        const answer = await call(caller, provider);
        const text = await answer.text();
        expect(text).not.toContain(message);
        const catalogueMessage = await catalogueText(code);
        expect(errorIn(text)).toMatchObject({
          code,
          human_message: catalogueMessage,
          message: `${code} - ${String(catalogueMessage)}`,
        });
        expect(errorIn(text)).not.toHaveProperty('details');
        expect(causes()).toEqual([expect.stringContaining(message)]);
      },
    );

    test.each(failures)(
      "%s before the first event returns the catalogue's text too",
      async (code, _status, type, message) => {
        supplier.answer = { headers: stream, body: eventsOf(provider)[1]({ type, message }) };
        const text = await (await call(caller, provider, { stream: true })).text();
        expect(text).not.toContain(message);
        expect(errorIn(text)).toMatchObject({ code, human_message: await catalogueText(code) });
        expect(causes()).toEqual([expect.stringContaining(message)]);
      },
    );

    test.each(failures)(
      '%s after the first event becomes stream_error',
      async (_code, _status, type, message) => {
        const [begun, failed] = eventsOf(provider);
        supplier.answer = { headers: stream, body: begun, rest: failed({ type, message }) };
        const answer = await call(caller, provider, { stream: true });
        const text = await textAfter(answer, () => supplier.resume());
        expect(text).toContain('stream_error');
        expect(text).not.toContain(message);
        expect(causes()).toEqual([expect.stringContaining(message)]);
      },
    );
  });

  test.each(pairs)('validation message reaches a %s caller on a %s lane', async (caller, provider) => {
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

  describe('Supplier error codes', () => {
    const codeFor = async (error: Json, caller: LaneDialect = 'chat'): Promise<readonly unknown[]> => {
      supplier.answer = {
        status: 400,
        body: { type: 'error', error: { message: 'No such voice.', ...error } },
      };
      const { code, message, details } = errorIn(await (await call(caller, 'chat')).text());
      expect(message).toMatch(new RegExp(`^${String(code)} - .*No such voice\\.$`));
      return [code, ((details as Json).supplier as Json).code];
    };

    test.each(['chat', 'messages', 'responses'] as const)(
      'code is passed on as `error.code` to a %s caller',
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
    ])('code %s: %s is sent as %s', async (_what, own, code) => {
      expect(await codeFor({ code: own })).toEqual([code, own]);
    });

    test('`context_length_exceeded` keeps its name, because clients act on it', async () => {
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

  test('supplier message is logged up to the point at which it repeats the request', async () => {
    supplier.answer = { status: 500, body: { error: { message: 'cannot parse "the secret plan" of x' } } };
    await (await call('chat', 'chat')).text();
    expect(causes()).toEqual(['cannot parse']);
    expect(app.log.join('')).not.toContain('secret plan');
  });

  test.each(['Your credit balance is too low', 'Insufficient balance'])(
    '"%s" with status 400 is not a caller error',
    async (message) => {
      // A provider per test, because its complete account is blocked after this response.
      const provider = `spent-${(modelCount += 1)}`;
      await addProvider(provider, 'chat');
      supplier.answer = { status: 400, body: { error: { type: 'invalid_request_error', message } } };
      const answer = await call('chat', provider);
      const text = await answer.text();
      expect([answer.status, errorIn(text).code]).toEqual([503, 'provider_unavailable']);
      expect(text).not.toContain('balance');
    },
  );
});
