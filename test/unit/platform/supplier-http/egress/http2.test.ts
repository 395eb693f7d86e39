import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createOldServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fault } from '../../../../../src/kernel';
import { forwardProxy } from '../../../../support/forward-proxy';
import { call, closeEverything, closeLater } from '../wire/raw-supplier';
import { tls } from './by-proxy';
import { to, transport } from './http2-calls';

afterEach(closeEverything);

type Answering = (stream: ServerHttp2Stream, headers: Record<string, string>, nth: number) => void;

interface Supplier {
  readonly port: number;
  readonly sessions: () => number;
  readonly protocols: string[];
}

async function supplier(answering: Answering, options: object = {}): Promise<Supplier> {
  let [asked, sessions] = [0, 0];
  const protocols: string[] = [];
  const answerOld = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ) => {
    if (request.httpVersion === '2.0') return;
    protocols.push(request.httpVersion);
    response.end('by HTTP/1.1');
  };
  const server =
    'only' in options
      ? createOldServer(tls, answerOld)
      : createSecureServer({ ...tls, allowHTTP1: true, ...options }, answerOld);
  const open = new Set<{ destroy(): void }>();
  server.on('stream', (stream: ServerHttp2Stream, headers: Record<string, string>) => {
    stream.on('error', () => undefined);
    protocols.push('2');
    answering(stream, headers, ++asked);
  });
  server.on('session', (session: ServerHttp2Session) => {
    sessions += 1;
    open.add(session);
    session.on('error', () => undefined);
  });
  server.on('secureConnection', (socket: TLSSocket) => open.add(socket.on('error', () => undefined)));
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closeLater(() => {
    for (const one of open) one.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sessions: () => sessions, protocols };
}

const echo: Answering = (stream, headers) => {
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain', 'x-a': headers['x-a'] ?? '' });
    stream.end(`${headers[':method']} ${headers[':path']} ${Buffer.concat(pieces).length}`);
  });
};

test('calls share a connection, and arrive byte for byte', async () => {
  const { port, sessions } = await supplier(echo);
  const by = transport();
  const body = Buffer.alloc(300_000, 'the ferry leaves at nine ');
  const post = to(port, {
    method: 'POST',
    body,
    headers: { 'X-A': 'b\xe4', connection: 'close', host: 'other.example' },
  });
  const outcomes = await Promise.all(Array.from({ length: 16 }, () => call(by, post).outcome));
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({
      status: 200,
      text: 'POST /v1/x?y=1 300000',
      headers: { 'content-type': 'text/plain' },
    });
  expect(sessions()).toBe(1);
});

test('through a proxy as well', async () => {
  const { port, sessions } = await supplier(echo);
  const proxy = await forwardProxy({ resolve: () => '127.0.0.1' });
  closeLater(() => proxy.close());
  const by = transport({ egressProxy: `http://127.0.0.1:${proxy.port}` });
  for (let n = 0; n < 3; n += 1)
    expect(await call(by, to(port)).outcome).toMatchObject({ status: 200, text: 'GET /v1/x?y=1 0' });
  expect(sessions()).toBe(1);
  expect(proxy.asked).toHaveLength(1);
});

test.each([
  ['a supplier that has none', { only: 'http/1.1' }, {}, undefined],
  ['a supplier that wants none', {}, {}, { http2: false }],
  ['settings that want none', {}, { egressHttp2: false }, undefined],
])('HTTP/1.1 is spoken with %s', async (_, options, egress, terms) => {
  const { port, protocols } = await supplier(echo, options);
  const by = transport(egress);
  const calls = await Promise.all(
    Array.from({ length: 3 }, () => call(by, to(port, { egress: terms })).outcome),
  );
  for (const outcome of calls) expect(outcome).toMatchObject({ status: 200, text: 'by HTTP/1.1' });
  expect(protocols).toEqual(['1.1', '1.1', '1.1']);
});

test('one supplier may want it alone', async () => {
  const { port, protocols } = await supplier(echo);
  await call(transport({ egressHttp2: false }), to(port, { egress: { http2: true } })).outcome;
  expect(protocols).toEqual(['2']);
});

test('a call is asked again before it is sent', async () => {
  const { port, protocols } = await supplier(echo);
  const unwanted = fault('no_providers_available');
  const { call: made, outcome } = call(transport(), to(port, { changedMind: () => unwanted }));
  expect(await outcome).toMatchObject({ error: unwanted });
  expect(made.begun).toBe(false);
  expect(protocols).toEqual([]);
});

describe('an answer is refused', () => {
  const respond = (stream: ServerHttp2Stream, fields: Record<string, string | number>, text = ''): void => {
    stream.respond({ ':status': 200, ...fields });
    stream.end(text);
  };
  test.each<[string, Answering]>([
    ['that is compressed', (stream) => respond(stream, { 'content-encoding': 'gzip' }, 'x')],
    ['that is longer than it says', (stream) => respond(stream, { 'content-length': '2' }, 'abc')],
    ['that is shorter than it says', (stream) => respond(stream, { 'content-length': '9' }, 'abc')],
    ['with a head of 17 KB', (stream) => respond(stream, { 'x-a': 'a'.repeat(17 * 1024) })],
    [
      'that never begins',
      (stream) => {
        for (let n = 0; n < 17; n += 1) stream.additionalHeaders({ ':status': 103 });
        respond(stream, {});
      },
    ],
  ])('%s, and others go on', async (_, broken) => {
    const { port, sessions } = await supplier((stream, headers, nth) =>
      nth === 1 ? broken(stream, headers, nth) : echo(stream, headers, nth),
    );
    const by = transport();
    const { outcome, call: made } = call(by, to(port));
    expect((await outcome).error).toMatchObject({ code: 'SUPPLIER_BROKEN_ANSWER' });
    expect(made.begun).toBe(true);
    expect(await call(by, to(port)).outcome).toMatchObject({ status: 200, text: 'GET /v1/x?y=1 0' });
    expect(sessions()).toBeLessThanOrEqual(2);
  });

  test('but not where up to 16 others come before it', async () => {
    const { port } = await supplier((stream) => {
      for (let n = 0; n < 16; n += 1) stream.additionalHeaders({ ':status': 103 });
      respond(stream, {}, 'ok');
    });
    expect(await call(transport(), to(port)).outcome).toMatchObject({ status: 200, text: 'ok' });
  });
});

describe('a call breaks off once', () => {
  test.each<[string, (stream: ServerHttp2Stream) => void]>([
    ['before its head', (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    [
      'in the middle of an answer',
      (stream) => {
        stream.respond({ ':status': 200, 'content-length': '9' });
        stream.write('begun', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
      },
    ],
    ['with its connection', (stream) => stream.session!.destroy()],
    [
      'with its connection, in the middle of an answer',
      (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('begun', () => stream.session!.socket.destroy());
      },
    ],
  ])('%s', async (_, end) => {
    const { port } = await supplier((stream, headers, nth) =>
      nth === 1 ? end(stream) : echo(stream, headers, nth),
    );
    const by = transport();
    expect((await call(by, to(port)).outcome).error).toBeInstanceOf(Error);
    expect(await call(by, to(port)).outcome).toMatchObject({ status: 200 });
  });

  test('and the supplier that says farewell is asked over another connection', async () => {
    const { port, sessions } = await supplier((stream, headers, nth) => {
      echo(stream, headers, nth);
      if (nth === 1) stream.session!.goaway();
    });
    const by = transport();
    for (let n = 0; n < 3; n += 1) expect(await call(by, to(port)).outcome).toMatchObject({ status: 200 });
    expect(sessions()).toBe(2);
  });

  test.each([
    ['firstByteMs', (): void => undefined],
    [
      'idleMs',
      (stream: ServerHttp2Stream): void => (stream.respond({ ':status': 200 }), void stream.write('begun')),
    ],
    [
      'totalMs',
      (stream: ServerHttp2Stream): void => {
        stream.respond({ ':status': 200 });
        const ticking = setInterval(() => stream.write('.'), 5);
        stream.on('close', () => clearInterval(ticking));
      },
    ],
  ])('where its time is over (%s), and the stream is closed', async (deadline, slow) => {
    const gone = Promise.withResolvers<void>();
    const { port, sessions } = await supplier((stream, headers, nth) => {
      if (nth !== 2) return echo(stream, headers, nth);
      stream.on('close', () => gone.resolve());
      slow(stream);
    });
    const by = transport();
    // The connection is there by then: to make it may take longer than the deadline.
    expect(await call(by, to(port)).outcome).toMatchObject({ status: 200 });
    expect((await call(by, to(port, { [deadline]: 100 })).outcome).error).toMatchObject({
      code: 'SUPPLIER_DEADLINE',
    });
    await gone.promise;
    expect(await call(by, to(port)).outcome).toMatchObject({ status: 200 });
    expect(sessions()).toBe(1);
  });

  test.each(['onHead', 'onData'] as const)(
    'and hears nothing more where it is ended in %s',
    async (moment) => {
      const { port } = await supplier(echo);
      const heard: string[] = [];
      const stop = (what: string): void => {
        heard.push(what);
        if (what === moment) made.call.abort(new Error('enough'));
      };
      const made = call(transport(), to(port), {
        onHead: () => stop('onHead'),
        onData: () => stop('onData'),
      });
      expect(await made.outcome).toMatchObject({ error: { message: 'enough' } });
      expect(heard.at(-1)).toBe(moment);
    },
  );

  test('where everything is closed', async () => {
    const { port } = await supplier(
      (stream) => (stream.respond({ ':status': 200 }), void stream.write('begun')),
    );
    const by = transport();
    const calls = [call(by, to(port)), call(by, to(port))];
    await Promise.all(calls.map(({ begun }) => begun));
    by.close();
    for (const { outcome } of calls)
      expect((await outcome).error?.message).toBe('the connections to suppliers are closed');
  });
});

describe('a pause', () => {
  test('holds back what is to come, and everything arrives', async () => {
    const sent = Buffer.alloc(1024 * 1024, 'the ferry leaves at nine ');
    const { port } = await supplier((stream) => (stream.respond({ ':status': 200 }), stream.end(sent)));
    const paused = call(transport(), to(port), {
      onData: () => {
        paused.call.pause();
        setImmediate(() => paused.call.resume());
      },
    });
    const { body, error } = await paused.outcome;
    expect(error).toBeUndefined();
    expect(body.equals(sent)).toBe(true);
  });

  test('lets a supplier send no more than a window', async () => {
    let written = 0;
    const { port } = await supplier((stream) => {
      stream.respond({ ':status': 200 });
      const more = (): void => {
        while (stream.write(Buffer.alloc(16 * 1024))) written += 16 * 1024;
        stream.once('drain', more);
      };
      more();
    });
    const paused = call(transport(), to(port, { idleMs: 50 }), { onData: () => paused.call.pause() });
    await paused.begun;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(written).toBeLessThan(2 * 1024 * 1024);
    expect(paused.told.ends).toBe(0);
    paused.call.abort(new Error('enough'));
    await paused.outcome;
  });

  test('on the head holds back an answer without a body', async () => {
    const { port } = await supplier((stream) => stream.respond({ ':status': 204 }, { endStream: true }));
    const begun = Promise.withResolvers<void>();
    const by = transport();
    const paused = call(by, to(port), { onHead: () => (paused.call.pause(), begun.resolve()) });
    await begun.promise;
    await call(by, to(port)).outcome;
    expect(paused.told.ends).toBe(0);
    paused.call.resume();
    expect(await paused.outcome).toMatchObject({ status: 204 });
  });
});

test('more calls than a supplier takes at once wait for one another', async () => {
  let [now, most] = [0, 0];
  const { port } = await supplier(
    (stream) => {
      most = Math.max(most, ++now);
      setImmediate(() => {
        now -= 1;
        stream.respond({ ':status': 200 });
        stream.end('ok');
      });
    },
    { settings: { maxConcurrentStreams: 2 } },
  );
  const by = transport();
  const outcomes = await Promise.all(Array.from({ length: 12 }, () => call(by, to(port)).outcome));
  expect(outcomes.filter(({ text }) => text === 'ok')).toHaveLength(12);
  expect(most).toBeLessThanOrEqual(2);
});
