import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { WireTransport } from '../../../../../src/platform/supplier-http';
import {
  answer,
  type Asked,
  call,
  closeEverything,
  get,
  listen,
  ok,
  openPools,
  whereDirect,
} from './raw-supplier';

afterEach(closeEverything);

/** Each of the calls came over one of these connections. */
const connectionsOf = (asked: readonly Asked[]): number[] => asked.map(({ connection }) => connection);

describe('an answer that nobody asked for is never taken for the next one', () => {
  const stray = ok('stray');

  test('when it comes with the one before', async () => {
    const { port, asked, sockets } = await answer(({ socket }, nth) =>
      socket.write(ok(`answer ${nth}`) + (nth === 1 ? stray : '')),
    );
    const pools = openPools();
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 1' });
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
    if (!sockets[0]!.closed) await once(sockets[0]!, 'close');
  });

  test('when it begins where a read has ended', async () => {
    const most = 'a'.repeat(16 * 1024);
    const text = most.slice(ok(most).length - most.length);
    expect(ok(text)).toHaveLength(16 * 1024);
    const { port, asked } = await answer(({ socket }, nth) =>
      socket.write(ok(nth === 1 ? text : 'mine') + (nth === 1 ? stray : '')),
    );
    const pools = openPools({ supplierConnections: 1 });
    const calls = [call(pools, get(port)), call(pools, get(port))];
    expect(await calls[0]!.outcome).toMatchObject({ status: 200, text });
    expect(await calls[1]!.outcome).toMatchObject({ status: 200, text: 'mine' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  test('when it comes later', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools();
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 1' });
    const closed = once(asked[0]!.socket, 'close');
    asked[0]!.socket.write(stray);
    await closed;
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  whereDirect()('when it has come but nobody has had the time to read it', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools();
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 1' });
    asked[0]!.socket.write(stray);
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  whereDirect()('when it has come on a connection that others have passed over', async () => {
    const both: Asked[] = [];
    const { port } = await answer((one, nth) => {
      if (nth > 2) return void one.socket.write(ok(`answer ${nth}`));
      if (both.push(one) === 2) for (const { socket } of both) socket.write(ok('ok'));
    });
    const pools = openPools();
    await Promise.all([call(pools, get(port)).outcome, call(pools, get(port)).outcome]);
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 3' });
    for (const { socket } of both) socket.write(stray);
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'answer 4' });
  });

  test('when it has come while the reader of the one before had paused', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools({ supplierConnections: 1 });
    const first = call(pools, get(port), { onData: () => first.call.pause() });
    await first.begun;
    const second = call(pools, get(port));
    asked[0]!.socket.write(stray);
    // Another supplier's answer comes later than the stray one, and readers go on when something has come.
    const other = await answer(({ socket }) => socket.write(ok('other')));
    expect(await call(pools, get(other.port)).outcome).toMatchObject({ text: 'other' });
    first.call.resume();
    expect(await first.outcome).toMatchObject({ text: 'answer 1' });
    expect(await second.outcome).toMatchObject({ status: 200, text: 'answer 2' });
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });
});

describe('a connection rests after an answer', () => {
  test('and a call that cannot wait gets another one', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools({ supplierRestMs: 5_000 });
    for (const nth of [1, 2, 3])
      expect(await call(pools, get(port)).outcome).toMatchObject({ text: `answer ${nth}` });
    expect(connectionsOf(asked)).toEqual([1, 2, 3]);
  });

  test('and is waited for where no more may be opened', async () => {
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
  ])('%s', async (_what, stray, expected) => {
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

describe('a connection is not used again', () => {
  test('when the supplier has closed it meanwhile', async () => {
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
  ])('when the supplier %s; it is closed at once', async (_, header) => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`, header)));
    const pools = openPools();
    for (const nth of [1, 2]) {
      expect(await call(pools, get(port)).outcome).toMatchObject({ text: `answer ${nth}` });
      if (!asked[nth - 1]!.socket.closed) await once(asked[nth - 1]!.socket, 'close');
    }
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  test('when the time is over for which the supplier keeps it, and is closed before that', async () => {
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

  test('when the call on it was aborted', async () => {
    const { port, asked } = await answer(({ socket }, nth) => {
      if (nth > 1) socket.write(ok('ok'));
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun');
    });
    const pools = openPools();
    const first = call(pools, get(port));
    await first.begun;
    const closed = once(asked[0]!.socket, 'close');
    first.call.abort(new Error('enough'));
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'ok' });
    await closed;
    expect(connectionsOf(asked)).toEqual([1, 2]);
  });

  test('when the answer came before the question was taken', async () => {
    const tooLarge = 'HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n';
    const supplier = await listen((socket, connection) => {
      // Takes no more than the head, and what came with it.
      socket.once('data', () => {
        socket.pause();
        socket.write(connection === 1 ? tooLarge : ok('ok'));
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

test('the connection that was used last is used first', async () => {
  const waiting: Asked[] = [];
  const both = Promise.withResolvers<void>();
  const { port, asked } = await answer((one, nth) => {
    if (nth > 2) return void one.socket.write(ok('ok'));
    waiting.push(one);
    if (nth === 2) both.resolve();
  });
  const pools = openPools();
  const calls = [call(pools, get(port)), call(pools, get(port))];
  await both.promise;
  // The first to be opened is the last to be free.
  const [last, first] = waiting.sort((left, right) => left.connection - right.connection);
  first!.socket.write(ok('ok'));
  await Promise.race(calls.map(({ outcome }) => outcome));
  last!.socket.write(ok('ok'));
  await Promise.all(calls.map(({ outcome }) => outcome));
  for (let n = 0; n < 4; n++) await call(pools, get(port)).outcome;
  expect(connectionsOf(asked.slice(2))).toEqual([1, 1, 1, 1]);
});

describe('calls that are aborted while they wait', () => {
  whereDirect()('do not pile up, and are not sent', async () => {
    const there = Promise.withResolvers<Asked>();
    const { port, asked } = await answer((one, nth) => {
      if (nth === 1) there.resolve(one);
      else one.socket.write(ok('ok'));
    });
    const pools = openPools({ supplierConnections: 1 });
    const first = call(pools, get(port));
    const { socket } = await there.promise;
    for (let n = 0; n < 1_000; n++) call(pools, get(port)).call.abort(new Error('enough'));
    const pool = (pools as WireTransport)['origins'].get(`http://127.0.0.1:${port}`)!.pool;
    await nextRound();
    // Two turns of the event loop, and they are forgotten.
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    expect(pool['waiting'].length).toBeLessThan(10);
    const last = call(pools, get(port));
    socket.write(ok('ok'));
    await Promise.all([first.outcome, last.outcome]);
    expect(connectionsOf(asked)).toEqual([1, 1]);
    expect(pool['waiting']).toEqual([]);
  });

  test('have no connections opened for them', async () => {
    const { port, sockets } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools();
    for (let n = 0; n < 3; n++) call(pools, get(port)).call.abort(new Error('enough'));
    for (let n = 0; n < 3; n++) expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'ok' });
    expect(sockets.length).toBe(1);
  });
});

whereDirect().each([1, 2, 3])(
  'every call that waits hears that none of %d connections can be made',
  async (most) => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const pools = openPools({ supplierConnections: most });
    const calls = Array.from({ length: 2 * most }, () => call(pools, get(port)));
    for (const { call, outcome } of calls) {
      expect(await outcome).toMatchObject({ error: { code: 'ECONNREFUSED' }, ends: 1 });
      expect(call.hasStarted).toBe(false);
    }
  },
);

describe('when everything is closed', () => {
  const begun = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun';

  test('calls that are open and calls that wait end once, and the supplier sees connections close', async () => {
    const { port, asked, sockets } = await answer(({ socket }, nth) =>
      socket.write(nth === 1 ? ok('ok') : begun),
    );
    const pools = openPools({ supplierConnections: 2 });
    await call(pools, get(port)).outcome;
    const open = [call(pools, get(port)), call(pools, get(port))];
    await Promise.all(open.map(({ begun }) => begun));
    const waiting = call(pools, get(port));
    const closing = sockets.map((socket) => once(socket, 'close'));
    expect(closing).toHaveLength(2);
    pools.close();
    for (const { outcome } of [...open, waiting])
      expect(await outcome).toMatchObject({ error: expect.any(Error), ends: 1 });
    expect(waiting.call.hasStarted).toBe(false);
    await Promise.all(closing);
    expect(asked).toHaveLength(3);
  });

  test('idle connections close as well', async () => {
    const { port, sockets } = await answer(({ socket }) => socket.write(ok('ok')));
    const pools = openPools();
    await call(pools, get(port)).outcome;
    const closing = once(sockets[0]!, 'close');
    pools.close();
    await closing;
  });

  test('a call that is made because another one ended by that is not left waiting', async () => {
    const { port } = await answer(({ socket }) => socket.write(begun));
    const pools = openPools({ supplierFirstByteTimeoutMs: 20_000 });
    const again = Promise.withResolvers<ReturnType<typeof call>>();
    const retry = get(port);
    const first = call(pools, retry, { onBroken: () => again.resolve(call(pools, retry)) });
    await first.begun;
    pools.close();
    const { error } = await (await again.promise).outcome;
    expect(error).toMatchObject({ message: 'the connections to suppliers are closed' });
  });
});
