import { Logger } from '#inside/boot/packages';
import { CatalogueEditor, type ProviderView } from '#product/catalogue';
import { type Fault, type HoldProof } from '../../../src/kernel';
import { AddressGuard } from '#product/platform';
import { type SentCall, type SupplierExchange } from '../../../src/routing';
import { startSimulator, type Simulator } from '../../support/simulator';
import { chunkFrame } from '../../support/frames';
import { CatalogueFixture, errorWithCode } from '../catalogue/catalogue-fixture';
import { callTo, startFakeServer, type FakeServer, SupplierFixture } from './supplier-fixture';

const hold = {} as HoldProof;
const chat = { model: 'x', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };

let catalogue: CatalogueFixture;
let fixture: SupplierFixture;
let simulator: Simulator;
let frameBytes: Buffer;
let aws: FakeServer;
beforeAll(async () => {
  Logger.overrideLogger(false);
  catalogue = await CatalogueFixture.open();
  fixture = new SupplierFixture(catalogue);
  simulator = await startSimulator();
  aws = await startFakeServer((response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    // Sent in two writes, so that a frame is split.
    response.write(frameBytes.subarray(0, 30));
    setImmediate(() => response.end(frameBytes.subarray(30)));
  });
});
afterAll(async () => {
  await fixture.close();
  await aws.stop();
  await simulator.stop();
  await catalogue.close();
});

const putSecret = async (
  providerId: number,
  kind: 'bearer' | 'sigv4',
  secret: string | Record<string, string>,
) => {
  await catalogue.write((tx) => fixture.editor.put(tx, { providerId, label: 'key', kind, secret }));
  await fixture.reload();
};

const openCall = async (provider: ProviderView): Promise<SentCall> =>
  fixture.client.open(hold, callTo(provider, 'chat', chat), {});

async function readResponse(exchange: SupplierExchange): Promise<{ status: number; text: string }> {
  const { status } = await exchange.head;
  return { status, text: (await exchange.readBody()).toString() };
}

test('the sandbox is called in the API format of the caller', async () => {
  const provider = await fixture.provider('sandbox', 'sandbox', simulator.url);
  for (const [operation, body, dialect] of [
    ['chat', chat, 'chat'],
    ['messages', chat, 'messages'],
    ['count_tokens', chat, 'messages'],
    ['responses', { model: 'x', input: 'Hello' }, 'responses'],
    ['completions', { model: 'x', prompt: 'Once' }, 'completions'],
  ] as const) {
    const sentCall = await fixture.client.open(hold, callTo(provider, operation, body), {});
    expect([operation, sentCall.dialect, (await readResponse(sentCall.exchange)).status]).toEqual([
      operation,
      dialect,
      200,
    ]);
  }
});

test('the supplier receives the stored secret and never the key of the caller', async () => {
  const provider = await fixture.provider('keyed', 'openai-style', simulator.url);
  await putSecret(provider.id, 'bearer', 'sim-stored');
  await simulator.clearRequests();
  const input = {
    ...callTo(provider, 'chat', chat),
    headers: { authorization: 'Bearer svc_canary', 'x-api-key': 'svc_canary' },
  };
  expect((await readResponse((await fixture.client.open(hold, input, {})).exchange)).status).toBe(200);
  const [request] = await simulator.requests();
  expect(request?.headers.authorization).toBe('Bearer sim-stored');
  expect(JSON.stringify(request)).not.toContain('canary');
});

test('no request is sent without a secret, or with one bound to another host', async () => {
  const provider = await fixture.provider('bare', 'openai-style', simulator.url);
  const call = () => openCall(provider);
  const requestsBefore = (await simulator.stats()).total;
  await expect(call()).rejects.toMatchObject({
    code: 'configuration_error',
    options: { details: { credential: 'missing' } },
  });
  await putSecret(provider.id, 'bearer', 'sim-stored');
  // The editor deletes the secret when the host changes.
  const otherUrl = simulator.url.replace('127.0.0.1', 'localhost');
  const movedProvider = await fixture.provider('bare', 'openai-style', otherUrl);
  await fixture.reload();
  await expect(openCall(movedProvider)).rejects.toMatchObject({
    code: 'configuration_error',
    options: { details: { credential: 'missing' } },
  });
  // Changed outside the editor, the secret stays but cannot be used, even for calls that need none.
  await putSecret(provider.id, 'bearer', 'sim-stored');
  await fixture.catalogue.database.query(
    `UPDATE provider SET base_url = $2, settings = settings || '{"anonymous": true}' WHERE id = $1`,
    [provider.id, simulator.url],
  );
  const { providers } = await fixture.catalogue.snapshot();
  await fixture.reload();
  await expect(openCall(providers.find(({ id }) => id === provider.id)!)).rejects.toMatchObject({
    code: 'configuration_error',
    options: { details: { credential: 'unreadable' } },
  });
  expect((await simulator.stats()).total).toBe(requestsBefore);
});

test('an unknown style and an unsupported operation return configuration_error', async () => {
  const unknownStyle = await fixture.provider('odd', 'unheard-of', simulator.url);
  await expect(openCall(unknownStyle)).rejects.toMatchObject(errorWithCode('configuration_error'));
  const rerankProvider = await fixture.provider('rank', 'cohere-rerank', simulator.url);
  await expect(openCall(rerankProvider)).rejects.toMatchObject(errorWithCode('configuration_error'));
});

describe('A stream in binary frames', () => {
  const stop = { type: 'message_stop' };
  const openStream = async () => {
    const provider = await fixture.provider('aws', 'bedrock', aws.url);
    await putSecret(provider.id, 'sigv4', { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'hidden' });
    return fixture.client.open(hold, callTo(provider, 'messages', { ...chat, stream: true }), {});
  };

  test('is converted to server-sent events', async () => {
    frameBytes = Buffer.concat([chunkFrame({ type: 'ping' }), chunkFrame(stop)]);
    const { exchange, dialect } = await openStream();
    expect(dialect).toBe('messages');
    expect((await exchange.head).headers['content-type']).toBe('text/event-stream');
    expect((await exchange.readBody()).toString()).toBe(
      'event: ping\ndata: {"type":"ping"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
    );
  });

  test.each([
    ['damaged', () => Buffer.concat([chunkFrame(stop).fill(1, 40, 41), chunkFrame(stop)])],
    ['cut', () => chunkFrame(stop).subarray(0, -3)],
  ])('%s, fails once and stays closed', async (_name, bytes) => {
    frameBytes = bytes();
    const { exchange } = await openStream();
    await exchange.head;
    const outcomes: string[] = [];
    await new Promise<void>((resolve) =>
      exchange.attachReader({
        data: () => true,
        end: () => resolve(void outcomes.push('end')),
        broken: ({ code }: Fault) => resolve(void outcomes.push(code)),
      }),
    );
    expect(outcomes).toEqual(['agentcli_incomplete_stream']);
  });
});

describe('Provider addresses', () => {
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
  ])('are refused: %s', async (address) => {
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

  test('are accepted on the public internet', async () => {
    expect(await store('https://fine.example/v1')).toMatchObject({ baseUrl: 'https://fine.example/v1' });
  });
});
