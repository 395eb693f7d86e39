import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SelectingTransport } from '../../../../../src/platform/supplier-http';
import { type ForwardProxy, startForwardProxy } from '../../../../support/forward-proxy';
import { useVariant, type ConnectionVariant } from '../wire/raw-supplier';

export const fixture = (name: string): string =>
  readFileSync(join(__dirname, '../../../../fixtures/tls', name), 'utf8');

/** Test certificate for the name supplier.example; no other code trusts it. */
export const tls = {
  cert: fixture('supplier.cert.pem'),
  key: fixture('supplier.key.pem'),
};

export const noEgress = { noProxy: '', egressProxies: [] };

/** Runs the cases that are imported afterwards through a proxy. */
export function runThroughProxy(difference: Pick<ConnectionVariant, 'tls'>): void {
  let proxy: ForwardProxy;
  beforeAll(async () => (proxy = await startForwardProxy({ resolve: () => '127.0.0.1' })));
  afterAll(() => proxy.close());
  useVariant({
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
