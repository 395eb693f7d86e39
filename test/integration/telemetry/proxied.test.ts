import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { type ForwardProxy, forwardProxy } from '../../support/forward-proxy';
import { OtlpReceiver } from '../../support/otlp-receiver';
import { until } from '../../support/until';
import { chatAnswer, openTelemetryHouse, type TelemetryHouse } from './telemetry-house';

const fixture = (name: string): string => readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
const chat = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };

let receiver: OtlpReceiver;
let proxy: ForwardProxy;
let secure: Server;
beforeAll(async () => {
  receiver = await OtlpReceiver.open();
  proxy = await forwardProxy({ credentials: 'house:secret', resolve: () => '127.0.0.1' });
  const tls = { cert: fixture('supplier.cert.pem'), key: fixture('supplier.key.pem') };
  // TLS before the receiver.
  secure = createServer(tls, (socket) => {
    const target = connect(Number(new URL(receiver.url).port), '127.0.0.1');
    target.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('error', () => target.destroy()).on('close', () => target.destroy());
    socket.pipe(target).pipe(socket);
  });
  await once(secure.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  secure.close();
  proxy.close();
  await receiver.close();
});
beforeEach(() => void proxy.asked.splice(0));

async function within(
  environment: Readonly<Record<string, string>>,
  look: (house: TelemetryHouse) => Promise<unknown>,
): Promise<void> {
  const house = await openTelemetryHouse({
    EGRESS_PROXY: `http://house:secret@127.0.0.1:${proxy.port}`,
    EGRESS_CA: fixture('supplier.cert.pem'),
    ...environment,
  });
  try {
    house.supplier.answer = { body: chatAnswer };
    const answer = await house.post('/v1/chat/completions', chat);
    expect(answer.status).toBe(200);
    await answer.text();
    await look(house);
  } finally {
    await house.close();
  }
}

/** Traces and metrics have come since. */
async function arrived(from: number): Promise<void> {
  const paths = (): string[] => receiver.deliveries.slice(from).map(({ path }) => path);
  await receiver.until(() => ['/v1/traces', '/v1/metrics'].every((path) => paths().includes(path)));
}

test.each(['http/protobuf', 'http/json'])(
  'a plain receiver gets its deliveries through the proxy, which gets whole addresses (%s)',
  async (protocol) => {
    const from = receiver.deliveries.length;
    const endpoint = `http://receiver.example:${new URL(receiver.url).port}`;
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: protocol };
    await within(settings, () => arrived(from));
    expect(new Set(proxy.asked)).toEqual(
      new Set([`POST ${endpoint}/v1/traces HTTP/1.1`, `POST ${endpoint}/v1/metrics HTTP/1.1`]),
    );
    for (const { headers } of receiver.deliveries.slice(from))
      expect(headers['proxy-authorization']).toBeUndefined();
  },
);

test('an encrypted one in a tunnel, trusted by EGRESS_CA', async () => {
  const from = receiver.deliveries.length;
  const { port } = secure.address() as AddressInfo;
  const endpoint = `https://supplier.example:${port}`;
  await within({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, () => arrived(from));
  expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT supplier.example:${port} HTTP/1.1`]));
  expect(proxy.heads.join()).not.toContain('/v1/traces HTTP/1.1\r\nhost: supplier.example');
});

test('NO_PROXY holds for receivers, too', async () => {
  const endpoint = 'http://receiver.invalid:4318';
  const settings = { NO_PROXY: 'receiver.invalid', OTEL_EXPORTER_OTLP_TIMEOUT: '300' };
  await within({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...settings }, (house) =>
    until(() => house.said('traces cannot be delivered').length > 0),
  );
  expect(proxy.asked).toEqual([]);
});

test('a proxy that refuses is told by name', async () => {
  const { port } = secure.address() as AddressInfo;
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://supplier.example:${port}`,
    EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
  };
  await within(settings, async (house) => {
    await until(() => house.said('traces cannot be delivered').length > 0);
    expect(JSON.stringify(house.said('traces cannot be delivered'))).toContain(
      `the proxy 127.0.0.1:${proxy.port} wants other credentials (407)`,
    );
  });
});
