import { once } from 'node:events';
import { setImmediate as nextRound } from 'node:timers/promises';
import {
  answer,
  call,
  closeEverything,
  get,
  ok,
  openPools,
  type RawSupplier,
  testIfPlain,
} from './raw-supplier';

afterEach(closeEverything);

const sentBytes = Buffer.from(
  Uint8Array.from({ length: 1024 * 1024 + 7 }, (_, at) => (at * 31 + (at >> 8)) % 256),
);

function encodeChunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  // Chunk sizes below and above the size of one read.
  for (let from = 0, size = 1; from < bytes.length; from += size, size = (size * 7 + 3) % 40_000) {
    const data = bytes.subarray(from, from + size);
    parts.push(Buffer.from(`${data.length.toString(16)};n=${size}\r\n`), data, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\nx-after: all\r\n\r\n')]);
}

/** Completes another call meanwhile, so that every pending event has been delivered. */
async function completeOtherCall({ port }: RawSupplier): Promise<void> {
  await call(openPools(), get(port)).outcome;
  await nextRound();
  await nextRound();
}

const completeResponses: [string, string][] = [
  ['with a length', ok('begun')],
  ['in chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n0\r\n\r\n'],
];

describe('Paused call', () => {
  test.each(completeResponses)(
    'delays the end of a response that has already arrived (%s)',
    async (_, bytes) => {
      const supplier = await answer(({ socket }) => socket.write(bytes));
      const pools = openPools();
      const receivedEvents: string[] = [];
      const pausedCall = call(pools, get(supplier.port), {
        onData: () => (receivedEvents.push('data'), pausedCall.call.pause()),
        onEnd: () => receivedEvents.push('end'),
      });
      await pausedCall.begun;
      await completeOtherCall(supplier);
      expect(receivedEvents).toEqual(['data']);
      pausedCall.call.resume();
      expect(await pausedCall.outcome).toMatchObject({ status: 200, text: 'begun', ends: 1 });
      await call(pools, get(supplier.port)).outcome;
      expect(supplier.asked.map(({ connection }) => connection)).toEqual([1, 2, 1]);
    },
  );

  testIfPlain()('delays the end of a response that ends with the connection', async () => {
    const supplier = await answer(({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\nbegun'));
    const secondCall = call(openPools(), get(supplier.port), { onData: () => secondCall.call.pause() });
    await secondCall.begun;
    await completeOtherCall(supplier);
    expect(secondCall.told.ends).toBe(0);
    secondCall.call.resume();
    expect((await secondCall.outcome).error).toBeUndefined();
  });

  test('delays a response without a body when paused on the head', async () => {
    const supplier = await answer(({ socket }) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
    const headReceived = Promise.withResolvers<void>();
    const pausedCall = call(openPools(), get(supplier.port), {
      onHead: () => (pausedCall.call.pause(), headReceived.resolve()),
    });
    await headReceived.promise;
    await completeOtherCall(supplier);
    expect(pausedCall.told.ends).toBe(0);
    pausedCall.call.resume();
    expect(await pausedCall.outcome).toMatchObject({ status: 204 });
  });

  test('is unaffected when resumed immediately', async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('begun')));
    const pools = openPools();
    const request = get(port);
    for (let n = 0; n < 2; n++) {
      const resumedCall = call(pools, request, {
        onData: () => (resumedCall.call.pause(), resumedCall.call.resume()),
      });
      expect(await resumedCall.outcome).toMatchObject({ text: 'begun' });
    }
    expect(asked.map(({ connection }) => connection)).toEqual([1, 1]);
  });

  test('stays paused if paused before its connection exists', async () => {
    const supplier = await answer(({ socket }) => socket.write(ok('begun')));
    const pausedCall = call(openPools(), get(supplier.port));
    pausedCall.call.pause();
    await completeOtherCall(supplier);
    expect(pausedCall.told.ends).toBe(0);
    pausedCall.call.resume();
    expect(await pausedCall.outcome).toMatchObject({ text: 'begun' });
  });

  test('can be aborted', async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('begun')));
    const pausedCall = call(openPools(), get(port), { onData: () => pausedCall.call.pause() });
    await pausedCall.begun;
    const closed = once(asked[0]!.socket, 'close');
    pausedCall.call.abort(new Error('enough'));
    pausedCall.call.resume();
    expect(await pausedCall.outcome).toMatchObject({ error: { message: 'enough' } });
    await closed;
  });

  testIfPlain()('receives an arrived response even if the supplier resets the connection', async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('begun')));
    const secondCall = call(openPools(), get(port), { onData: () => secondCall.call.pause() });
    await secondCall.begun;
    asked[0]!.socket.resetAndDestroy();
    await nextRound();
    await nextRound();
    secondCall.call.resume();
    expect(await secondCall.outcome).toMatchObject({ status: 200, text: 'begun' });
  });
});

describe('Idle timeout', () => {
  const idleMs = 400;

  test.each([
    ['that is not whole', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun', ', and'],
    ['that is whole', ok('begun'), ''],
  ])('does not run while the reader of a response %s is paused', async (_, bytes, rest) => {
    const { port, asked } = await answer(({ socket }) => socket.write(bytes));
    const pausedCall = call(openPools(), get(port, { idleMs }), {
      onData: (piece) => piece.toString() === 'begun' && pausedCall.call.pause(),
    });
    await pausedCall.begun;
    await new Promise((resolve) => setTimeout(resolve, 2 * idleMs));
    expect(pausedCall.told.ends).toBe(0);
    // The timeout starts again at the end of the pause.
    pausedCall.call.resume();
    if (rest === '') return void expect(await pausedCall.outcome).toMatchObject({ text: 'begun' });
    asked[0]!.socket.write('1234');
    expect(await pausedCall.outcome).toMatchObject({ text: 'begun1234' });
  });

  test('runs after a pause', async () => {
    const { port } = await answer(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun'),
    );
    const pausedCall = call(openPools(), get(port, { idleMs }), { onData: () => pausedCall.call.pause() });
    await pausedCall.begun;
    await new Promise((resolve) => setTimeout(resolve, 2 * idleMs));
    const start = performance.now();
    pausedCall.call.resume();
    expect(await pausedCall.outcome).toMatchObject({ text: 'begun', error: { code: 'SUPPLIER_DEADLINE' } });
    expect(performance.now() - start).toBeGreaterThan(idleMs - 2);
  });

  test('is suspended during a pause while the total timeout runs', async () => {
    const { port } = await answer(({ socket }) => socket.write(ok('begun')));
    const pausedCall = call(openPools(), get(port, { totalMs: 60 }), {
      onData: () => pausedCall.call.pause(),
    });
    expect(await pausedCall.outcome).toMatchObject({ error: { code: 'SUPPLIER_DEADLINE' } });
  });
});

testIfPlain().each([
  [
    'with a length',
    Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${sentBytes.length}\r\n\r\n`), sentBytes]),
  ],
  [
    'in chunks',
    Buffer.concat([
      Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'),
      encodeChunked(sentBytes),
    ]),
  ],
  ['until the connection closes', Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), sentBytes])],
])('large response %s arrives completely with a pause after every piece', async (framing, bytes) => {
  const { port, asked } = await answer(({ socket }) =>
    framing.startsWith('until') ? socket.end(bytes) : socket.write(bytes),
  );
  const pools = openPools();
  for (let n = 0; n < 2; n++) {
    let bytesWhilePaused = 0;
    const pausedCall = call(pools, get(port), {
      onData: ({ length }) => {
        // A read can deliver several pieces; the pause takes effect at the next one.
        bytesWhilePaused += length;
        expect(bytesWhilePaused).toBeLessThanOrEqual(16 * 1024);
        if (bytesWhilePaused > length) return;
        pausedCall.call.pause();
        setImmediate(() => {
          bytesWhilePaused = 0;
          pausedCall.call.resume();
        });
      },
    });
    const { body, error } = await pausedCall.outcome;
    expect(error).toBeUndefined();
    expect(body.equals(sentBytes)).toBe(true);
  }
  expect(asked.map(({ connection }) => connection)).toEqual(framing.startsWith('until') ? [1, 2] : [1, 1]);
});

test.each(['idleMs', 'firstByteMs'] as const)(
  'data received while the process was busy for longer than %s counts as in time',
  async (deadline) => {
    const limit = 200;
    for (let attempts = 1; ; attempts++) {
      let wroteMs = 0;
      const startMs = performance.now();
      const supplier = await answer(({ socket }) => {
        if (deadline === 'idleMs') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nbe');
        setImmediate(() => {
          socket.write(deadline === 'idleMs' ? 'gun' : ok('begun'));
          wroteMs = performance.now();
          while (performance.now() < wroteMs + limit + 20);
        });
      });
      const { outcome } = call(openPools(), get(supplier.port, { [deadline]: limit }));
      const received = await outcome;
      // If the machine stalled before the response was written, the response really was late.
      if (wroteMs - startMs > limit / 2 && attempts < 10) continue;
      return void expect(received).toMatchObject({ status: 200, text: 'begun', ends: 1 });
    }
  },
);
