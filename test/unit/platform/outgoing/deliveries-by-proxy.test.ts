import 'reflect-metadata';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AlertClient } from '../../../../src/alerts/channels/alert-client';
import type { AlertMessage } from '../../../../src/alerts/channels/channel';
import { loadSettings } from '../../../../src/platform';
import { outgoingClient } from '../../../../src/platform/outgoing';
import { type ForwardProxy, startForwardProxy } from '../../../support/forward-proxy';

let proxy: ForwardProxy;
let receiver: Server;
let port: number;
beforeAll(async () => {
  proxy = await startForwardProxy({ resolve: () => '127.0.0.1' });
  receiver = createServer((request, response) => request.resume().on('end', () => response.end('taken')));
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  ({ port } = receiver.address() as AddressInfo);
});
afterAll(() => {
  proxy.close();
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(() => void proxy.requestLines.splice(0));

const settings = (environment: Readonly<Record<string, string>>) =>
  loadSettings({ NODE_ENV: 'test', EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`, ...environment });

test('tap is sent through EGRESS_PROXY, and NO_PROXY applies', async () => {
  const url = `http://tap.example:${port}/records`;
  const sendToTap = async (environment: Readonly<Record<string, string>>): Promise<number> => {
    const client = outgoingClient(
      settings({ HTTP_TAPS: `one=${url}`, HTTP_TAP_SECRETS: `one=whsec_${'a'.repeat(32)}`, ...environment }),
    );
    try {
      const request = { url, method: 'POST', body: '{}' } as const;
      return (await client.read(request, { mostBytes: 1_000, deadlineMs: 5_000 })).status;
    } finally {
      client.close();
    }
  };
  expect(await sendToTap({})).toBe(200);
  expect(proxy.requestLines.splice(0)).toEqual([`POST ${url} HTTP/1.1`]);
  // The name cannot be resolved here, so delivery without the proxy fails.
  await expect(sendToTap({ NO_PROXY: 'tap.example' })).rejects.toThrow();
  expect(proxy.requestLines).toEqual([]);
});

test('alert is sent through EGRESS_PROXY, and only to allowed destinations', async () => {
  const message = { since: new Date(0) } as AlertMessage;
  const send = async (url: string, environment: Readonly<Record<string, string>>) => {
    const client = new AlertClient(settings(environment));
    try {
      return await client.send(
        { organisationId: null, kind: 'webhook' },
        { url, secret: `whsec_${'a'.repeat(32)}` } as never,
        message,
      );
    } finally {
      client.onApplicationShutdown();
    }
  };
  const url = `http://alerts.example:${port}/hook`;
  const allowList = { ALERT_ALLOW: `alerts.example:${port}=127.0.0.1` };
  expect(await send(url, allowList)).toMatchObject({ kind: 'delivered' });
  expect(proxy.requestLines.splice(0)).toEqual([`POST ${url} HTTP/1.1`]);
  for (const blockedUrl of [url, `http://127.0.0.1:${port}/hook`, 'https://metadata.google.internal/x'])
    expect(await send(blockedUrl, {})).toMatchObject({
      kind: 'again',
      text: 'this address is not allowed',
    });
  expect(proxy.requestLines).toEqual([]);
});
