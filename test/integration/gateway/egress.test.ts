import { readFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { startTestApp, type TestApp } from '../../support/app';
import { type ForwardProxy, forwardProxy } from '../../support/forward-proxy';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';

const fixture = (name: string): string => readFileSync(join(__dirname, '../../fixtures/tls', name), 'utf8');
const directory = { cert: fixture('directory.cert.pem'), key: fixture('directory.key.pem') };
const ours = { certificate: fixture('client.cert.pem'), key: fixture('client.key.pem') };

/** Suppliers that are reached through a proxy, trusted by a certificate of their own, or shown one of ours. */
describe('the way to a supplier', () => {
  let app: TestApp;
  let supplier: Simulator;
  let proxy: ForwardProxy;
  let secure: Server;
  let shelf: ModelShelf;
  const shown: string[] = [];

  beforeAll(async () => {
    supplier = await startSimulator();
    proxy = await forwardProxy({ credentials: 'switchboard:secret' });
    // The simulator behind TLS, which asks who we are.
    secure = createServer(
      {
        ...directory,
        requestCert: true,
        rejectUnauthorized: false,
        // Offers HTTP/2 first, and speaks HTTP/1.1 only.
        ALPNProtocols: ['h2', 'http/1.1'],
      },
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate() as {
          subject?: { CN?: string };
        };
        shown.push(subject?.CN ?? 'nobody');
        const { method, headers, url = '' } = request;
        const further = plainRequest(new URL(url, supplier.url), { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        });
        request.pipe(further);
      },
    );
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: {
        SUPPLIER_ALLOW: '127.0.0.1',
        EGRESS_PROXIES: `eu=http://switchboard:secret@127.0.0.1:${proxy.port},locked=http://127.0.0.1:${proxy.port}`,
      },
    });
    shelf = new ModelShelf(app);
    const { port } = secure.address() as AddressInfo;
    const behindTls = `https://localhost:${port}`;
    const bearer = { label: 'one', kind: 'bearer', secret: 'sim-test' } as const;
    const certificate = { label: 'two', kind: 'client-certificate', secret: ours } as const;
    for (const [name, baseUrl, egress, credentials] of [
      ['well', supplier.url, undefined, [bearer]],
      ['behind-eu', supplier.url, { proxy: 'eu' }, [bearer]],
      ['locked-out', supplier.url, { proxy: 'locked' }, [bearer]],
      ['nowhere', supplier.url, { proxy: 'us' }, [bearer]],
      ['untrusted', behindTls, undefined, [bearer]],
      ['trusted', behindTls, { ca: directory.cert }, [bearer]],
      ['known', behindTls, { ca: directory.cert, proxy: 'eu' }, [bearer, certificate]],
      ['formerly-http2', behindTls, { ca: directory.cert, http2: true }, [bearer]],
    ] as const) {
      await shelf.provider({
        name,
        style: 'openai-style',
        baseUrl,
        credentials: [...credentials],
        settings: egress ? { egress } : {},
      });
      await shelf.model(`by-${name}`, [{ provider: name }]);
    }
    await shelf.model('by-either', [{ provider: 'locked-out' }, { provider: 'well', priority: 1 }]);
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
    proxy.close();
    secure.closeAllConnections();
    secure.close();
  });

  const ask = (model: string): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }),
    });

  test('leads through the proxy that its settings name', async () => {
    const answer = await ask('by-behind-eu');
    expect([answer.status, await answer.json()]).toMatchObject([200, { object: 'chat.completion' }]);
    expect(proxy.asked.splice(0)).toEqual([`POST ${supplier.url}/v1/chat/completions HTTP/1.1`]);
  });

  test('is a failure of its lane where the proxy refuses, and the next one answers', async () => {
    const answer = await ask('by-either');
    expect([
      answer.status,
      answer.headers.get('x-svc-failover'),
      answer.headers.get('x-svc-supplier'),
    ]).toEqual([200, 'true', 'well']);
    await answer.json();
    expect((await ask('by-locked-out')).status).toBe(503);
    proxy.asked.length = 0;
  });

  test('is a fault of the configuration where no proxy has the name', async () => {
    const answer = await ask('by-nowhere');
    expect(await answer.json()).toMatchObject({ error: { code: 'configuration_error' } });
    expect(proxy.asked).toEqual([]);
  });

  test('is trusted by a certificate of its own, and shown one of ours, also in a tunnel', async () => {
    expect((await ask('by-untrusted')).status).toBe(503);
    expect((await ask('by-trusted')).status).toBe(200);
    expect((await ask('by-known')).status).toBe(200);
    expect(shown).toEqual(['nobody', 'client.example']);
    expect(proxy.asked.splice(0)).toEqual([expect.stringMatching(/^CONNECT localhost:\d+ HTTP\/1.1$/)]);
  });

  // HTTP/2 to suppliers is removed. A provider that still asks for HTTP/2 keeps working over HTTP/1.1.
  test('speaks HTTP/1.1 to a supplier that offers HTTP/2, also when its stored settings ask for HTTP/2', async () => {
    expect((await ask('by-formerly-http2')).status).toBe(200);
    shown.length = 0;
  });

  test('keeps the key sealed', async () => {
    const rows = await app.database.query<{ text: string }>(
      `SELECT row_to_json(c)::text AS text FROM provider_credential c WHERE kind = 'client-certificate'`,
    );
    expect(rows).toHaveLength(1);
    for (const part of [ours.key.split('\n')[1]!, Buffer.from(ours.key).toString('hex').slice(80, 160)])
      expect(rows[0]!.text).not.toContain(part);
  });

  test.each([
    [{ proxy: 'http://10.0.0.1:3128' }, 'proxy'],
    [{ ca: 'no certificate' }, 'ca'],
    [{ proxies: 'eu' }, 'proxies'],
    ['direct', 'takes'],
  ])('is refused where it cannot be meant (%j)', async (egress, named) => {
    await expect(
      shelf.provider({
        name: 'wrong',
        style: 'openai-style',
        baseUrl: supplier.url,
        credentials: [],
        settings: { egress },
      }),
    ).rejects.toMatchObject({ code: 'invalid_provider', message: expect.stringContaining(named) as string });
  });

  test('takes no key that belongs to another certificate', async () => {
    const secret = { certificate: ours.certificate, key: directory.key };
    await expect(
      shelf.provider({
        name: 'wrong',
        style: 'openai-style',
        baseUrl: supplier.url,
        credentials: [{ label: 'two', kind: 'client-certificate', secret }],
      }),
    ).rejects.toMatchObject({ code: 'validation_error' });
  });
});
