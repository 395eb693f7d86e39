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
  wherePlain,
} from './raw-supplier';

afterEach(closeEverything);

const sent = Buffer.from(
  Uint8Array.from({ length: 1024 * 1024 + 7 }, (_, at) => (at * 31 + (at >> 8)) % 256),
);

function inChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  // Sizes on both sides of what one read takes.
  for (let from = 0, size = 1; from < bytes.length; from += size, size = (size * 7 + 3) % 40_000) {
    const data = bytes.subarray(from, from + size);
    parts.push(Buffer.from(`${data.length.toString(16)};n=${size}\r\n`), data, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\nx-after: all\r\n\r\n')]);
}

/** Something else comes and goes meanwhile, so that whatever could have been told has been told. */
async function meanwhile({ port }: RawSupplier): Promise<void> {
  await call(openPools(), get(port)).outcome;
  await nextRound();
  await nextRound();
}

const wholeAnswers: [string, string][] = [
  ['with a length', ok('begun')],
  ['in chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n0\r\n\r\n'],
];

describe('a pause', () => {
  test.each(wholeAnswers)('holds back the end of an answer that is there already (%s)', async (_, bytes) => {
    const supplier = await answer(({ socket }) => socket.write(bytes));
    const pools = openPools();
    const heard: string[] = [];
    const paused = call(pools, get(supplier.port), {
      onData: () => (heard.push('data'), paused.call.pause()),
      onEnd: () => heard.push('end'),
    });
    await paused.begun;
    await meanwhile(supplier);
    expect(heard).toEqual(['data']);
    paused.call.resume();
    expect(await paused.outcome).toMatchObject({ status: 200, text: 'begun', ends: 1 });
    await call(pools, get(supplier.port)).outcome;
    expect(supplier.asked.map(({ connection }) => connection)).toEqual([1, 2, 1]);
  });

  wherePlain()('holds back an end that comes by closing', async () => {
    const supplier = await answer(({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\nbegun'));
    const paused = call(openPools(), get(supplier.port), { onData: () => paused.call.pause() });
    await paused.begun;
    await meanwhile(supplier);
    expect(paused.told.ends).toBe(0);
    paused.call.resume();
    expect((await paused.outcome).error).toBeUndefined();
  });

  test('on the head holds back an answer without a body', async () => {
    const supplier = await answer(({ socket }) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
    const begun = Promise.withResolvers<void>();
    const paused = call(openPools(), get(supplier.port), {
      onHead: () => (paused.call.pause(), begun.resolve()),
    });
    await begun.promise;
    await meanwhile(supplier);
    expect(paused.told.ends).toBe(0);
    paused.call.resume();
    expect(await paused.outcome).toMatchObject({ status: 204 });
  });

  test('that is over at once changes nothing', async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('begun')));
    const pools = openPools();
    const request = get(port);
    for (let n = 0; n < 2; n++) {
      const made = call(pools, request, { onData: () => (made.call.pause(), made.call.resume()) });
      expect(await made.outcome).toMatchObject({ text: 'begun' });
    }
    expect(asked.map(({ connection }) => connection)).toEqual([1, 1]);
  });

  test('before there is a connection holds as well', async () => {
    const supplier = await answer(({ socket }) => socket.write(ok('begun')));
    const paused = call(openPools(), get(supplier.port));
    paused.call.pause();
    await meanwhile(supplier);
    expect(paused.told.ends).toBe(0);
    paused.call.resume();
    expect(await paused.outcome).toMatchObject({ text: 'begun' });
  });

  test('may end by abortion', async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('begun')));
    const paused = call(openPools(), get(port), { onData: () => paused.call.pause() });
    await paused.begun;
    const closed = once(asked[0]!.socket, 'close');
    paused.call.abort(new Error('enough'));
    paused.call.resume();
    expect(await paused.outcome).toMatchObject({ error: { message: 'enough' } });
    await closed;
  });

  wherePlain()('of an answer that is there outlives the supplier', async () => {
    const { port, asked } = await answer(({ socket }) => socket.write(ok('begun')));
    const paused = call(openPools(), get(port), { onData: () => paused.call.pause() });
    await paused.begun;
    asked[0]!.socket.resetAndDestroy();
    await nextRound();
    await nextRound();
    paused.call.resume();
    expect(await paused.outcome).toMatchObject({ status: 200, text: 'begun' });
  });
});

describe('the deadline for silence', () => {
  const idleMs = 400;

  test.each([
    ['that is not whole', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun', ', and'],
    ['that is whole', ok('begun'), ''],
  ])('does not run while the reader of an answer %s has paused', async (_, bytes, rest) => {
    const { port, asked } = await answer(({ socket }) => socket.write(bytes));
    const paused = call(openPools(), get(port, { idleMs }), {
      onData: (piece) => piece.toString() === 'begun' && paused.call.pause(),
    });
    await paused.begun;
    await new Promise((resolve) => setTimeout(resolve, 2 * idleMs));
    expect(paused.told.ends).toBe(0);
    // It begins anew with the end of the pause.
    paused.call.resume();
    if (rest === '') return void expect(await paused.outcome).toMatchObject({ text: 'begun' });
    asked[0]!.socket.write('1234');
    expect(await paused.outcome).toMatchObject({ text: 'begun1234' });
  });

  test('runs when the pause is over', async () => {
    const { port } = await answer(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun'),
    );
    const paused = call(openPools(), get(port, { idleMs }), { onData: () => paused.call.pause() });
    await paused.begun;
    await new Promise((resolve) => setTimeout(resolve, 2 * idleMs));
    const start = performance.now();
    paused.call.resume();
    expect(await paused.outcome).toMatchObject({ text: 'begun', error: { code: 'SUPPLIER_DEADLINE' } });
    expect(performance.now() - start).toBeGreaterThan(idleMs - 2);
  });

  test('and the one for everything runs even during a pause', async () => {
    const { port } = await answer(({ socket }) => socket.write(ok('begun')));
    const paused = call(openPools(), get(port, { totalMs: 60 }), { onData: () => paused.call.pause() });
    expect(await paused.outcome).toMatchObject({ error: { code: 'SUPPLIER_DEADLINE' } });
  });
});

wherePlain().each([
  [
    'with a length',
    Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${sent.length}\r\n\r\n`), sent]),
  ],
  [
    'in chunks',
    Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'), inChunks(sent)]),
  ],
  ['until the connection closes', Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), sent])],
])('a large answer %s arrives whole, with a pause after every piece', async (framing, bytes) => {
  const { port, asked } = await answer(({ socket }) =>
    framing.startsWith('until') ? socket.end(bytes) : socket.write(bytes),
  );
  const pools = openPools();
  for (let n = 0; n < 2; n++) {
    let toldInPause = 0;
    const made = call(pools, get(port), {
      onData: ({ length }) => {
        // One read may bring several pieces; the pause begins with the next.
        toldInPause += length;
        expect(toldInPause).toBeLessThanOrEqual(16 * 1024);
        if (toldInPause > length) return;
        made.call.pause();
        setImmediate(() => {
          toldInPause = 0;
          made.call.resume();
        });
      },
    });
    const { body, error } = await made.outcome;
    expect(error).toBeUndefined();
    expect(body.equals(sent)).toBe(true);
  }
  expect(asked.map(({ connection }) => connection)).toEqual(framing.startsWith('until') ? [1, 2] : [1, 1]);
});

test.each(['idleMs', 'firstByteMs'] as const)(
  'where we were busy for longer than %s, what has come meanwhile counts as having come in time',
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
      const heard = await outcome;
      // Where the machine stood still before the answer was written, it came too late indeed.
      if (wroteMs - startMs > limit / 2 && attempts < 10) continue;
      return void expect(heard).toMatchObject({ status: 200, text: 'begun', ends: 1 });
    }
  },
);
