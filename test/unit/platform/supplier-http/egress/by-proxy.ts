import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SelectingTransport } from '../../../../../src/platform/supplier-http';
import { type ForwardProxy, forwardProxy } from '../../../../support/forward-proxy';
import { goBy, type Way } from '../wire/raw-supplier';

export const fixture = (name: string): string =>
  readFileSync(join(__dirname, '../../../../fixtures/tls', name), 'utf8');

/** Made for these tests, for the name supplier.example; nothing else trusts it. */
export const tls = {
  cert: fixture('supplier.cert.pem'),
  key: fixture('supplier.key.pem'),
};

export const noEgress = { noProxy: '', egressProxies: [] };

/** The cases that are read after this are tried through a proxy. */
export function tryByProxy(difference: Pick<Way, 'tls'>): void {
  let proxy: ForwardProxy;
  beforeAll(async () => (proxy = await forwardProxy({ resolve: () => '127.0.0.1' })));
  afterAll(() => proxy.close());
  goBy({
    open: (terms, guard) =>
      new SelectingTransport(
        { ...terms, ...noEgress, egressProxy: `http://127.0.0.1:${proxy.port}`, egressCa: tls.cert },
        guard,
      ),
    isDirect: false,
    name: 'supplier.example',
    ...difference,
  });
}
