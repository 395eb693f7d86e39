import { type IncomingMessage, request } from 'node:http';
import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { addCustomer } from '../../../support/customer';
import { startTestApp, type TestApp } from '../../../support/app';
import { type Simulator, startSimulator } from '../../../support/simulator';
import { TestCatalogue } from '../test-catalogue';

type Json = Record<string, unknown>;

const paths = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
} as const;
type ContinuedSurface = keyof typeof paths;
const surfaces = Object.keys(paths) as ContinuedSurface[];

interface ContinuedStreamResponse {
  readonly head: IncomingMessage['headers'];
  readonly trailers: IncomingMessage['trailers'];
  readonly text: string;
}

describe('Streams continued on another lane', () => {
  let app: TestApp;
  let simulator: Simulator;
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    simulator = await startSimulator({
      lanes: [
        { name: 'first', region: 'eu' },
        { name: 'second', region: 'us' },
      ],
    });
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', LANE_FAILURES: '50' } });
    const catalogue = new TestCatalogue(app);
    const credential = { label: 'key', secret: 'sim-key' } as const;
    for (const { name, url: baseUrl } of simulator.lanes) {
      await catalogue.provider({
        name: `${name}-chat`,
        baseUrl,
        style: 'openai-style',
        credentials: [{ ...credential, kind: 'bearer' }],
      });
      await catalogue.provider({
        name: `${name}-responses`,
        baseUrl,
        style: 'openai-style',
        settings: { profile: 'openai' },
        credentials: [{ ...credential, kind: 'bearer' }],
      });
      await catalogue.provider({
        name: `${name}-messages`,
        baseUrl,
        style: 'messages-style',
        credentials: [{ ...credential, kind: 'header' }],
      });
    }
    for (const surface of surfaces)
      await catalogue.model(surface, [
        { provider: `first-${surface}`, priority: 0 },
        { provider: `second-${surface}`, priority: 1, region: 'us' },
      ]);
    for (const [name, continueStreams] of [
      ['usual', null],
      ['on', 'on'],
      ['off', 'off'],
    ] as const)
      keys[name] = (await addCustomer(app, `${name}-streams`, 10n ** 12n, { continueStreams })).key;
  });
  beforeEach(() => simulator.addFault({ match: { lane: 'first' }, fault: { kind: 'cut', after: 20 } }));
  afterEach(() => simulator.clearFaults());
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  const sendRequest = (
    key: string,
    surface: ContinuedSurface,
    extra: Json = {},
  ): Promise<ContinuedStreamResponse> =>
    new Promise((resolve, reject) => {
      const messages = [{ role: 'user', content: 'goes on [[tokens=30]]' }];
      const body = surface === 'responses' ? { input: messages } : { messages, max_tokens: 500 };
      const outgoing = request(
        app.url + paths[surface],
        {
          method: 'POST',
          headers: {
            authorization: `Bearer ${keys[key]}`,
            'content-type': 'application/json',
            'x-session-id': `${key} ${surface} ${JSON.stringify(extra)}`,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (piece: Buffer) => chunks.push(piece));
          answer.on('error', reject);
          answer.on('end', () =>
            resolve({
              head: answer.headers,
              trailers: answer.trailers,
              text: Buffer.concat(chunks).toString(),
            }),
          );
        },
      );
      outgoing.on('error', reject);
      outgoing.end(JSON.stringify({ model: surface, stream: true, ...body, ...extra }));
    });

  const TERMINATOR = /\[DONE\]|message_stop|response\.completed/;
  const svcIn = (text: string): Json[] =>
    [...text.matchAll(/"svc":(\{[^{}]*\})/g)].map(([, object]) => JSON.parse(object ?? '') as Json);

  const requests: [ContinuedSurface, Json][] = [
    ['chat', {}],
    ['chat', { stream_options: { include_usage: true } }],
    ['messages', {}],
    ['responses', {}],
  ];

  test.each(requests)('%s %j: trailers and svc name the lane that finished', async (surface, extra) => {
    const { head, trailers, text } = await sendRequest('usual', surface, extra);
    expect(text).toMatch(TERMINATOR);
    expect([head['x-svc-supplier'], head['x-svc-region']]).toEqual([`first-${surface}`, 'eu']);
    const second = `second-${surface}`;
    expect([trailers['x-svc-supplier'], trailers['x-svc-region'], trailers['x-svc-failover']]).toEqual([
      second,
      'us',
      'true',
    ]);
    expect(svcIn(text)).toMatchObject([{ supplier: second, region: 'us', failover: true }]);
  });

  const isContinued = async (key: string, surface: ContinuedSurface): Promise<boolean> => {
    const { head, text } = await sendRequest(key, surface);
    expect(head['x-svc-supplier']).toBe(`first-${surface}`);
    const isComplete = TERMINATOR.test(text);
    expect(text.includes('stream_interrupted')).toBe(!isComplete);
    return isComplete;
  };

  test.each(surfaces)('%s stream is not continued if the key or the model forbids it', async (surface) => {
    const setForModel = async (continueStreams: 'on' | 'off'): Promise<void> => {
      await app.database.transaction((tx) =>
        new CatalogueEditor().upsertModel(tx, { name: surface, continueStreams }),
      );
      await app.application.get(CatalogueService).reload();
    };
    expect([await isContinued('on', surface), await isContinued('off', surface)]).toEqual([true, false]);
    await setForModel('off');
    expect([await isContinued('usual', surface), await isContinued('on', surface)]).toEqual([false, false]);
    await setForModel('on');
  });

  test('continue_streams is set through the management API, which rejects other values', async () => {
    const manage = (method: string, path: string, body: Json): Promise<Response> =>
      fetch(`${app.url}/v1/manage/keys${path}`, {
        method,
        headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const createResponse = await manage('POST', '', { name: 'managed', continue_streams: 'off' });
    const { id, key } = (await createResponse.json()) as { id: string; key: string };
    keys.managed = key;
    expect(await isContinued('managed', 'chat')).toBe(false);
    const updateResponse = await manage('PATCH', `/${id}`, { continue_streams: null });
    expect(await updateResponse.json()).toMatchObject({ continue_streams: null });
    expect(await isContinued('managed', 'chat')).toBe(true);
    const rejection = await manage('PATCH', `/${id}`, { continue_streams: 'perhaps' });
    expect([rejection.status, await rejection.json()]).toMatchObject([
      400,
      { error: { param: 'continue_streams' } },
    ]);
  });
});
