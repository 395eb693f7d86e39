import { once } from 'node:events';
import { createServer } from 'node:net';
import {
  AddressGuard,
  AddressRefused,
  SelectingTransport,
  type EgressTerms,
  ProxyFailed,
} from '../../../../../src/platform/supplier-http';
import { type ForwardProxy, forwardProxy, type ForwardProxyOptions } from '../../../../support/forward-proxy';
import {
  answer,
  call,
  closeEverything,
  closeLater,
  get,
  goBy,
  ok,
  type RawSupplier,
  settings,
  type Way,
} from '../wire/raw-supplier';
import { fixture, noEgress, tls } from './by-proxy';

const onThisMachine = { address: '127.0.0.0', prefix: 8, family: 'ipv4' as const };
const proxyTls = { cert: fixture('directory.cert.pem'), key: fixture('directory.key.pem') };

const fail = (why: string): never => {
  throw new Error(why);
};
const plain: Way = { open: () => fail('not used here'), isDirect: false, name: 'supplier.example' };

beforeEach(() => goBy(plain));
afterEach(() => {
  goBy(plain);
  return closeEverything();
});

type Egress = Partial<ConstructorParameters<typeof SelectingTransport>[0]>;

function transportWith(
  egress: Egress,
  guard = new AddressGuard([onThisMachine], () => Promise.resolve(['127.0.0.1'])),
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
  const proxy = await forwardProxy({ resolve: () => '127.0.0.1', ...options });
  closeLater(() => proxy.close());
  return { ...proxy, address: `${options.tls ? 'https' : 'http'}://127.0.0.1:${proxy.port}` };
}

const encrypted = (): void => goBy({ ...plain, tls });
const supplier = (): Promise<RawSupplier> => answer(({ socket }, nth) => socket.write(ok(`answer ${nth}`)));

describe.each(['http', 'https'])('a supplier of %s', (scheme) => {
  beforeEach(() => {
    if (scheme === 'https') encrypted();
  });

  test.each([
    ['a proxy', {}],
    ['a proxy that speaks TLS', { tls: proxyTls }],
    ['a proxy with a password', { credentials: 'us er:p@ss:w%' }],
  ])('is reached by %s, which sees the key of the proxy alone', async (_, options) => {
    const { port, asked } = await supplier();
    const proxy = await proxyWith(options);
    const egressProxy =
      'credentials' in options ? proxy.address.replace('//', '//us%20er:p%40ss:w%25@') : proxy.address;
    const transport = transportWith({ egressProxy });
    const headers = { authorization: 'Bearer of-the-supplier' };
    const made = call(transport, get(port, { headers }));

    expect(await made.outcome).toMatchObject({ status: 200, text: 'answer 1' });
    expect(made.call.hasStarted).toBe(true);
    expect(await call(transport, get(port, { headers })).outcome).toMatchObject({ text: 'answer 2' });
    const { host } = get(port).url;
    expect(proxy.asked).toEqual(
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
  ])('is not reached by a proxy %s, and the error names the proxy', async (_, options, problem) => {
    const { port, sockets } = await supplier();
    const proxy = await proxyWith(options);
    const made = call(transportWith({ egressProxy: proxy.address.replace('//', '//x:y@') }), get(port));
    const { error, status } = await made.outcome;
    // A proxy that passes requests on and closes looks like a supplier that closes.
    if (scheme === 'http' && problem === 'closed the connection')
      return void expect(error).toMatchObject({ code: 'SUPPLIER_CLOSED' });
    expect(error).toBeInstanceOf(ProxyFailed);
    expect(error?.message).toBe(`the proxy 127.0.0.1:${proxy.port} ${problem}`);
    expect(status).toBeUndefined();
    expect(sockets).toHaveLength(0);
    if (scheme === 'https') expect(made.call.hasStarted).toBe(false);
  });

  test('is not reached where there is no proxy', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as { port: number };
    gone.close();
    await once(gone, 'close');
    const made = call(transportWith({ egressProxy: `http://127.0.0.1:${port}` }), get(1));
    const { error } = await made.outcome;
    expect(error).toMatchObject({
      code: 'PROXY_FAILED',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect(made.call.hasStarted).toBe(false);
  });

  test('is not reached by a proxy whose certificate nobody vouches for', async () => {
    const { port } = await supplier();
    const proxy = await proxyWith({ tls: proxyTls });
    const transport = transportWith({ egressProxy: proxy.address, egressCa: tls.cert });
    expect((await call(transport, get(port)).outcome).error).toMatchObject({
      code: 'PROXY_FAILED',
      cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    });
    expect(proxy.asked).toEqual([]);
  });
});

test.each([
  ['refuses the address', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\n\r\nno!\n', 'it answered 403'],
  ['cannot connect', 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n', 'it answered 502'],
  ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'cannot be used'],
  ['never ends its head', `HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(20_000)}\r\n\r\n`, 'cannot be used'],
])('the error says so where a proxy %s', async (_, text, problem) => {
  encrypted();
  const { port } = await supplier();
  const proxy = await proxyWith({ judge: () => ({ answer: text }) });
  const made = call(transportWith({ egressProxy: proxy.address }), get(port));
  expect((await made.outcome).error).toMatchObject({
    code: 'PROXY_FAILED',
    message: expect.stringContaining(problem) as string,
  });
  expect(made.call.hasStarted).toBe(false);
});

test('a proxy that says nothing takes no longer than any connection may, and is given up with the call that waits', async () => {
  encrypted();
  const { port } = await supplier();
  let asked = Promise.withResolvers<void>();
  const proxy = await proxyWith({ judge: () => (asked.resolve(), 'hang') });
  const transport = transportWith({ egressProxy: proxy.address, supplierConnectTimeoutMs: 200 });
  expect((await call(transport, get(port)).outcome).error).toMatchObject({ code: 'SUPPLIER_DEADLINE' });
  asked = Promise.withResolvers();
  const patient = transportWith({ egressProxy: proxy.address });
  const waiting = call(patient, get(port));
  await asked.promise;
  patient.close();
  expect((await waiting.outcome).error?.message).toBe('the connections to suppliers are closed');
  for (const socket of proxy.sockets) if (!socket.closed) await once(socket, 'close');
});

describe('whether a proxy is used', () => {
  const asks = async (egress: (address: string) => Egress, terms?: EgressTerms): Promise<boolean> => {
    const { port } = await supplier();
    const proxy = await proxyWith();
    const outcome = await call(transportWith(egress(proxy.address)), get(port, { egress: terms })).outcome;
    expect(outcome).toMatchObject({ status: 200 });
    return proxy.asked.length === 1;
  };

  test.each<[string, boolean, (address: string) => Egress, EgressTerms | undefined]>([
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
  ])('%s', async (_, isUsed, egress, terms) => expect(await asks(egress, terms)).toBe(isUsed));

  test.each(['127.0.0.1', 'localhost', 'a.localhost'])('not for this machine (%s)', async (host) => {
    const { port } = await supplier();
    const transport = transportWith({ egressProxy: 'http://192.0.2.1:9' });
    const { outcome } = call(transport, { ...get(port), url: new URL(`http://${host}:${port}`) });
    expect(await outcome).toMatchObject({ status: 200 });
  });

  test('a name that the settings do not know is a fault before anything is sent', () => {
    expect(() => call(transportWith({}), get(1, { egress: { proxy: 'us' } }))).toThrow(
      expect.objectContaining({ code: 'configuration_error' }) as Error,
    );
  });
});

describe('the guard holds in front of a proxy', () => {
  const refused = async (url: string, guard: AddressGuard): Promise<unknown> => {
    const proxy = await proxyWith();
    const transport = transportWith({ egressProxy: proxy.address }, guard);
    const { error } = await call(transport, { url: new URL(url), method: 'GET', headers: {} }).outcome;
    expect(proxy.asked).toEqual([]);
    return error;
  };
  const unknown = (): Promise<string[]> => Promise.reject(new Error('ENOTFOUND'));

  test.each([
    'http://127.0.0.1:1/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://169.254.169.254/latest',
    'https://[::ffff:10.0.0.1]/',
    'http://93.184.215.14/',
    'https://93.184.215.14:8443/',
  ])('a literal address (%s)', async (url) =>
    expect(await refused(url, new AddressGuard([]))).toBeInstanceOf(AddressRefused),
  );

  test.each([['10.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['::1']])(
    'a name that is a private address here (%s)',
    async (...addresses) =>
      expect(
        await refused('https://models.example/', new AddressGuard([], () => Promise.resolve(addresses))),
      ).toBeInstanceOf(AddressRefused),
  );

  test.each(['http://models.example/', 'https://models.example:8443/'])(
    'a name that is not known here, but over https on 443 (%s)',
    async (url) => {
      // A rule for addresses says nothing of a name whose addresses are unknown.
      const guard = new AddressGuard([{ address: '10.0.0.0', prefix: 8, family: 'ipv4' }], unknown);
      expect(await refused(url, guard)).toBeInstanceOf(AddressRefused);
    },
  );

  test.each([
    'https://ip6-localhost/',
    'https://localhost.localdomain/',
    'https://intranet/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://nas.home.arpa/',
  ])('a name that is not known here and never stands for a public address (%s)', async (url) => {
    expect(await refused(url, new AddressGuard([], unknown))).toBeInstanceOf(AddressRefused);
    const { hostname: host } = new URL(url);
    const named = new AddressGuard([{ address: '10.0.0.0', prefix: 8, family: 'ipv4', host }], unknown);
    await named.checkBehindProxy(new URL(url));
  });

  test.each<[string, AddressGuard]>([
    ['that is not known here', new AddressGuard([], unknown)],
    ['that nobody answers for', new AddressGuard([], () => new Promise(() => undefined))],
    ['of a public address', new AddressGuard([], () => Promise.resolve(['93.184.215.14']))],
  ])('lets through a name %s', async (_, guard) => {
    const proxy = await proxyWith({ judge: () => ({ answer: 'HTTP/1.1 503 Busy\r\n\r\n' }) });
    const transport = transportWith({ egressProxy: proxy.address, supplierConnectTimeoutMs: 3_000 }, guard);
    const { error } = await call(transport, {
      url: new URL('https://models.example/'),
      method: 'GET',
      headers: {},
    }).outcome;
    expect(error).toMatchObject({ code: 'PROXY_FAILED' });
    expect(proxy.asked).toEqual(['CONNECT models.example:443 HTTP/1.1']);
  });
});
