import { readFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { startTestApp, type TestApp } from '../../support/app';
import { type ForwardProxy, startForwardProxy } from '../../support/forward-proxy';
import { startSimulator, type Simulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';

const fixture = (name: string): string => readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
const serverPem = { cert: fixture('directory.cert.pem'), key: fixture('directory.key.pem') };
const clientCertificate = { certificate: fixture('client.cert.pem'), key: fixture('client.key.pem') };

describe('Egress to suppliers', () => {
  let app: TestApp;
  let supplier: Simulator;
  let proxy: ForwardProxy;
  let tlsServer: Server;
  let catalogue: TestCatalogue;
  const clientNames: string[] = [];

  beforeAll(async () => {
    supplier = await startSimulator();
    proxy = await startForwardProxy({ credentials: 'switchboard:secret' });
    // The simulator behind TLS, which requests a client certificate.
    tlsServer = createServer(
      {
        ...serverPem,
        requestCert: true,
        rejectUnauthorized: false,
        // Offers HTTP/2 first, but speaks HTTP/1.1 only.
        ALPNProtocols: ['h2', 'http/1.1'],
      },
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate() as {
          subject?: { CN?: string };
        };
        clientNames.push(subject?.CN ?? 'nobody');
        const { method, headers, url = '' } = request;
        const forwardedRequest = plainRequest(new URL(url, supplier.url), { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        });
        request.pipe(forwardedRequest);
      },
    );
    await new Promise<void>((resolve) => tlsServer.listen(0, '127.0.0.1', resolve));
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: {
        SUPPLIER_ALLOW: '127.0.0.1',
        EGRESS_PROXIES: `eu=http://switchboard:secret@127.0.0.1:${proxy.port},locked=http://127.0.0.1:${proxy.port}`,
      },
    });
    catalogue = new TestCatalogue(app);
    const { port } = tlsServer.address() as AddressInfo;
    const behindTls = `https://localhost:${port}`;
    const bearer = { label: 'one', kind: 'bearer', secret: 'sim-test' } as const;
    const certificate = { label: 'two', kind: 'client-certificate', secret: clientCertificate } as const;
    for (const [name, baseUrl, egress, credentials] of [
      ['well', supplier.url, undefined, [bearer]],
      ['behind-eu', supplier.url, { proxy: 'eu' }, [bearer]],
      ['locked-out', supplier.url, { proxy: 'locked' }, [bearer]],
      ['nowhere', supplier.url, { proxy: 'us' }, [bearer]],
      ['untrusted', behindTls, undefined, [bearer]],
      ['trusted', behindTls, { ca: serverPem.cert }, [bearer]],
      ['known', behindTls, { ca: serverPem.cert, proxy: 'eu' }, [bearer, certificate]],
      ['formerly-http2', behindTls, { ca: serverPem.cert, http2: true }, [bearer]],
    ] as const) {
      await catalogue.provider({
        name,
        style: 'openai-style',
        baseUrl,
        credentials: [...credentials],
        settings: egress ? { egress } : {},
      });
      await catalogue.model(`by-${name}`, [{ provider: name }]);
    }
    await catalogue.model('by-either', [{ provider: 'locked-out' }, { provider: 'well', priority: 1 }]);
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
    proxy.close();
    tlsServer.closeAllConnections();
    tlsServer.close();
  });

  const sendRequest = (model: string): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }),
    });

  test("request goes through the proxy named in the provider's settings", async () => {
    const answer = await sendRequest('by-behind-eu');
    expect([answer.status, await answer.json()]).toMatchObject([200, { object: 'chat.completion' }]);
    expect(proxy.requestLines.splice(0)).toEqual([`POST ${supplier.url}/v1/chat/completions HTTP/1.1`]);
  });

  test('proxy that refuses is a failure of its lane, and the next lane answers', async () => {
    const answer = await sendRequest('by-either');
    expect([
      answer.status,
      answer.headers.get('x-svc-failover'),
      answer.headers.get('x-svc-supplier'),
    ]).toEqual([200, 'true', 'well']);
    await answer.json();
    expect((await sendRequest('by-locked-out')).status).toBe(503);
    proxy.requestLines.length = 0;
  });

  test('unknown proxy name returns configuration_error', async () => {
    const answer = await sendRequest('by-nowhere');
    expect(await answer.json()).toMatchObject({ error: { code: 'configuration_error' } });
    expect(proxy.requestLines).toEqual([]);
  });

  test("provider's own CA and client certificate are used, also through a tunnel", async () => {
    expect((await sendRequest('by-untrusted')).status).toBe(503);
    expect((await sendRequest('by-trusted')).status).toBe(200);
    expect((await sendRequest('by-known')).status).toBe(200);
    expect(clientNames).toEqual(['nobody', 'client.example']);
    expect(proxy.requestLines.splice(0)).toEqual([
      expect.stringMatching(/^CONNECT localhost:\d+ HTTP\/1.1$/),
    ]);
  });

  // HTTP/2 to suppliers was removed. A provider that still requests HTTP/2 keeps working over HTTP/1.1.
  test('HTTP/1.1 is used with a supplier that offers HTTP/2, even if its stored settings request HTTP/2', async () => {
    expect((await sendRequest('by-formerly-http2')).status).toBe(200);
    clientNames.length = 0;
  });

  test('client key is stored encrypted', async () => {
    const rows = await app.database.query<{ text: string }>(
      `SELECT row_to_json(c)::text AS text FROM provider_credential c WHERE kind = 'client-certificate'`,
    );
    expect(rows).toHaveLength(1);
    for (const part of [
      clientCertificate.key.split('\n')[1]!,
      Buffer.from(clientCertificate.key).toString('hex').slice(80, 160),
    ])
      expect(rows[0]!.text).not.toContain(part);
  });

  test.each([
    [{ proxy: 'http://10.0.0.1:3128' }, 'proxy'],
    [{ ca: 'no certificate' }, 'ca'],
    [{ proxies: 'eu' }, 'proxies'],
    ['direct', 'takes'],
  ])('invalid egress settings are rejected (%j)', async (egress, named) => {
    await expect(
      catalogue.provider({
        name: 'wrong',
        style: 'openai-style',
        baseUrl: supplier.url,
        credentials: [],
        settings: { egress },
      }),
    ).rejects.toMatchObject({ code: 'invalid_provider', message: expect.stringContaining(named) as string });
  });

  test('client key that belongs to another certificate is rejected', async () => {
    const secret = { certificate: clientCertificate.certificate, key: serverPem.key };
    await expect(
      catalogue.provider({
        name: 'wrong',
        style: 'openai-style',
        baseUrl: supplier.url,
        credentials: [{ label: 'two', kind: 'client-certificate', secret }],
      }),
    ).rejects.toMatchObject({ code: 'validation_error' });
  });
});
