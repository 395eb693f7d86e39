import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { truncations } from '../../../../support/broken-responses';
import {
  answer,
  type RawSupplierRequest,
  call,
  closeEverything,
  get,
  listen,
  ok,
  openPools,
  testIfPlain,
} from './raw-supplier';

afterEach(closeEverything);

const sizedResponse = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun';
const chunkedResponse = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n';
const responseUntilClose = 'HTTP/1.1 200 OK\r\n\r\nbegun';

describe('Connection closed by the supplier', () => {
  test.each(truncations)('breaks the call once: %s', async (_, bytes) => {
    const { port } = await answer(({ socket }) => socket.end(bytes));
    const { call: brokenCall, outcome, told } = call(openPools(), get(port));
    expect(await outcome).toMatchObject({ error: { code: 'SUPPLIER_CLOSED' } });
    expect(brokenCall.hasStarted).toBe(true);
    expect(bytes.includes('begun') ? told.text : 'begun').toMatch(/^begun/);
  });

  testIfPlain()(
    'response that ends with the connection is complete, and the next call uses another connection',
    async () => {
      const { port, asked } = await answer(({ socket }) => socket.end(responseUntilClose));
      const pools = openPools();
      for (let n = 0; n < 2; n++) {
        const { error, ...told } = await call(pools, get(port)).outcome;
        expect(error).toBeUndefined();
        expect(told).toMatchObject({ status: 200, text: 'begun', ends: 1 });
      }
      expect(asked.map(({ connection }) => connection)).toEqual([1, 2]);
    },
  );

  test('waiting calls continue on another connection', async () => {
    const { port } = await answer(({ socket }, nth) => (nth === 1 ? socket.end() : socket.write(ok('ok'))));
    const pools = openPools({ supplierConnections: 1 });
    const calls = [call(pools, get(port)), call(pools, get(port))];
    expect(await calls[0]!.outcome).toMatchObject({ error: { code: 'SUPPLIER_CLOSED' } });
    expect(await calls[1]!.outcome).toMatchObject({ status: 200, text: 'ok' });
  });
});

describe('Connection reset by the supplier', () => {
  testIfPlain()('breaks the call once before the response starts', async () => {
    const { port } = await answer(({ socket }) => socket.resetAndDestroy());
    expect(await call(openPools(), get(port)).outcome).toMatchObject({ error: { code: 'ECONNRESET' } });
  });

  testIfPlain().each([
    ['a body', sizedResponse],
    ['a chunked body', chunkedResponse],
    ['a body that ends when the connection closes', responseUntilClose],
  ])('breaks the call once in the middle of %s', async (_, bytes) => {
    const { port, asked } = await answer(({ socket }) => socket.write(bytes));
    const { begun, outcome } = call(openPools(), get(port));
    await begun;
    asked[0]!.socket.resetAndDestroy();
    expect(await outcome).toMatchObject({ text: 'begun', error: { code: 'ECONNRESET' } });
  });

  testIfPlain()('is not reported while the connection is idle', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools();
    await call(pools, get(port)).outcome;
    const closed = once(asked[0]!.socket, 'close');
    asked[0]!.socket.resetAndDestroy();
    await closed;
    // Everything that has arrived is read between these two.
    await setImmediate();
    await setImmediate();
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 2' });
  });
});

describe('Malformed response', () => {
  test.each([
    ['that is none', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
    ['with a broken header', 'HTTP/1.1 200 OK\r\nx a: b\r\n\r\n'],
    ['with a broken length', 'HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\n'],
    ['with a broken chunk', `${chunkedResponse}nine\r\n`],
    ['with another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
  ])('%s ends the call once and closes the connection', async (_, bytes) => {
    const closed = Promise.withResolvers<void>();
    const { port, asked } = await answer(({ socket }, nth) => {
      if (nth === 1) socket.on('close', () => closed.resolve());
      socket.write(nth === 1 ? bytes : ok('ok'));
    });
    const pools = openPools();
    expect(await call(pools, get(port)).outcome).toMatchObject({ error: { code: 'SUPPLIER_BROKEN_ANSWER' } });
    await closed.promise;
    expect(await call(pools, get(port)).outcome).toMatchObject({ status: 200, text: 'ok' });
    expect(asked.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  test('supplier that sends before a request is not retried in a loop', async () => {
    const { port, sockets } = await listen((socket) => socket.write('220 mail.example ESMTP\r\n\r\n'));
    const pools = openPools({ supplierFirstByteTimeoutMs: 20_000 });
    expect(await call(pools, get(port)).outcome).toMatchObject({ error: { code: 'SUPPLIER_BROKEN_ANSWER' } });
    expect(sockets.length).toBe(1);
  });
});

describe('Call aborted in its own callback', () => {
  test.each(['onHead', 'onData'] as const)('receives no further events (%s)', async (moment) => {
    const arrived = Promise.withResolvers<RawSupplierRequest>();
    const { port } = await answer((one, nth) => {
      if (nth === 1) arrived.resolve(one);
      one.socket.write(ok(`answer ${nth}`));
    });
    const pools = openPools();
    const receivedEvents: string[] = [];
    const abortCall = (): void => firstCall.call.abort(new Error('enough'));
    const firstCall = call(pools, get(port), {
      onHead: () => (receivedEvents.push('onHead'), moment === 'onHead' && abortCall()),
      onData: () => (receivedEvents.push('onData'), moment === 'onData' && abortCall()),
      onEnd: () => receivedEvents.push('onEnd'),
      onBroken: () => receivedEvents.push('onBroken'),
    });
    const { socket } = await arrived.promise;
    expect(await firstCall.outcome).toMatchObject({ error: { message: 'enough' } });
    if (!socket.closed) await once(socket, 'close');
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 2' });
    expect(receivedEvents).toEqual(
      moment === 'onHead' ? ['onHead', 'onBroken'] : ['onHead', 'onData', 'onBroken'],
    );
  });
});
