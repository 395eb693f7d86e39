import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { fault } from '../../../../src/kernel';
import {
  AddressGuard,
  AddressRefused,
  type Resolver,
  SupplierDeadline,
  type SupplierHandler,
  type SupplierRequest,
  type SupplierTransport,
} from '../../../../src/platform/supplier-http';
import { closeEverything, openTransport, whereDirect } from './wire/raw-supplier';

const loopback = { address: '127.0.0.0', prefix: 8, family: 'ipv4' as const };
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  await closeEverything();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(listener: RequestListener): Promise<{ port: number; connections: () => number }> {
  const server: Server = createServer(listener);
  let connections = 0;
  server.on('connection', () => connections++);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

const poolsWith = openTransport;

interface Outcome {
  status?: number;
  headers?: Record<string, unknown>;
  text: string;
  error?: Error;
  ends: number;
}

/** Collects what a handler is told; `ends` counts how often it was told the end. */
function collect(pools: SupplierTransport, request: SupplierRequest) {
  const outcome: Outcome = { text: '', ends: 0 };
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const started = Promise.withResolvers<void>();
  const handler: SupplierHandler = {
    onHead: (status, headers) => {
      Object.assign(outcome, { status, headers });
      started.resolve();
    },
    onData: (chunk) => {
      outcome.text += chunk.toString();
    },
    onEnd: () => {
      outcome.ends += 1;
      resolve(outcome);
    },
    onBroken: (error) => {
      outcome.ends += 1;
      outcome.error = error;
      resolve(outcome);
    },
  };
  const call = pools.dispatch(request, handler);
  return { call, outcome: promise, started: started.promise };
}

const get = (port: number, path = '/', extra: Partial<SupplierRequest> = {}): SupplierRequest => ({
  url: new URL(`http://127.0.0.1:${port}${path}`),
  method: 'GET',
  headers: {},
  ...extra,
});

test('an answer arrives as it was sent, over connections that are used again', async () => {
  const { port, connections } = await serve((request, response) => {
    request
      .setEncoding('utf8')
      .on('data', (body) => response.end(`${request.method} ${request.url} ${body}`));
  });
  const pools = poolsWith(new AddressGuard([loopback]));
  for (let n = 0; n < 10; n++) {
    const post = { method: 'POST' as const, body: `n=${n}`, headers: { 'content-type': 'text/plain' } };
    const { call, outcome } = collect(pools, get(port, '/v1/x?y=1', post));
    expect(await outcome).toMatchObject({ status: 200, text: `POST /v1/x?y=1 n=${n}`, ends: 1 });
    expect(call.hasStarted).toBe(true);
  }
  expect(connections()).toBeLessThanOrEqual(2);
});

test('a redirect is an answer, not a way', async () => {
  const visited: string[] = [];
  const { port } = await serve((request, response) => {
    visited.push(request.url ?? '');
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  const { outcome } = collect(poolsWith(new AddressGuard([loopback])), get(port, '/start'));
  expect(await outcome).toMatchObject({ status: 307 });
  expect(visited).toEqual(['/start']);
});

test('what a supplier sends all at once is read in small pieces, and arrives whole', async () => {
  const sent = Buffer.alloc(1024 * 1024, 'the ferry leaves at nine ');
  const { port } = await serve((_, response) => response.end(sent));
  const pieces: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const call = poolsWith(new AddressGuard([loopback])).dispatch(get(port), {
    onData: (piece) => {
      pieces.push(piece);
      call.pause();
      setImmediate(() => call.resume());
    },
    onEnd: () => resolve(),
    onBroken: reject,
  });
  await promise;
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(16 * 1024);
});

test('connections to one address are bounded', async () => {
  const held: (() => void)[] = [];
  const { port, connections } = await serve((_, response) => {
    held.push(() => response.end('x'));
    if (held.length === 2) for (const release of held.splice(0)) release();
  });
  const pools = poolsWith(new AddressGuard([loopback]), { supplierConnections: 2 });
  const outcomes = await Promise.all(Array.from({ length: 4 }, () => collect(pools, get(port)).outcome));
  expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(4);
  expect(connections()).toBe(2);
});

describe('time-outs', () => {
  const silent: RequestListener = () => undefined;
  const stalling: RequestListener = (_, response) => {
    response.write('begun');
  };

  test('a head that does not come', async () => {
    const { port } = await serve(silent);
    const { outcome } = collect(poolsWith(new AddressGuard([loopback])), get(port, '/', { firstByteMs: 50 }));
    expect(await outcome).toMatchObject({ error: { code: 'SUPPLIER_DEADLINE' }, ends: 1 });
  });

  test('a stream that falls silent', async () => {
    const { port } = await serve(stalling);
    const { outcome } = collect(poolsWith(new AddressGuard([loopback])), get(port, '/', { idleMs: 50 }));
    expect(await outcome).toMatchObject({ text: 'begun', error: { code: 'SUPPLIER_DEADLINE' }, ends: 1 });
  });

  test('a call that takes too long although it never falls silent', async () => {
    const { port } = await serve((_, response) => {
      const ticking = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(ticking));
    });
    const { outcome } = collect(poolsWith(new AddressGuard([loopback])), get(port, '/', { totalMs: 80 }));
    const { error, ends } = await outcome;
    expect(error).toBeInstanceOf(SupplierDeadline);
    expect(ends).toBe(1);
  });

  test('a call that never gets a connection', async () => {
    const { port } = await serve(silent);
    const pools = poolsWith(new AddressGuard([loopback]), { supplierConnections: 1 });
    const first = collect(pools, get(port));
    const second = collect(pools, get(port, '/', { totalMs: 30 }));
    expect((await second.outcome).error).toBeInstanceOf(SupplierDeadline);
    expect(second.call.hasStarted).toBe(false);
    first.call.abort(new Error('enough'));
    expect((await first.outcome).error?.message).toBe('enough');
  });

  whereDirect()('a connection that cannot be made', async () => {
    const refusing = createTcpServer().listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const { port } = refusing.address() as AddressInfo;
    refusing.close();
    await once(refusing, 'close');
    const { call, outcome } = collect(poolsWith(new AddressGuard([loopback])), get(port));
    expect(await outcome).toMatchObject({ error: { code: 'ECONNREFUSED' }, ends: 1 });
    expect(call.hasStarted).toBe(false);
  });

  test('a name that is never resolved', async () => {
    const guard = new AddressGuard([], () => new Promise(() => undefined));
    const pools = poolsWith(guard, { supplierConnectTimeoutMs: 50 });
    const { outcome } = collect(pools, { url: new URL('https://slow.example'), method: 'GET', headers: {} });
    expect(await outcome).toMatchObject({ error: { code: 'SUPPLIER_DEADLINE' }, ends: 1 });
  });
});

describe('abortion', () => {
  test('in the middle of a stream closes the connection and ends the call once', async () => {
    const gone = Promise.withResolvers<void>();
    const { port } = await serve((_, response) => {
      response.write('begun');
      response.on('close', () => gone.resolve());
    });
    const { call, outcome, started } = collect(poolsWith(new AddressGuard([loopback])), get(port));
    await started;
    call.abort(new Error('the caller left'));
    call.abort(new Error('again'));
    expect(await outcome).toMatchObject({ error: { message: 'the caller left' }, ends: 1 });
    await gone.promise;
  });
});

describe('the guard holds where connections are made', () => {
  /** Listens where an attack would arrive. */
  async function canary() {
    return serve((_, response) => response.end('secret'));
  }

  test.each(['127.0.0.1', 'localhost', '[::1]', '0.0.0.0'])('a literal or local host (%s)', async (host) => {
    const { port, connections } = await canary();
    const pools = poolsWith(new AddressGuard([]));
    const { outcome } = collect(pools, {
      url: new URL(`http://${host}:${port}`),
      method: 'GET',
      headers: {},
    });
    expect((await outcome).error).toBeInstanceOf(AddressRefused);
    expect(connections()).toBe(0);
  });

  test('a name that changes its mind between check and connection', async () => {
    const { port, connections } = await canary();
    const answers = [['93.184.215.14'], ['127.0.0.1']];
    const resolver: Resolver = () => Promise.resolve(answers.shift() ?? ['127.0.0.1']);
    const rule = { address: '93.184.215.14', prefix: 32, family: 'ipv4' as const };
    const guard = new AddressGuard([rule], resolver);
    const url = new URL(`http://rebind.example:${port}`);
    expect((await guard.checkReachable(url.href)).ok).toBe(true);
    const { outcome } = collect(poolsWith(guard), { url, method: 'GET', headers: {} });
    expect((await outcome).error).toBeInstanceOf(AddressRefused);
    expect(connections()).toBe(0);
  });

  test('a name that changes its mind between two connections', async () => {
    const served: string[] = [];
    const { port } = await serve((request, response) => {
      served.push(request.headers.host ?? '');
      response.writeHead(200, { connection: 'close' }).end('x');
    });
    const answers = [['127.0.0.1'], ['127.0.0.1'], ['127.0.0.1', '10.0.0.1']];
    let asked = 0;
    const guard = new AddressGuard([loopback], () => Promise.resolve(answers[asked++] ?? []));
    const pools = poolsWith(guard);
    const request = { url: new URL(`http://models.example:${port}/`), method: 'GET' as const, headers: {} };
    expect((await collect(pools, request).outcome).status).toBe(200);
    expect((await collect(pools, request).outcome).status).toBe(200);
    expect((await collect(pools, request).outcome).error).toBeInstanceOf(AddressRefused);
    expect(asked).toBe(3);
    expect(served).toEqual([`models.example:${port}`, `models.example:${port}`]);
  });
});

test('a slow supplier is asked by so many and no more; the next is told at once, and may come when one is over', async () => {
  const { port } = await serve(() => undefined);
  const pools = poolsWith(new AddressGuard([loopback]), { supplierConnections: 2 });
  const calls = Array.from({ length: 4 }, () => collect(pools, get(port, '/')));
  expect(() => collect(pools, get(port, '/'))).toThrow(
    expect.objectContaining({ code: 'capacity_exceeded', status: 503 }) as Error,
  );
  calls[0]!.call.abort(new Error('no longer wanted'));
  await calls[0]!.outcome;
  const late = collect(pools, get(port, '/'));
  for (const { call } of [...calls.slice(1), late]) call.abort(new Error('over'));
  await Promise.all([...calls, late].map(({ outcome }) => outcome));
});

test('a call that is no longer wanted when a connection is there is not sent', async () => {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let requests = 0;
  const { port } = await serve((_, response) => {
    requests += 1;
    asked.resolve();
    void answer.promise.then(() => response.end('x'));
  });
  const pools = poolsWith(new AddressGuard([loopback]), { supplierConnections: 1 });
  const first = collect(pools, get(port, '/'));
  const unwanted = fault('no_providers_available');
  const second = collect(pools, get(port, '/', { changedMind: () => unwanted }));
  await asked.promise;
  answer.resolve();
  expect(await first.outcome).toMatchObject({ status: 200 });
  expect(await second.outcome).toEqual({ text: '', ends: 1, error: unwanted });
  expect(await collect(pools, get(port, '/')).outcome).toMatchObject({ status: 200 });
  expect(requests).toBe(2);
});
