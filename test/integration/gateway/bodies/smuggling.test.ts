import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import { exchange, parseAnswer } from '../../web/raw-exchange';

const canary = 'http://127.0.0.1:9/canary';

describe('Request smuggling', () => {
  let app: TestApp;
  let supplier: Simulator;
  let key: string;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    key = app.firstKeys?.demo ?? '';
  });
  beforeEach(() => supplier.clearRequests());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const chatBody = { model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] };
  const post = (
    path: string,
    body: object | string,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const chat = (body: object | string, headers: Record<string, string> = {}) =>
    post('/v1/chat/completions', body, headers);

  test("steering fields of other gateways have no effect, and the catalogue's supplier is called", async () => {
    for (const field of [
      'api_base',
      'base_url',
      'api_key',
      'headers',
      'extra_headers',
      'provider',
      'X-Svc-Supplier',
    ]) {
      expect((await chat({ ...chatBody, [field]: canary })).status).toBe(200);
    }
    const requests = await supplier.requests();
    expect(requests).toHaveLength(7);
    expect(JSON.stringify(requests)).not.toContain('canary');
  });

  test('caller headers are not forwarded and cannot override response headers', async () => {
    const answer = await chat(chatBody, {
      'x-svc-supplier': 'canary',
      'x-svc-cost-usd': 'canary',
      'x-forwarded-host': 'canary',
      cookie: 'canary=1',
      'proxy-authorization': 'canary',
      'openai-organization': 'canary',
    });
    expect(answer.headers.get('x-svc-supplier')).toBe('sandbox');
    expect(answer.headers.get('x-svc-cost-usd')).toMatch(/^0\.\d+$/);
    const [request] = await supplier.requests();
    expect(JSON.stringify(request?.headers)).not.toMatch(/canary|svc_/);
  });

  test.each([
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: '@' } }] }] },
    ],
    [
      '/v1/messages',
      {
        max_tokens: 9,
        messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: '@' } }] }],
      },
    ],
    ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: '@' }] }] }],
  ])('%s passes an image URL on without fetching it', async (path, body) => {
    // The supplier listens at this address and would record a request for the image.
    const image = `${supplier.url}/picture.png`;
    const text = JSON.stringify({ model: 'sim-small', ...body }).replace('"@"', JSON.stringify(image));
    expect((await post(path, text)).status).toBe(200);
    const requests = await supplier.requests();
    expect(requests.map(({ path: asked }) => asked)).toEqual([path]);
    expect(requests[0]?.rawBody).toContain(image);
  });

  test('duplicate name is rejected, because parsers differ on which one counts', async () => {
    const text = JSON.stringify(chatBody).replace('{', '{"model":"sim-large","mod\\u0065l":"nobody",');
    const answer = await chat(text);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_request', param: 'model' } },
    ]);
    expect(await supplier.requests()).toEqual([]);
  });

  test('prototype names are treated like any other name', async () => {
    const pollution = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}';
    for (const text of [
      JSON.stringify(chatBody).replace('{', `{${pollution},`),
      JSON.stringify({ ...chatBody, stream_options: '@', stream: true }).replace('"@"', `{${pollution}}`),
    ]) {
      const answer = await chat(text);
      expect([200, 400]).toContain(answer.status);
      await answer.text();
    }
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    const createResponse = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
      body: `{"name":"x","metadata":{${pollution}}}`,
    });
    expect([createResponse.status, await createResponse.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_request' } },
    ]);
  });

  test.each([
    ['/v1/chat/completions', { messages: chatBody.messages }],
    ['/v1/messages', { messages: chatBody.messages, max_tokens: 20 }],
    ['/v1/responses', { input: 'Hello' }],
  ])('metadata of %s with prototype names is rejected without a supplier call', async (path, body) => {
    const text = (metadata: string) =>
      JSON.stringify({ model: 'sim-small', ...body, metadata: '@' }).replace('"@"', metadata);
    const refusals = [
      ['{"__proto__":{"polluted":true}}', 'metadata.__proto__'],
      ['{"team":"a","\\u005f_proto__":"x"}', 'metadata.__proto__'],
      ['{"constructor":{"prototype":{"polluted":true}}}', 'metadata.constructor'],
      ['{"prototype":"x"}', 'metadata.prototype'],
      ['{"team":{"list":[{"__proto__":1}]}}', 'metadata.team.list.0.__proto__'],
    ];
    for (const [metadata = '', param] of refusals) {
      const answer = await post(path, text(metadata));
      const errorText = await answer.text();
      const expectedText = expect.stringContaining(`${param}: `) as unknown;
      expect([metadata, answer.status, errorText]).toEqual([metadata, 400, expectedText]);
      if (path !== '/v1/messages') expect(errorText).toContain(`"param":"${param}"`);
    }
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(await supplier.requests()).toEqual([]);
    const validResponse = await post(path, text('{"team":"a","user_id":"u_1"}'));
    expect([validResponse.status, (await validResponse.text()).slice(0, 300)]).toEqual([
      200,
      expect.any(String),
    ]);
  });

  describe('Message framing', () => {
    const innerBody = JSON.stringify(chatBody);
    const head = (extra: string): string =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer KEY\r\n${extra}`;
    const smuggled = `${head(`content-length: ${innerBody.length}\r\n\r\n`)}${innerBody}`;

    test.each([
      [
        'a length and chunks',
        `${head('content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n')}0\r\n\r\n${smuggled}`,
      ],
      [
        'chunks and a length',
        `${head('transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n')}0\r\n\r\n${smuggled}`,
      ],
      ['two lengths', `${head('content-length: 0\r\ncontent-length: 5\r\n\r\n')}${smuggled}`],
      ['a folded header', `${head('x-a: b\r\n content-length: 4\r\n\r\n')}${smuggled}`],
      ['bare line feeds', `${head('content-length: 0\r\n\r\n').replaceAll('\r\n', '\n')}${smuggled}`],
      ['a space before the colon', `${head('content-length : 4\r\n\r\n')}${smuggled}`],
      [
        'chunks in two codings',
        `${head('transfer-encoding: chunked, identity\r\n\r\n')}0\r\n\r\n${smuggled}`,
      ],
      [
        'a chunk of odd length',
        `${head('transfer-encoding: chunked\r\n\r\n')}-1\r\n\r\n0\r\n\r\n${smuggled}`,
      ],
    ])('%s is rejected once, and neither request reaches a supplier', async (_name, bytes) => {
      const text = await exchange(app.url, bytes.replaceAll('KEY', key));
      expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(parseAnswer(text).status).toBe(400);
      expect(await supplier.requests()).toEqual([]);
    });

    test('authorization in a trailer is ignored', async () => {
      const chunk = `${innerBody.length.toString(16)}\r\n${innerBody}\r\n0\r\n`;
      const start =
        'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\n';
      const text = await exchange(
        app.url,
        `${start}trailer: authorization\r\ntransfer-encoding: chunked\r\n\r\n${chunk}authorization: Bearer ${key}\r\n\r\n`,
      );
      expect(parseAnswer(text).status).toBe(401);
      expect(await supplier.requests()).toEqual([]);
    });
  });
});
