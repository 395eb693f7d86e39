import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { call, closeEverything, closeLater } from '../wire/raw-supplier';
import { tls } from './by-proxy';
import { to, transport } from './http2-calls';

afterEach(closeEverything);

/** What a supplier of frames writes when it is asked on a stream. */
type Frames = (stream: number, socket: TLSSocket) => readonly (Buffer | 'end')[];

function frame(type: number, flags: number, stream: number, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const OK = Buffer.from([0x88]);
const NO_CONTENT = Buffer.from([0x89]);
const head = (stream: number, status: Buffer = OK, flags = 0x4): Buffer => frame(0x1, flags, stream, status);
const data = (stream: number, flags: number): Buffer => frame(0x0, flags, stream, Buffer.from('begun'));
const reset = (stream: number, code: number): Buffer => frame(0x3, 0, stream, number(code));
const END = 0x1;

/** It speaks in frames, whatever they mean. */
async function frameSupplier(answering: Frames): Promise<number> {
  const server = createServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => {
    let come: Buffer = Buffer.alloc(0);
    let isGreeted = false;
    socket.on('error', () => undefined).write(frame(0x4, 0, 0));
    socket.on('data', (bytes: Buffer) => {
      come = Buffer.concat([come, bytes]);
      if (!isGreeted && come.length < 24) return;
      if (!isGreeted) come = come.subarray(24);
      isGreeted = true;
      while (come.length >= 9 && come.length >= 9 + come.readUIntBE(0, 3)) {
        const [type, flags, stream] = [come[3], come[4]!, come.readUInt32BE(5)];
        come = come.subarray(9 + come.readUIntBE(0, 3));
        if (type === 0x4 && (flags & 1) === 0) socket.write(frame(0x4, 1, 0));
        if (type !== 0x1) continue;
        for (const one of answering(stream, socket)) {
          if (one === 'end') socket.end();
          else socket.write(one);
        }
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closeLater(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe('by its frames, an answer', () => {
  test.each<[string, Frames]>([
    ['that ends with its last piece', (id) => [head(id), data(id, END)]],
    ['that ends with an empty piece', (id) => [head(id), data(id, 0), frame(0x0, END, id)]],
    ['with padding', (id) => [head(id), frame(0x0, 0x9, id, Buffer.from('\x03begun\0\0\0', 'latin1'))]],
    ['whose stream is reset when it is whole', (id) => [head(id), data(id, END), reset(id, 0)]],
    ['in one write', (id) => [Buffer.concat([head(id), data(id, END)])]],
    [
      'with a line end in a header, which is left out',
      (id) => [head(id, Buffer.concat([OK, Buffer.from('\0\x03x-a\x03b\r\n', 'latin1')])), data(id, END)],
    ],
    [
      'byte for byte',
      (id) => [...Buffer.concat([head(id), data(id, END)])].map((byte) => Buffer.from([byte])),
    ],
  ])('%s is whole', async (_, frames) => {
    const by = transport();
    const port = await frameSupplier(frames);
    for (let n = 0; n < 3; n += 1)
      expect(await call(by, to(port)).outcome).toMatchObject({
        status: 200,
        text: 'begun',
        headers: {},
        ends: 1,
      });
  });

  test('with trailers is whole where they come later', async () => {
    const trailers = (id: number): Buffer => frame(0x1, 0x5, id, Buffer.from('\0\x01a\x01b', 'latin1'));
    const seen = Promise.withResolvers<void>();
    const port = await frameSupplier((id, socket) => {
      void seen.promise.then(() => socket.write(trailers(id)));
      return [head(id), data(id, 0)];
    });
    const { outcome } = call(transport(), to(port), { onData: () => seen.resolve() });
    expect(await outcome).toMatchObject({ status: 200, text: 'begun', ends: 1 });
  });

  test.each<[string, Frames]>([
    ['whose stream is reset without an error', (id) => [head(id), data(id, 0), reset(id, 0)]],
    ['whose stream is cancelled', (id) => [head(id), data(id, 0), reset(id, 8)]],
    ['whose stream is reset with an error', (id) => [head(id), data(id, 0), reset(id, 2)]],
    [
      'that is left with a farewell',
      (id) => [head(id), data(id, 0), frame(0x7, 0, 0, Buffer.concat([number(id), number(0)])), 'end'],
    ],
    ['that ends with its connection', (id) => [head(id), data(id, 0), 'end']],
    ['of no content, with some', (id) => [head(id, NO_CONTENT), data(id, END)]],
    [
      'with trailers at once, before which undici loses it',
      (id) => [head(id), data(id, 0), frame(0x1, 0x5, id, Buffer.from('\0\x01a\x01b', 'latin1'))],
    ],
    ['on a stream of its own', (id) => [head(id + 2), data(id + 2, END)]],
    ['that is no frame', () => [Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), 'end']],
    [
      'with a name in capitals',
      (id) => [head(id, Buffer.concat([OK, Buffer.from('\0\x03X-A\x01b', 'latin1')])), data(id, END)],
    ],
    [
      'with a connection header',
      (id) => [
        head(id, Buffer.concat([OK, Buffer.from('\0\x0aconnection\x05close', 'latin1')])),
        data(id, END),
      ],
    ],
    ['without a status', (id) => [head(id, Buffer.from('\0\x03x-a\x01b', 'latin1')), data(id, END)]],
  ])('%s is broken', async (_, frames) => {
    const { outcome } = call(transport(), to(await frameSupplier(frames), { firstByteMs: 2_000 }));
    expect(await outcome).toMatchObject({ error: expect.any(Error) as Error, ends: 1 });
  });
});
