import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { cuts } from '../../../../support/broken-answers';
import {
  answer,
  type Asked,
  call,
  closeEverything,
  get,
  listen,
  ok,
  openPools,
  wherePlain,
} from './raw-supplier';

afterEach(closeEverything);

const sized = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun';
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n';
const untilClose = 'HTTP/1.1 200 OK\r\n\r\nbegun';

describe('when the supplier closes', () => {
  test.each(cuts)('%s, the call breaks off once', async (_, bytes) => {
    const { port } = await answer(({ socket }) => socket.end(bytes));
    const { call: made, outcome, told } = call(openPools(), get(port));
    expect(await outcome).toMatchObject({ error: { code: 'SUPPLIER_CLOSED' } });
    expect(made.hasStarted).toBe(true);
    expect(bytes.includes('begun') ? told.text : 'begun').toMatch(/^begun/);
  });

  wherePlain()(
    'an answer that ends by that is whole, and the next one comes over another connection',
    async () => {
      const { port, asked } = await answer(({ socket }) => socket.end(untilClose));
      const pools = openPools();
      for (let n = 0; n < 2; n++) {
        const { error, ...told } = await call(pools, get(port)).outcome;
        expect(error).toBeUndefined();
        expect(told).toMatchObject({ status: 200, text: 'begun', ends: 1 });
      }
      expect(asked.map(({ connection }) => connection)).toEqual([1, 2]);
    },
  );

  test('others that wait go on over another connection', async () => {
    const { port } = await answer(({ socket }, nth) => (nth === 1 ? socket.end() : socket.write(ok('ok'))));
    const pools = openPools({ supplierConnections: 1 });
    const calls = [call(pools, get(port)), call(pools, get(port))];
    expect(await calls[0]!.outcome).toMatchObject({ error: { code: 'SUPPLIER_CLOSED' } });
    expect(await calls[1]!.outcome).toMatchObject({ status: 200, text: 'ok' });
  });
});

describe('when the supplier resets the connection', () => {
  wherePlain()('before it says a word, the call breaks off once', async () => {
    const { port } = await answer(({ socket }) => socket.resetAndDestroy());
    expect(await call(openPools(), get(port)).outcome).toMatchObject({ error: { code: 'ECONNRESET' } });
  });

  wherePlain().each([
    ['a body', sized],
    ['a chunked body', chunked],
    ['a body that ends when the connection closes', untilClose],
  ])('in the middle of %s, the call breaks off once', async (_, bytes) => {
    const { port, asked } = await answer(({ socket }) => socket.write(bytes));
    const { begun, outcome } = call(openPools(), get(port));
    await begun;
    asked[0]!.socket.resetAndDestroy();
    expect(await outcome).toMatchObject({ text: 'begun', error: { code: 'ECONNRESET' } });
  });

  wherePlain()('and nobody uses it, nobody notices', async () => {
    const { port, asked } = await answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));
    const pools = openPools();
    await call(pools, get(port)).outcome;
    const closed = once(asked[0]!.socket, 'close');
    asked[0]!.socket.resetAndDestroy();
    await closed;
    // Between these two everything that has come is read.
    await setImmediate();
    await setImmediate();
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 2' });
  });
});

describe('a broken answer', () => {
  test.each([
    ['that is none', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
    ['with a broken header', 'HTTP/1.1 200 OK\r\nx a: b\r\n\r\n'],
    ['with a broken length', 'HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\n'],
    ['with a broken chunk', `${chunked}nine\r\n`],
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

  test('is what somebody says who speaks before being asked; nobody calls there again and again', async () => {
    const { port, sockets } = await listen((socket) => socket.write('220 mail.example ESMTP\r\n\r\n'));
    const pools = openPools({ supplierFirstByteTimeoutMs: 20_000 });
    expect(await call(pools, get(port)).outcome).toMatchObject({ error: { code: 'SUPPLIER_BROKEN_ANSWER' } });
    expect(sockets.length).toBe(1);
  });
});

describe('whoever ends a call while it is told of something', () => {
  test.each(['onHead', 'onData'] as const)('hears nothing more (%s)', async (moment) => {
    const there = Promise.withResolvers<Asked>();
    const { port } = await answer((one, nth) => {
      if (nth === 1) there.resolve(one);
      one.socket.write(ok(`answer ${nth}`));
    });
    const pools = openPools();
    const heard: string[] = [];
    const stop = (): void => first.call.abort(new Error('enough'));
    const first = call(pools, get(port), {
      onHead: () => (heard.push('onHead'), moment === 'onHead' && stop()),
      onData: () => (heard.push('onData'), moment === 'onData' && stop()),
      onEnd: () => heard.push('onEnd'),
      onBroken: () => heard.push('onBroken'),
    });
    const { socket } = await there.promise;
    expect(await first.outcome).toMatchObject({ error: { message: 'enough' } });
    if (!socket.closed) await once(socket, 'close');
    expect(await call(pools, get(port)).outcome).toMatchObject({ text: 'answer 2' });
    expect(heard).toEqual(moment === 'onHead' ? ['onHead', 'onBroken'] : ['onHead', 'onData', 'onBroken']);
  });
});
