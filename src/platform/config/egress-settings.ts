import 'reflect-metadata';
import { BillingSettings } from './billing-settings';
import { certificates, privateKey, proxies, type ProxySetting, proxyAddress } from './egress-readers';
import { text } from './readers';
import { Setting } from './setting.decorator';

export abstract class EgressSettings extends BillingSettings {
  @Setting({
    name: 'EGRESS_PROXY',
    group: 'Egress',
    describe:
      'The proxy that suppliers, identity providers, the payment processor, webhooks, sinks, alerts and receivers of telemetry are reached by, with user and password where it wants some (docs/egress.md).',
    as: proxyAddress,
    unset: 'they are reached directly',
    secret: true,
  })
  readonly egressProxy?: string;

  @Setting({
    name: 'NO_PROXY',
    group: 'Egress',
    describe:
      'What is reached without EGRESS_PROXY: host names with all below them, addresses, networks such as 10.0.0.0/8, each with a port where only that is meant, or * for everything, with commas between them.',
    as: text('a comma list of hosts, addresses and networks'),
    default: '',
  })
  readonly noProxy: string;

  @Setting({
    name: 'EGRESS_PROXIES',
    group: 'Egress',
    describe:
      'Proxies that single suppliers name in their settings: NAME=URL with commas between them (docs/egress.md).',
    as: proxies,
    default: '',
    secret: true,
  })
  readonly egressProxies: readonly ProxySetting[];

  @Setting({
    name: 'EGRESS_CA',
    group: 'Egress',
    describe:
      'Certificates of authorities, in PEM, that are trusted besides the usual ones where connections go out over TLS; mostly given as EGRESS_CA_FILE.',
    as: certificates,
    unset: 'the usual ones alone',
  })
  readonly egressCa?: string;

  @Setting({
    name: 'EGRESS_CLIENT_CERTIFICATE',
    group: 'Egress',
    describe:
      'The certificate, in PEM and with those that vouch for it, that suppliers get who ask for one; mostly given as EGRESS_CLIENT_CERTIFICATE_FILE.',
    as: certificates,
    unset: 'none is shown, except to suppliers that have one of their own',
  })
  readonly egressClientCertificate?: string;

  @Setting({
    name: 'EGRESS_CLIENT_KEY',
    group: 'Egress',
    describe: 'The private key of EGRESS_CLIENT_CERTIFICATE, in PEM and without a passphrase.',
    as: privateKey,
    unset: 'none',
    secret: true,
  })
  readonly egressClientKey?: string;
}
