import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { type AllowedNetwork, Settings, sinkOrigin } from '../config';
import { AddressGuard, ChosenTransport } from '../supplier-http';
import { OutgoingClient } from './outgoing-client';

/** The whole internet, for a host that the operator named. */
const everywhere = [
  { address: '0.0.0.0', prefix: 0, family: 'ipv4' },
  { address: '::', prefix: 0, family: 'ipv6' },
] as const;

/** The sandbox of payments, whose port is known when it runs. */
const sandbox: AllowedNetwork = { address: '127.0.0.1', prefix: 32, family: 'ipv4', host: '127.0.0.1' };

/** The operator's own addresses may be private; what others name in their answers may not. */
function namedByOperator(settings: Settings, also: readonly string[]): AllowedNetwork[] {
  const named = [
    ...also,
    settings.idp1Issuer,
    settings.idp2Issuer,
    settings.idp1ApiUrl,
    settings.idp2ApiUrl,
    settings.processorApiUrl,
    ...settings.httpGates.map(({ url }) => url),
    ...settings.httpTaps.map(({ url }) => url),
    ...settings.sinks.map(sinkOrigin),
  ].filter((address) => address !== undefined);
  const ours = settings.processor === 'sandbox' ? [sandbox] : [];
  const theirs = named.flatMap((address) => {
    const { hostname, port, protocol } = new URL(address);
    const usual = protocol === 'https:' ? 443 : 80;
    return everywhere.map((network) => ({ ...network, host: hostname, port: Number(port) || usual }));
  });
  return [...ours, ...theirs];
}

/** Further addresses are those that the operator names elsewhere than in settings, such as on the command line. */
export const outgoingClient = (settings: Settings, also: readonly string[] = []): OutgoingClient =>
  new OutgoingClient(
    new ChosenTransport(
      settings,
      new AddressGuard([...settings.supplierAllow, ...namedByOperator(settings, also)]),
    ),
  );

/** Code of extensions reaches no private network but those that the operator allows for suppliers. */
export const extensionsClient = (settings: Settings): OutgoingClient =>
  new OutgoingClient(new ChosenTransport(settings, new AddressGuard(settings.supplierAllow)));

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
