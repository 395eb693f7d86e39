import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fromUnknown } from '../../../../src/kernel';
import { readBody } from '../../../../src/platform/http-server';

let server: Server;
let onRequest: (incoming: IncomingMessage) => void;

beforeAll(async () => {
  server = createServer((incoming) => onRequest(incoming)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Resolves to the body text or the code of the refusal. */
function readRequest(
  headers: Record<string, string>,
  pieces: string[],
  act: 'end' | 'stall' | 'hang up',
  deadlineMs?: number,
) {
  const { port } = server.address() as AddressInfo;
  const client = request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false });
  client.on('error', () => undefined);
  const outcome = new Promise<string>((resolve) => {
    onRequest = (incoming) => {
      void Promise.resolve(readBody(incoming, 10, deadlineMs))
        .then(String, (error: unknown) => fromUnknown(error).code)
        .then((text) => {
          client.destroy();
          resolve(text);
        });
      if (act === 'hang up') client.destroy();
    };
  });
  client.flushHeaders();
  for (const piece of pieces) client.write(piece);
  if (act === 'end') client.end();
  return outcome;
}

test.each<[string, Record<string, string>, string[], 'end' | 'stall' | 'hang up', string]>([
  ['a body', {}, ['12345', '67890'], 'end', '1234567890'],
  ['a body in one piece', { 'content-length': '3' }, ['abc'], 'end', 'abc'],
  ['no body', { 'content-length': '0' }, [], 'end', ''],
  ['a named identity coding', { 'content-encoding': 'identity' }, ['abc'], 'end', 'abc'],
  ['one byte too many', {}, ['12345', '678901'], 'stall', 'request_too_large'],
  ['one byte too many, announced', { 'content-length': '11' }, [], 'stall', 'request_too_large'],
  ['a compressed body', { 'content-encoding': 'gzip' }, [], 'stall', 'unsupported_media_type'],
  ['a caller who hangs up', { 'content-length': '5' }, ['12'], 'hang up', 'invalid_request'],
])('%s yields the expected text or error code', async (_name, headers, pieces, act, expected) => {
  expect(await readRequest(headers, pieces, act)).toBe(expected);
});

test('incomplete body ends with request_timeout', async () => {
  expect(await readRequest({ 'content-length': '5' }, ['12'], 'stall', 50)).toBe('request_timeout');
});

test('disconnect before the body is read is an invalid request', async () => {
  const { port } = server.address() as AddressInfo;
  const client = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    headers: { 'content-length': '5' },
    agent: false,
  });
  client.on('error', () => undefined);
  const incoming = await new Promise<IncomingMessage>((resolve) => {
    onRequest = resolve;
    client.flushHeaders();
  });
  incoming.on('error', () => undefined);
  const closed = new Promise((resolve) => incoming.on('close', resolve));
  client.destroy();
  await closed;
  await expect(readBody(incoming, 10)).rejects.toMatchObject({ code: 'invalid_request' });
});
