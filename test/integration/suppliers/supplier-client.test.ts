import { Logger } from '#inside/boot/packages';
import { CatalogueEditor, type ProviderView } from '#product/catalogue';
import { type Fault, type HoldProof } from '../../../src/kernel';
import { AddressGuard } from '#product/platform';
import { type SentCall, type SupplierExchange } from '../../../src/routing';
import { startSimulator, type Simulator } from '../../support/simulator';
import { chunkFrame } from '../../support/frames';
import { CatalogueHouse, refusal } from '../catalogue/catalogue-house';
import { callTo, fakeServer, type FakeServer, SupplierHouse } from './supplier-house';

const hold = {} as HoldProof;
const chat = { model: 'x', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };

let catalogue: CatalogueHouse;
let house: SupplierHouse;
let simulator: Simulator;
let framed: Buffer;
let aws: FakeServer;
beforeAll(async () => {
  Logger.overrideLogger(false);
  catalogue = await CatalogueHouse.open();
  house = new SupplierHouse(catalogue);
  simulator = await startSimulator();
  aws = await fakeServer((response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    // In two writes, so that a frame is cut.
    response.write(framed.subarray(0, 30));
    setImmediate(() => response.end(framed.subarray(30)));
  });
});
afterAll(async () => {
  await house.close();
  await aws.stop();
  await simulator.stop();
  await catalogue.close();
});

const put = async (providerId: number, kind: 'bearer' | 'sigv4', secret: string | Record<string, string>) => {
  await catalogue.write((tx) => house.editor.put(tx, { providerId, label: 'key', kind, secret }));
  await house.reload();
};

const opened = async (provider: ProviderView): Promise<SentCall> =>
  house.client.open(hold, callTo(provider, 'chat', chat), {});

async function answerOf(exchange: SupplierExchange): Promise<{ status: number; text: string }> {
  const { status } = await exchange.head;
  return { status, text: (await exchange.readBody()).toString() };
}

test('the sandbox is spoken to in the dialect of the caller', async () => {
  const provider = await house.provider('sandbox', 'sandbox', simulator.url);
  for (const [operation, body, dialect] of [
    ['chat', chat, 'chat'],
    ['messages', chat, 'messages'],
    ['count_tokens', chat, 'messages'],
    ['responses', { model: 'x', input: 'Hello' }, 'responses'],
    ['completions', { model: 'x', prompt: 'Once' }, 'completions'],
  ] as const) {
    const sent = await house.client.open(hold, callTo(provider, operation, body), {});
    expect([operation, sent.dialect, (await answerOf(sent.exchange)).status]).toEqual([
      operation,
      dialect,
      200,
    ]);
  }
});

test("a stored secret reaches the supplier, the caller's own key never", async () => {
  const provider = await house.provider('keyed', 'openai-style', simulator.url);
  await put(provider.id, 'bearer', 'sim-stored');
  await simulator.clearRequests();
  const input = {
    ...callTo(provider, 'chat', chat),
    headers: { authorization: 'Bearer svc_canary', 'x-api-key': 'svc_canary' },
  };
  expect((await answerOf((await house.client.open(hold, input, {})).exchange)).status).toBe(200);
  const [request] = await simulator.requests();
  expect(request?.headers.authorization).toBe('Bearer sim-stored');
  expect(JSON.stringify(request)).not.toContain('canary');
});

test('without a secret, or with one for another host, nothing is sent', async () => {
  const provider = await house.provider('bare', 'openai-style', simulator.url);
  const call = () => opened(provider);
  const before = (await simulator.stats()).total;
  await expect(call()).rejects.toMatchObject({
    code: 'configuration_error',
    options: { details: { credential: 'missing' } },
  });
  await put(provider.id, 'bearer', 'sim-stored');
  // By the editor the secret goes with its host.
  const elsewhere = simulator.url.replace('127.0.0.1', 'localhost');
  const moved = await house.provider('bare', 'openai-style', elsewhere);
  await house.reload();
  await expect(opened(moved)).rejects.toMatchObject({
    code: 'configuration_error',
    options: { details: { credential: 'missing' } },
  });
  // Past the editor it stays, and opens nothing, not even what needs no secret.
  await put(provider.id, 'bearer', 'sim-stored');
  await house.catalogue.database.query(
    `UPDATE provider SET base_url = $2, settings = settings || '{"anonymous": true}' WHERE id = $1`,
    [provider.id, simulator.url],
  );
  const { providers } = await house.catalogue.snapshot();
  await house.reload();
  await expect(opened(providers.find(({ id }) => id === provider.id)!)).rejects.toMatchObject({
    code: 'configuration_error',
    options: { details: { credential: 'unreadable' } },
  });
  expect((await simulator.stats()).total).toBe(before);
});

test('an unknown style, or an operation that a style does not serve, is a fault of the configuration', async () => {
  const odd = await house.provider('odd', 'unheard-of', simulator.url);
  await expect(opened(odd)).rejects.toMatchObject(refusal('configuration_error'));
  const rank = await house.provider('rank', 'cohere-rerank', simulator.url);
  await expect(opened(rank)).rejects.toMatchObject(refusal('configuration_error'));
});

describe('a stream in binary frames', () => {
  const stop = { type: 'message_stop' };
  const open = async () => {
    const provider = await house.provider('aws', 'bedrock', aws.url);
    await put(provider.id, 'sigv4', { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'hidden' });
    return house.client.open(hold, callTo(provider, 'messages', { ...chat, stream: true }), {});
  };

  test('reads like any other', async () => {
    framed = Buffer.concat([chunkFrame({ type: 'ping' }), chunkFrame(stop)]);
    const { exchange, dialect } = await open();
    expect(dialect).toBe('messages');
    expect((await exchange.head).headers['content-type']).toBe('text/event-stream');
    expect((await exchange.readBody()).toString()).toBe(
      'event: ping\ndata: {"type":"ping"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
    );
  });

  test.each([
    ['damaged', () => Buffer.concat([chunkFrame(stop).fill(1, 40, 41), chunkFrame(stop)])],
    ['cut', () => chunkFrame(stop).subarray(0, -3)],
  ])('%s, breaks once and for good', async (_name, bytes) => {
    framed = bytes();
    const { exchange } = await open();
    await exchange.head;
    const told: string[] = [];
    await new Promise<void>((resolve) =>
      exchange.attachReader({
        data: () => true,
        end: () => resolve(void told.push('end')),
        broken: ({ code }: Fault) => resolve(void told.push(code)),
      }),
    );
    expect(told).toEqual(['agentcli_incomplete_stream']);
  });
});

describe('a provider may be at some addresses alone', () => {
  const editor = new CatalogueEditor(new AddressGuard([]));
  const store = (baseUrl: string, settings = {}) =>
    catalogue.write((tx) =>
      editor.upsertProvider(tx, { name: 'somewhere', style: 'openai-style', baseUrl, settings }),
    );

  test.each([
    'http://127.0.0.1:8080',
    'https://127.0.0.1',
    'https://0x7f.1',
    'https://2130706433',
    'https://10.0.0.1/v1',
    'https://169.254.169.254',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://user:password@example.com',
    'http://example.com',
    'https://example.com:8443',
    'file:///etc/passwd',
    'https://example.com/?x=1',
    'not an address',
  ])('not at %s', async (address) => {
    await expect(store(address)).rejects.toMatchObject({
      code: 'invalid_provider',
      options: { param: 'base_url' },
    });
    const oauth = { oauth: { token_url: address } };
    await expect(store('https://fine.example', oauth)).rejects.toMatchObject({
      code: 'invalid_provider',
      options: { param: 'settings.oauth.token_url' },
    });
  });

  test('but on the internet', async () => {
    expect(await store('https://fine.example/v1')).toMatchObject({ baseUrl: 'https://fine.example/v1' });
  });
});
