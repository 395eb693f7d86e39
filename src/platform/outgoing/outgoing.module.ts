import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { type AllowedNetwork, Settings, sinkOrigin } from '../config';
import { AddressGuard, SelectingTransport } from '../supplier-http';
import { OutgoingClient } from './outgoing-client';

/** All addresses, for a host that the operator named. */
const everywhere = [
  { address: '0.0.0.0', prefix: 0, family: 'ipv4' },
  { address: '::', prefix: 0, family: 'ipv6' },
] as const;

/** The payment sandbox, whose port is known only at run time. */
const sandbox: AllowedNetwork = { address: '127.0.0.1', prefix: 32, family: 'ipv4', host: '127.0.0.1' };

/** The operator's own addresses can be private; those that others name in their responses cannot. */
function operatorNetworks(settings: Settings, additional: readonly string[]): AllowedNetwork[] {
  const named = [
    ...additional,
    settings.idp1Issuer,
    settings.idp2Issuer,
    settings.idp1ApiUrl,
    settings.idp2ApiUrl,
    settings.processorApiUrl,
    ...settings.httpGates.map(({ url }) => url),
    ...settings.httpTaps.map(({ url }) => url),
    ...settings.sinks.map(sinkOrigin),
  ].filter((address) => address !== undefined);
  const ownNetworks = settings.processor === 'sandbox' ? [sandbox] : [];
  const namedNetworks = named.flatMap((address) => {
    const { hostname, port, protocol } = new URL(address);
    const defaultPort = protocol === 'https:' ? 443 : 80;
    return everywhere.map((network) => ({ ...network, host: hostname, port: Number(port) || defaultPort }));
  });
  return [...ownNetworks, ...namedNetworks];
}

/** `additional` are addresses that the operator names outside the settings, such as on the command line. */
export const outgoingClient = (settings: Settings, additional: readonly string[] = []): OutgoingClient =>
  new OutgoingClient(
    new SelectingTransport(
      settings,
      new AddressGuard([...settings.supplierAllow, ...operatorNetworks(settings, additional)]),
    ),
  );

/** Code of extensions reaches no private network except those that the operator allows for suppliers. */
export const extensionsClient = (settings: Settings): OutgoingClient =>
  new OutgoingClient(new SelectingTransport(settings, new AddressGuard(settings.supplierAllow)));

@Module({
  providers: [
    {
      provide: OutgoingClient,
      inject: [Settings],
      useFactory: (settings: Settings) => outgoingClient(settings),
    },
  ],
  exports: [OutgoingClient],
})
export class OutgoingModule implements OnApplicationShutdown {
  constructor(private readonly client: OutgoingClient) {}

  onApplicationShutdown(): void {
    this.client.close();
  }
}
