import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { type ForwardProxy, startForwardProxy } from '../../support/forward-proxy';
import { OtlpReceiver } from '../../support/otlp-receiver';
import { until } from '../../support/until';
import { chatAnswer, openTelemetryFixture, type TelemetryFixture } from './telemetry-fixture';

const readFixtureFile = (name: string): string =>
  readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
const chat = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };

let receiver: OtlpReceiver;
let proxy: ForwardProxy;
let tlsServer: Server;
beforeAll(async () => {
  receiver = await OtlpReceiver.open();
  proxy = await startForwardProxy({ credentials: 'house:secret', resolve: () => '127.0.0.1' });
  const tls = { cert: readFixtureFile('supplier.cert.pem'), key: readFixtureFile('supplier.key.pem') };
  // Terminates TLS in front of the receiver.
  tlsServer = createServer(tls, (socket) => {
    const target = connect(Number(new URL(receiver.url).port), '127.0.0.1');
    target.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('error', () => target.destroy()).on('close', () => target.destroy());
    socket.pipe(target).pipe(socket);
  });
  await once(tlsServer.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  tlsServer.close();
  proxy.close();
  await receiver.close();
});
beforeEach(() => void proxy.requestLines.splice(0));

async function withTelemetry(
  environment: Readonly<Record<string, string>>,
  check: (fixture: TelemetryFixture) => Promise<unknown>,
): Promise<void> {
  const fixture = await openTelemetryFixture({
    EGRESS_PROXY: `http://house:secret@127.0.0.1:${proxy.port}`,
    EGRESS_CA: readFixtureFile('supplier.cert.pem'),
    ...environment,
  });
  try {
    fixture.supplier.answer = { body: chatAnswer };
    const answer = await fixture.post('/v1/chat/completions', chat);
    expect(answer.status).toBe(200);
    await answer.text();
    await check(fixture);
  } finally {
    await fixture.close();
  }
}

/** Waits until traces and metrics have been delivered since the index. */
async function waitForDeliveries(firstIndex: number): Promise<void> {
  const paths = (): string[] => receiver.deliveries.slice(firstIndex).map(({ path }) => path);
  await receiver.until(() => ['/v1/traces', '/v1/metrics'].every((path) => paths().includes(path)));
}

test.each(['http/protobuf', 'http/json'])(
  'an http receiver is reached through the proxy with absolute URLs (%s)',
  async (protocol) => {
    const firstIndex = receiver.deliveries.length;
    const endpoint = `http://receiver.example:${new URL(receiver.url).port}`;
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: protocol };
    await withTelemetry(settings, () => waitForDeliveries(firstIndex));
    expect(new Set(proxy.requestLines)).toEqual(
      new Set([`POST ${endpoint}/v1/traces HTTP/1.1`, `POST ${endpoint}/v1/metrics HTTP/1.1`]),
    );
    for (const { headers } of receiver.deliveries.slice(firstIndex))
      expect(headers['proxy-authorization']).toBeUndefined();
  },
);

test('an https receiver is reached through a tunnel and trusted by EGRESS_CA', async () => {
  const firstIndex = receiver.deliveries.length;
  const { port } = tlsServer.address() as AddressInfo;
  const endpoint = `https://supplier.example:${port}`;
  await withTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, () => waitForDeliveries(firstIndex));
  expect(new Set(proxy.requestLines)).toEqual(new Set([`CONNECT supplier.example:${port} HTTP/1.1`]));
  expect(proxy.heads.join()).not.toContain('/v1/traces HTTP/1.1\r\nhost: supplier.example');
});

test('NO_PROXY applies to receivers as well', async () => {
  const endpoint = 'http://receiver.invalid:4318';
  const settings = { NO_PROXY: 'receiver.invalid', OTEL_EXPORTER_OTLP_TIMEOUT: '300' };
  await withTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...settings }, (fixture) =>
    until(() => fixture.logEntries('traces cannot be delivered').length > 0),
  );
  expect(proxy.requestLines).toEqual([]);
});

test('a refusing proxy is named in the log', async () => {
  const { port } = tlsServer.address() as AddressInfo;
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://supplier.example:${port}`,
    EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
  };
  await withTelemetry(settings, async (fixture) => {
    await until(() => fixture.logEntries('traces cannot be delivered').length > 0);
    expect(JSON.stringify(fixture.logEntries('traces cannot be delivered'))).toContain(
      `the proxy 127.0.0.1:${proxy.port} wants other credentials (407)`,
    );
  });
});
