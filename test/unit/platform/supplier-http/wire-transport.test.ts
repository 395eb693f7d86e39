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
import { closeEverything, openTransport, testIfDirect } from './wire/raw-supplier';

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

const transportWith = openTransport;

interface CollectedResponse {
  status?: number;
  headers?: Record<string, unknown>;
  text: string;
  error?: Error;
  ends: number;
}

/** Collects the events of a handler; `ends` counts its end events. */
function collect(pools: SupplierTransport, request: SupplierRequest) {
  const outcome: CollectedResponse = { text: '', ends: 0 };
  const { promise, resolve } = Promise.withResolvers<CollectedResponse>();
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

test('response arrives as sent, over reused connections', async () => {
  const { port, connections } = await serve((request, response) => {
    request
      .setEncoding('utf8')
      .on('data', (body) => response.end(`${request.method} ${request.url} ${body}`));
  });
  const pools = transportWith(new AddressGuard([loopback]));
  for (let n = 0; n < 10; n++) {
    const post = { method: 'POST' as const, body: `n=${n}`, headers: { 'content-type': 'text/plain' } };
    const { call, outcome } = collect(pools, get(port, '/v1/x?y=1', post));
    expect(await outcome).toMatchObject({ status: 200, text: `POST /v1/x?y=1 n=${n}`, ends: 1 });
    expect(call.hasStarted).toBe(true);
  }
  expect(connections()).toBeLessThanOrEqual(2);
});

test('redirect is returned and not followed', async () => {
  const visitedPaths: string[] = [];
  const { port } = await serve((request, response) => {
    visitedPaths.push(request.url ?? '');
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  const { outcome } = collect(transportWith(new AddressGuard([loopback])), get(port, '/start'));
  expect(await outcome).toMatchObject({ status: 307 });
  expect(visitedPaths).toEqual(['/start']);
});

test('large response sent at once is read in small pieces and arrives completely', async () => {
  const sentBody = Buffer.alloc(1024 * 1024, 'the ferry leaves at nine ');
  const { port } = await serve((_, response) => response.end(sentBody));
  const pieces: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const call = transportWith(new AddressGuard([loopback])).dispatch(get(port), {
    onData: (piece) => {
      pieces.push(piece);
      call.pause();
      setImmediate(() => call.resume());
    },
    onEnd: () => resolve(),
    onBroken: reject,
  });
  await promise;
  expect(Buffer.concat(pieces).equals(sentBody)).toBe(true);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(16 * 1024);
});

test('number of connections per address is limited', async () => {
  const heldResponses: (() => void)[] = [];
  const { port, connections } = await serve((_, response) => {
    heldResponses.push(() => response.end('x'));
    if (heldResponses.length === 2) for (const release of heldResponses.splice(0)) release();
  });
  const pools = transportWith(new AddressGuard([loopback]), { supplierConnections: 2 });
  const outcomes = await Promise.all(Array.from({ length: 4 }, () => collect(pools, get(port)).outcome));
  expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(4);
  expect(connections()).toBe(2);
});

describe('Timeouts', () => {
  const silentListener: RequestListener = () => undefined;
  const stallingListener: RequestListener = (_, response) => {
    response.write('begun');
  };

  test('end a call whose response head does not arrive', async () => {
    const { port } = await serve(silentListener);
    const { outcome } = collect(
      transportWith(new AddressGuard([loopback])),
      get(port, '/', { firstByteMs: 50 }),
    );
    expect(await outcome).toMatchObject({ error: { code: 'SUPPLIER_DEADLINE' }, ends: 1 });
  });

  test('end a stream that becomes idle', async () => {
    const { port } = await serve(stallingListener);
    const { outcome } = collect(transportWith(new AddressGuard([loopback])), get(port, '/', { idleMs: 50 }));
    expect(await outcome).toMatchObject({ text: 'begun', error: { code: 'SUPPLIER_DEADLINE' }, ends: 1 });
  });

  test('end a call that exceeds its total time without being idle', async () => {
    const { port } = await serve((_, response) => {
      const interval = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(interval));
    });
    const { outcome } = collect(transportWith(new AddressGuard([loopback])), get(port, '/', { totalMs: 80 }));
    const { error, ends } = await outcome;
    expect(error).toBeInstanceOf(SupplierDeadline);
    expect(ends).toBe(1);
  });

  test('end a call that gets no connection', async () => {
    const { port } = await serve(silentListener);
    const pools = transportWith(new AddressGuard([loopback]), { supplierConnections: 1 });
    const firstCall = collect(pools, get(port));
    const secondCall = collect(pools, get(port, '/', { totalMs: 30 }));
    expect((await secondCall.outcome).error).toBeInstanceOf(SupplierDeadline);
    expect(secondCall.call.hasStarted).toBe(false);
    firstCall.call.abort(new Error('enough'));
    expect((await firstCall.outcome).error?.message).toBe('enough');
  });

  testIfDirect()('end a call whose connection cannot be established', async () => {
    const refusingServer = createTcpServer().listen(0, '127.0.0.1');
    await once(refusingServer, 'listening');
    const { port } = refusingServer.address() as AddressInfo;
    refusingServer.close();
    await once(refusingServer, 'close');
    const { call, outcome } = collect(transportWith(new AddressGuard([loopback])), get(port));
    expect(await outcome).toMatchObject({ error: { code: 'ECONNREFUSED' }, ends: 1 });
    expect(call.hasStarted).toBe(false);
  });

  test('end a call whose host name is never resolved', async () => {
    const guard = new AddressGuard([], () => new Promise(() => undefined));
    const pools = transportWith(guard, { supplierConnectTimeoutMs: 50 });
    const { outcome } = collect(pools, { url: new URL('https://slow.example'), method: 'GET', headers: {} });
    expect(await outcome).toMatchObject({ error: { code: 'SUPPLIER_DEADLINE' }, ends: 1 });
  });
});

describe('Abort', () => {
  test('mid-stream closes the connection and ends the call once', async () => {
    const disconnected = Promise.withResolvers<void>();
    const { port } = await serve((_, response) => {
      response.write('begun');
      response.on('close', () => disconnected.resolve());
    });
    const { call, outcome, started } = collect(transportWith(new AddressGuard([loopback])), get(port));
    await started;
    call.abort(new Error('the caller left'));
    call.abort(new Error('again'));
    expect(await outcome).toMatchObject({ error: { message: 'the caller left' }, ends: 1 });
    await disconnected.promise;
  });
});

describe('Address guard at connection time', () => {
  /** Starts a server at the address that an attack would target. */
  async function canary() {
    return serve((_, response) => response.end('secret'));
  }

  test.each(['127.0.0.1', 'localhost', '[::1]', '0.0.0.0'])(
    'blocks a literal or local host (%s)',
    async (host) => {
      const { port, connections } = await canary();
      const pools = transportWith(new AddressGuard([]));
      const { outcome } = collect(pools, {
        url: new URL(`http://${host}:${port}`),
        method: 'GET',
        headers: {},
      });
      expect((await outcome).error).toBeInstanceOf(AddressRefused);
      expect(connections()).toBe(0);
    },
  );

  test('blocks a name that resolves differently at connection time', async () => {
    const { port, connections } = await canary();
    const answers = [['93.184.215.14'], ['127.0.0.1']];
    const resolver: Resolver = () => Promise.resolve(answers.shift() ?? ['127.0.0.1']);
    const rule = { address: '93.184.215.14', prefix: 32, family: 'ipv4' as const };
    const guard = new AddressGuard([rule], resolver);
    const url = new URL(`http://rebind.example:${port}`);
    expect((await guard.checkReachable(url.href)).ok).toBe(true);
    const { outcome } = collect(transportWith(guard), { url, method: 'GET', headers: {} });
    expect((await outcome).error).toBeInstanceOf(AddressRefused);
    expect(connections()).toBe(0);
  });

  test('blocks a name that resolves differently for a second connection', async () => {
    const servedPaths: string[] = [];
    const { port } = await serve((request, response) => {
      servedPaths.push(request.headers.host ?? '');
      response.writeHead(200, { connection: 'close' }).end('x');
    });
    const answers = [['127.0.0.1'], ['127.0.0.1'], ['127.0.0.1', '10.0.0.1']];
    let resolveCount = 0;
    const guard = new AddressGuard([loopback], () => Promise.resolve(answers[resolveCount++] ?? []));
    const pools = transportWith(guard);
    const request = { url: new URL(`http://models.example:${port}/`), method: 'GET' as const, headers: {} };
    expect((await collect(pools, request).outcome).status).toBe(200);
    expect((await collect(pools, request).outcome).status).toBe(200);
    expect((await collect(pools, request).outcome).error).toBeInstanceOf(AddressRefused);
    expect(resolveCount).toBe(3);
    expect(servedPaths).toEqual([`models.example:${port}`, `models.example:${port}`]);
  });
});

test('call beyond the queue limit is refused immediately and accepted once another has ended', async () => {
  const { port } = await serve(() => undefined);
  const pools = transportWith(new AddressGuard([loopback]), { supplierConnections: 2 });
  const calls = Array.from({ length: 4 }, () => collect(pools, get(port, '/')));
  expect(() => collect(pools, get(port, '/'))).toThrow(
    expect.objectContaining({ code: 'capacity_exceeded', status: 503 }) as Error,
  );
  calls[0]!.call.abort(new Error('no longer wanted'));
  await calls[0]!.outcome;
  const lateCall = collect(pools, get(port, '/'));
  for (const { call } of [...calls.slice(1), lateCall]) call.abort(new Error('over'));
  await Promise.all([...calls, lateCall].map(({ outcome }) => outcome));
});

test('call cancelled before its connection is ready is not sent', async () => {
  const [requestArrived, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let requests = 0;
  const { port } = await serve((_, response) => {
    requests += 1;
    requestArrived.resolve();
    void answer.promise.then(() => response.end('x'));
  });
  const pools = transportWith(new AddressGuard([loopback]), { supplierConnections: 1 });
  const firstCall = collect(pools, get(port, '/'));
  const cancellation = fault('no_providers_available');
  const secondCall = collect(pools, get(port, '/', { changedMind: () => cancellation }));
  await requestArrived.promise;
  answer.resolve();
  expect(await firstCall.outcome).toMatchObject({ status: 200 });
  expect(await secondCall.outcome).toEqual({ text: '', ends: 1, error: cancellation });
  expect(await collect(pools, get(port, '/')).outcome).toMatchObject({ status: 200 });
  expect(requests).toBe(2);
});
