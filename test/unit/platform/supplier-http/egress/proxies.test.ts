import { once } from 'node:events';
import { createServer } from 'node:net';
import {
  AddressGuard,
  AddressRefused,
  SelectingTransport,
  type EgressTerms,
  ProxyFailed,
} from '../../../../../src/platform/supplier-http';
import {
  type ForwardProxy,
  startForwardProxy,
  type ForwardProxyOptions,
} from '../../../../support/forward-proxy';
import {
  answer,
  call,
  closeEverything,
  closeLater,
  get,
  useVariant,
  ok,
  type RawSupplier,
  settings,
  type ConnectionVariant,
} from '../wire/raw-supplier';
import { fixture, noEgress, tls } from './by-proxy';

const loopback = { address: '127.0.0.0', prefix: 8, family: 'ipv4' as const };
const proxyTls = { cert: fixture('directory.cert.pem'), key: fixture('directory.key.pem') };

const failWith = (why: string): never => {
  throw new Error(why);
};
const plainWay: ConnectionVariant = {
  open: () => failWith('not used here'),
  isDirect: false,
  name: 'supplier.example',
};

beforeEach(() => useVariant(plainWay));
afterEach(() => {
  useVariant(plainWay);
  return closeEverything();
});

type ProxyEgress = Partial<ConstructorParameters<typeof SelectingTransport>[0]>;

function transportWith(
  egress: ProxyEgress,
  guard = new AddressGuard([loopback], () => Promise.resolve(['127.0.0.1'])),
) {
  const transport = new SelectingTransport(
    { ...settings, ...noEgress, egressCa: `${tls.cert}${proxyTls.cert}`, ...egress },
    guard,
  );
  closeLater(() => transport.close());
  return transport;
}

async function proxyWith(
  options: ForwardProxyOptions = {},
): Promise<ForwardProxy & { readonly address: string }> {
  const proxy = await startForwardProxy({ resolve: () => '127.0.0.1', ...options });
  closeLater(() => proxy.close());
  return { ...proxy, address: `${options.tls ? 'https' : 'http'}://127.0.0.1:${proxy.port}` };
}

const useTls = (): void => useVariant({ ...plainWay, tls });
const supplier = (): Promise<RawSupplier> => answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));

describe.each(['http', 'https'])('Supplier of %s', (scheme) => {
  beforeEach(() => {
    if (scheme === 'https') useTls();
  });

  test.each([
    ['a proxy', {}],
    ['a proxy that speaks TLS', { tls: proxyTls }],
    ['a proxy with a password', { credentials: 'us er:p@ss:w%' }],
  ])('is reached through %s, and only the proxy sees its credentials', async (_, options) => {
    const { port, asked } = await supplier();
    const proxy = await proxyWith(options);
    const egressProxy =
      'credentials' in options ? proxy.address.replace('//', '//us%20er:p%40ss:w%25@') : proxy.address;
    const transport = transportWith({ egressProxy });
    const headers = { authorization: 'Bearer of-the-supplier' };
    const proxiedCall = call(transport, get(port, { headers }));

    expect(await proxiedCall.outcome).toMatchObject({ status: 200, text: 'answer 1' });
    expect(proxiedCall.call.hasStarted).toBe(true);
    expect(await call(transport, get(port, { headers })).outcome).toMatchObject({ text: 'answer 2' });
    const { host } = get(port).url;
    expect(proxy.requestLines).toEqual(
      scheme === 'https' ? [`CONNECT ${host} HTTP/1.1`] : Array(2).fill(`GET http://${host}/ HTTP/1.1`),
    );
    expect(asked[0]!.head).not.toContain('proxy-authorization');
    if (scheme === 'https') expect(proxy.heads.join()).not.toContain('of-the-supplier');
  });

  test.each([
    ['that wants other credentials', { credentials: 'a:b' }, 'wants other credentials (407)'],
    [
      'that lets nobody through',
      { judge: () => ({ answer: 'HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n' }) },
      'wants other credentials (407)',
    ],
    ['that closes the connection', { judge: () => 'cut' as const }, 'closed the connection'],
  ])('is not reached through a proxy %s, and the error names the proxy', async (_, options, problem) => {
    const { port, sockets } = await supplier();
    const proxy = await proxyWith(options);
    const proxiedCall = call(
      transportWith({ egressProxy: proxy.address.replace('//', '//x:y@') }),
      get(port),
    );
    const { error, status } = await proxiedCall.outcome;
    // A forwarding proxy that closes looks like a supplier that closes.
    if (scheme === 'http' && problem === 'closed the connection')
      return void expect(error).toMatchObject({ code: 'SUPPLIER_CLOSED' });
    expect(error).toBeInstanceOf(ProxyFailed);
    expect(error?.message).toBe(`the proxy 127.0.0.1:${proxy.port} ${problem}`);
    expect(status).toBeUndefined();
    expect(sockets).toHaveLength(0);
    if (scheme === 'https') expect(proxiedCall.call.hasStarted).toBe(false);
  });

  test('is not reached when the proxy is down', async () => {
    const closedServer = createServer().listen(0, '127.0.0.1');
    await once(closedServer, 'listening');
    const { port } = closedServer.address() as { port: number };
    closedServer.close();
    await once(closedServer, 'close');
    const proxiedCall = call(transportWith({ egressProxy: `http://127.0.0.1:${port}` }), get(1));
    const { error } = await proxiedCall.outcome;
    expect(error).toMatchObject({
      code: 'PROXY_FAILED',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect(proxiedCall.call.hasStarted).toBe(false);
  });

  test('is not reached through a proxy with an untrusted certificate', async () => {
    const { port } = await supplier();
    const proxy = await proxyWith({ tls: proxyTls });
    const transport = transportWith({ egressProxy: proxy.address, egressCa: tls.cert });
    expect((await call(transport, get(port)).outcome).error).toMatchObject({
      code: 'PROXY_FAILED',
      cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    });
    expect(proxy.requestLines).toEqual([]);
  });
});

test.each([
  ['refuses the address', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\n\r\nno!\n', 'it answered 403'],
  ['cannot connect', 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n', 'it answered 502'],
  ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'cannot be used'],
  ['never ends its head', `HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(20_000)}\r\n\r\n`, 'cannot be used'],
])('error names the cause when a proxy %s', async (_, text, problem) => {
  useTls();
  const { port } = await supplier();
  const proxy = await proxyWith({ judge: () => ({ answer: text }) });
  const proxiedCall = call(transportWith({ egressProxy: proxy.address }), get(port));
  expect((await proxiedCall.outcome).error).toMatchObject({
    code: 'PROXY_FAILED',
    message: expect.stringContaining(problem) as string,
  });
  expect(proxiedCall.call.hasStarted).toBe(false);
});

test('silent proxy is abandoned after the connect timeout, or when its waiting call is aborted', async () => {
  useTls();
  const { port } = await supplier();
  let contacted = Promise.withResolvers<void>();
  const proxy = await proxyWith({ judge: () => (contacted.resolve(), 'hang') });
  const transport = transportWith({ egressProxy: proxy.address, supplierConnectTimeoutMs: 200 });
  expect((await call(transport, get(port)).outcome).error).toMatchObject({ code: 'SUPPLIER_DEADLINE' });
  contacted = Promise.withResolvers();
  const patientTransport = transportWith({ egressProxy: proxy.address });
  const waitingCall = call(patientTransport, get(port));
  await contacted.promise;
  patientTransport.close();
  expect((await waitingCall.outcome).error?.message).toBe('the connections to suppliers are closed');
  for (const socket of proxy.sockets) if (!socket.closed) await once(socket, 'close');
});

describe('Proxy selection', () => {
  const usesProxy = async (
    egress: (address: string) => ProxyEgress,
    terms?: EgressTerms,
  ): Promise<boolean> => {
    const { port } = await supplier();
    const proxy = await proxyWith();
    const outcome = await call(transportWith(egress(proxy.address)), get(port, { egress: terms })).outcome;
    expect(outcome).toMatchObject({ status: 200 });
    return proxy.requestLines.length === 1;
  };

  test.each<[string, boolean, (address: string) => ProxyEgress, EgressTerms | undefined]>([
    ['not without a setting', false, () => ({}), undefined],
    ['by EGRESS_PROXY', true, (egressProxy) => ({ egressProxy }), undefined],
    ['not for what NO_PROXY names', false, (egressProxy) => ({ egressProxy, noProxy: 'example' }), undefined],
    [
      'not for a supplier that is reached directly',
      false,
      (egressProxy) => ({ egressProxy }),
      { proxy: 'direct' },
    ],
    ['by the name of a proxy', true, (url) => ({ egressProxies: [{ name: 'eu', url }] }), { proxy: 'eu' }],
    [
      'by the name of a proxy, whatever else holds',
      true,
      (url) => ({ egressProxies: [{ name: 'eu', url }], egressProxy: 'http://127.0.0.1:9', noProxy: '*' }),
      { proxy: 'eu' },
    ],
  ])('%s', async (_, isUsed, egress, terms) => expect(await usesProxy(egress, terms)).toBe(isUsed));

  test.each(['127.0.0.1', 'localhost', 'a.localhost'])(
    'bypasses the proxy for this machine (%s)',
    async (host) => {
      const { port } = await supplier();
      const transport = transportWith({ egressProxy: 'http://192.0.2.1:9' });
      const { outcome } = call(transport, { ...get(port), url: new URL(`http://${host}:${port}`) });
      expect(await outcome).toMatchObject({ status: 200 });
    },
  );

  test('unknown proxy name fails before any byte is sent', () => {
    expect(() => call(transportWith({}), get(1, { egress: { proxy: 'us' } }))).toThrow(
      expect.objectContaining({ code: 'configuration_error' }) as Error,
    );
  });
});

describe('Address guard with a proxy', () => {
  const rejectionOf = async (url: string, guard: AddressGuard): Promise<unknown> => {
    const proxy = await proxyWith();
    const transport = transportWith({ egressProxy: proxy.address }, guard);
    const { error } = await call(transport, { url: new URL(url), method: 'GET', headers: {} }).outcome;
    expect(proxy.requestLines).toEqual([]);
    return error;
  };
  const failToResolve = (): Promise<string[]> => Promise.reject(new Error('ENOTFOUND'));

  test.each([
    'http://127.0.0.1:1/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://169.254.169.254/latest',
    'https://[::ffff:10.0.0.1]/',
    'http://93.184.215.14/',
    'https://93.184.215.14:8443/',
  ])('rejects a literal address (%s)', async (url) =>
    expect(await rejectionOf(url, new AddressGuard([]))).toBeInstanceOf(AddressRefused),
  );

  test.each([['10.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['::1']])(
    'rejects a name that resolves to a private address here (%s)',
    async (...addresses) =>
      expect(
        await rejectionOf('https://models.example/', new AddressGuard([], () => Promise.resolve(addresses))),
      ).toBeInstanceOf(AddressRefused),
  );

  test.each(['http://models.example/', 'https://models.example:8443/'])(
    'rejects an unresolvable name except over https on 443 (%s)',
    async (url) => {
      // An address rule does not apply to a name whose addresses are unknown.
      const guard = new AddressGuard([{ address: '10.0.0.0', prefix: 8, family: 'ipv4' }], failToResolve);
      expect(await rejectionOf(url, guard)).toBeInstanceOf(AddressRefused);
    },
  );

  test.each([
    'https://ip6-localhost/',
    'https://localhost.localdomain/',
    'https://intranet/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://nas.home.arpa/',
  ])('rejects an unresolvable name that is never public (%s)', async (url) => {
    expect(await rejectionOf(url, new AddressGuard([], failToResolve))).toBeInstanceOf(AddressRefused);
    const { hostname: host } = new URL(url);
    const hostGuard = new AddressGuard(
      [{ address: '10.0.0.0', prefix: 8, family: 'ipv4', host }],
      failToResolve,
    );
    await hostGuard.checkBehindProxy(new URL(url));
  });

  test.each<[string, AddressGuard]>([
    ['that is not known here', new AddressGuard([], failToResolve)],
    ['that nobody answers for', new AddressGuard([], () => new Promise(() => undefined))],
    ['of a public address', new AddressGuard([], () => Promise.resolve(['93.184.215.14']))],
  ])('allows a name %s', async (_, guard) => {
    const proxy = await proxyWith({ judge: () => ({ answer: 'HTTP/1.1 503 Busy\r\n\r\n' }) });
    const transport = transportWith({ egressProxy: proxy.address, supplierConnectTimeoutMs: 3_000 }, guard);
    const { error } = await call(transport, {
      url: new URL('https://models.example/'),
      method: 'GET',
      headers: {},
    }).outcome;
    expect(error).toMatchObject({ code: 'PROXY_FAILED' });
    expect(proxy.requestLines).toEqual(['CONNECT models.example:443 HTTP/1.1']);
  });
});
