import {
  AddressGuard,
  ChosenTransport,
  type SupplierRequest,
  type SupplierTransport,
} from '../../../../../src/platform/supplier-http';
import { closeLater, settings } from '../wire/raw-supplier';
import { noEgress, tls } from './by-proxy';

type Egress = Partial<ConstructorParameters<typeof ChosenTransport>[0]>;

export function transport(egress: Egress = {}): SupplierTransport {
  const guard = new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }], () =>
    Promise.resolve(['127.0.0.1']),
  );
  const made = new ChosenTransport(
    { ...settings, ...noEgress, egressCa: tls.cert, egressHttp2: true, ...egress },
    guard,
  );
  closeLater(() => made.close());
  return made;
}

export const to = (port: number, extra: Partial<SupplierRequest> = {}): SupplierRequest => ({
  url: new URL(`https://supplier.example:${port}/v1/x?y=1`),
  method: 'GET',
  headers: {},
  ...extra,
});
