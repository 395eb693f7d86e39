import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { WireTransport } from '../../../../../src/platform/supplier-http';
import {
  answer,
  type RawSupplierRequest,
  call,
  closeEverything,
  get,
  listen,
  ok,
  openPools,
  testIfDirect,
} from './raw-supplier';

afterEach(closeEverything);

/** Returns the connection number of each request. */
const connectionsOf = (asked: readonly RawSupplierRequest[]): number[] =>
  asked.map(({ connection }) => connection);

describe('Unsolicited response', () => {
  const strayResponse = ok('stray');

  test('is discarded when it arrives with the previous response', async () => {
    const { port, asked, sockets } = await answer(({ socket }, nth) =>
      socket.write(ok(`answer ${nth}`) + (nth === 1 ? strayResponse : '')),
    );
    const pools = openPools();
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 1' });
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
    if (!sockets[0]!.closed) await once(sockets[0]!, 'close');
  });

  test('is discarded when it begins exactly where a read ended', async () => {
    const fullRead = 'a'.repeat(16 * 1024);
    const text = fullRead.slice(ok(fullRead).length - fullRead.length);
    expect(ok(text)).toHaveLength(16 * 1024);
    const { port, asked } = await answer(({ socket }, nth) =>
      socket.write(ok(nth === 1 ? text : 'mine') + (nth === 1 ? strayResponse : '')),
    );
    const pools = openPools({ supplierConnections: 1 });
    const calls = [call(pools, get(port)), call(pools, get(port))];
    expect(await calls[0]!.outcome).toMatchObject({ status: 200, text });
    expect(await calls[1]!.outcome).toMatchObject({ status: 200, text: 'mine' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  test('is discarded when it arrives later', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools();
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 1' });
    const closed = once(asked[0]!.socket, 'close');
    asked[0]!.socket.write(strayResponse);
    await closed;
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  testIfDirect()('is discarded when it has arrived but was not read yet', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools();
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 1' });
    asked[0]!.socket.write(strayResponse);
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  testIfDirect()('is discarded when it arrived on an idle connection that was not used', async () => {
    const bothRequests: RawSupplierRequest[] = [];
    const { port } = await answer((one, nth) => {
      if (nth > 2) return void one.socket.write(ok(`answer ${nth}`));
      if (bothRequests.push(one) === 2) for (const { socket } of bothRequests) socket.write(ok('ok'));
    });
    const pools = openPools();
    await Promise.all([call(pools, get(port)).outcome, call(pools, get(port)).outcome]);
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 3' });
    for (const { socket } of bothRequests) socket.write(strayResponse);
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 4' });
  });

  test('is discarded when it arrived while the previous reader was paused', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools({ supplierConnections: 1 });
    const firstCall = call(pools, get(port), { onData: () => firstCall.call.pause() });
    await firstCall.begun;
    const secondCall = call(pools, get(port));
    asked[0]!.socket.write(strayResponse);
    // Another supplier's response arrives after the stray one, so the readers resume once it has been received.
    const otherSupplier = await answer(({ socket }) => socket.write(ok('other')));
    expect(await call(pools, get(otherSupplier.port)).outcome).toMatchObject({ text: 'other' });
    firstCall.call.resume();
    expect(await firstCall.outcome).toMatchObject({ text: 'answer 1' });
    expect(await secondCall.outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });
});

describe('Connection rest after a response', () => {
  test('gives an urgent call another connection', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools({ supplierRestMs: 5_000 });
    for (const nth of [1, 2, 3])
      expect(await call(pools, get(port)).outcome).toMatchObject({ text: `answer ${nth}` });
    expect(connectionsOf(asked)).toEqual([1, 2, 3]);
  });

  test('is awaited when the connection limit is reached', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools({ supplierRestMs: 3, supplierConnections: 1 });
    const start = performance.now();
    await call(pools, get(port)).outcome;
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 2' });
    expect(performance.now() - start).toBeGreaterThan(55);
    expect(connectionsOf(asked)).toEqual([1, 1]);
  });

  test.each([
    ['an answer that nobody asked for has each call come over one of its own', ok('stray'), [1, 2, 3]],
    [
      'the notice of a server that waited too long changes nothing',
      'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n',
      [1, 2, 2],
    ],
  ])('rest of a connection: %s', async (_what, stray, expected) => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools();
    await call(pools, get(port)).outcome;
    const closed = once(asked[0]!.socket, 'close');
    asked[0]!.socket.write(stray);
    await closed;
    await call(pools, get(port)).outcome;
    await call(pools, get(port)).outcome;
    expect(connectionsOf(asked)).toEqual(expected);
  });
});

describe('Connection reuse', () => {
  test('is avoided when the supplier has closed the connection', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools();
    await call(pools, get(port)).outcome;
    const closed = once(asked[0]!.socket, 'close');
    asked[0]!.socket.end();
    await closed;
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  test.each([
    ['says so', 'connection: close\r\n'],
    ['would close it soon', 'keep-alive: timeout=2\r\n'],
  ])('is avoided when the supplier %s, and the connection is closed immediately', async (_, header) => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`, header)));
    const pools = openPools();
    for (const nth of [1, 2]) {
      expect(await call(pools, get(port)).outcome).toMatchObject({ text: `answer ${nth}` });
      if (!asked[nth - 1]!.socket.closed) await once(asked[nth - 1]!.socket, 'close');
    }
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  test("is avoided after the supplier's keep-alive time, and the connection is closed before that", async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('ok', 'keep-alive: timeout=3\r\n')));
    const pools = openPools();
    await call(pools, get(port)).outcome;
    await call(pools, get(port)).outcome;
    const [{ socket }, start] = [asked[0]!, performance.now()];
    await once(socket, 'close');
    expect(performance.now() - start).toBeLessThan(2_900);
    await call(pools, get(port)).outcome;
    expect(connectionsOf(asked)).toEqual([1, 1, 2]);
  });

  test('is avoided after an aborted call', async () => {
    const { port, asked } = await answer(({ socket }, nth) => {
      if (nth > 1) socket.write(ok('ok'));
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun');
    });
    const pools = openPools();
    const firstCall = call(pools, get(port));
    await firstCall.begun;
    const closed = once(asked[0]!.socket, 'close');
    firstCall.call.abort(new Error('enough'));
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'ok' });
    await closed;
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  test('is avoided when the response arrived before the request was read', async () => {
    const tooLargeResponse = 'HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n';
    const supplier = await listen((socket, connection) => {
      // Reads only the head and what arrives with it.
      socket.once('data', () => {
        socket.pause();
        socket.write(connection === 1 ? tooLargeResponse : ok('ok'));
      });
    });
    const pools = openPools();
    const body = Buffer.alloc(32 * 1024 * 1024, 'x');
    const post = get(supplier.port, { method: 'POST', body });
    expect(await call(pools, post).outcome).toMatchObject({ status: 413, text: '' });
    expect(await call(pools, get(supplier.port)).outcome).toMatchObject({ status: 200, text: 'ok' });
    expect(supplier.sockets.length).toBe(2);
  });
});

test('most recently used connection is reused first', async () => {
  const waitingRequests: RawSupplierRequest[] = [];
  const bothArrived = Promise.withResolvers<void>();
  const { port, asked } = await answer((one, nth) => {
    if (nth > 2) return void one.socket.write(ok('ok'));
    waitingRequests.push(one);
    if (nth === 2) bothArrived.resolve();
  });
  const pools = openPools();
  const calls = [call(pools, get(port)), call(pools, get(port))];
  await bothArrived.promise;
  // The first connection opened is the last to become idle.
  const [last, first] = waitingRequests.sort((left, right) => left.connection - right.connection);
  first!.socket.write(ok('ok'));
  await Promise.race(calls.map(({ outcome }) => outcome));
  last!.socket.write(ok('ok'));
  await Promise.all(calls.map(({ outcome }) => outcome));
  for (let n = 0; n < 4; n++) await call(pools, get(port)).outcome;
  expect(connectionsOf(asked.slice(2))).toEqual([1, 1, 1, 1]);
});

describe('Calls aborted while waiting', () => {
  testIfDirect()('are removed from the queue and not sent', async () => {
    const arrived = Promise.withResolvers<RawSupplierRequest>();
    const { port, asked } = await answer((one, nth) => {
      if (nth === 1) arrived.resolve(one);
      else one.socket.write(ok('ok'));
    });
    const pools = openPools({ supplierConnections: 1 });
    const firstCall = call(pools, get(port));
    const { socket } = await arrived.promise;
    for (let n = 0; n < 1_000; n++) call(pools, get(port)).call.abort(new Error('enough'));
    const pool = (pools as WireTransport)['origins'].get(`http://127.0.0.1:${port}`)!.pool;
    await nextRound();
    // Two turns of the event loop are enough to remove them.
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    expect(pool['waiting'].length).toBeLessThan(10);
    const lastCall = call(pools, get(port));
    socket.write(ok('ok'));
    await Promise.all([firstCall.outcome, lastCall.outcome]);
    expect(connectionsOf(asked)).toEqual([1, 1]);
    expect(pool['waiting']).toEqual([]);
  });

  test('open no connections', async () => {
    const { port, sockets } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools();
    for (let n = 0; n < 3; n++) call(pools, get(port)).call.abort(new Error('enough'));
    for (let n = 0; n < 3; n++) expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'ok' });
    expect(sockets.length).toBe(1);
  });
});

testIfDirect().each([1, 2, 3])(
  'every waiting call fails when none of %d connections can be established',
  async (most) => {
    const closedServer = createServer().listen(0, '127.0.0.1');
    await once(closedServer, 'listening');
    const { port } = closedServer.address() as AddressInfo;
    closedServer.close();
    await once(closedServer, 'close');
    const pools = openPools({ supplierConnections: most });
    const calls = Array.from({ length: 2 * most }, () => call(pools, get(port)));
    for (const { call, outcome } of calls) {
      expect(await outcome).toMatchObject({ error: { code: 'ECONNREFUSED' }, ends: 1 });
      expect(call.hasStarted).toBe(false);
    }
  },
);

describe('Transport shutdown', () => {
  const partialResponse = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun';

  test('ends open and waiting calls once and closes their connections', async () => {
    const { port, asked, sockets } = await answer(({ socket }, nth) =>
      socket.write(nth === 1 ? ok('ok') : partialResponse),
    );
    const pools = openPools({ supplierConnections: 2 });
    await call(pools, get(port)).outcome;
    const openCalls = [call(pools, get(port)), call(pools, get(port))];
    await Promise.all(openCalls.map(({ begun }) => begun));
    const waitingCall = call(pools, get(port));
    const closing = sockets.map((socket) => once(socket, 'close'));
    expect(closing).toHaveLength(2);
    pools.close();
    for (const { outcome } of [...openCalls, waitingCall])
      expect(await outcome).toMatchObject({ error: expect.any(Error), ends: 1 });
    expect(waitingCall.call.hasStarted).toBe(false);
    await Promise.all(closing);
    expect(asked).toHaveLength(3);
  });

  test('closes idle connections', async () => {
    const { port, sockets } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools();
    await call(pools, get(port)).outcome;
    const closing = once(sockets[0]!, 'close');
    pools.close();
    await closing;
  });

  test('ends calls that are made when another one is ended by the shutdown', async () => {
    const { port } = await answer(({ socket }) => socket.write(partialResponse));
    const pools = openPools({ supplierFirstByteTimeoutMs: 20_000 });
    const retriedCall = Promise.withResolvers<ReturnType<typeof call>>();
    const retryRequest = get(port);
    const firstCall = call(pools, retryRequest, {
      onBroken: () => retriedCall.resolve(call(pools, retryRequest)),
    });
    await firstCall.begun;
    pools.close();
    const { error } = await (await retriedCall.promise).outcome;
    expect(error).toMatchObject({ message: 'the connections to suppliers are closed' });
  });
});
