import { earliestExpiry } from '../platform';
import type { CredentialStore } from './credential-store.service';
import { CLIENT_CERTIFICATE } from './credential.entity';
import type { ProviderView } from './views';

/** Certificates of a single provider: its trusted CAs, or the client certificate presented to it. */
export interface ProviderCertificate {
  readonly provider: string;
  readonly what: 'ca' | typeof CLIENT_CERTIFICATE;
  /** Earliest expiry; null if the certificates cannot be read. */
  readonly endsAt: Date | null;
}

/** Covers only visible providers, since others are never called. */
export const providerCertificates = (
  providers: readonly ProviderView[],
  store: Pick<CredentialStore, 'egressOf'>,
): ProviderCertificate[] =>
  providers.filter(({ visible }) => visible).flatMap((provider) => certificatesOf(provider, store));

function certificatesOf(
  provider: ProviderView,
  store: Pick<CredentialStore, 'egressOf'>,
): ProviderCertificate[] {
  const certificateOf = (what: ProviderCertificate['what'], endsAt: Date | null): ProviderCertificate => ({
    provider: provider.name,
    what,
    endsAt,
  });
  try {
    const { ca, identity } = store.egressOf(provider) ?? {};
    return [
      ...(ca === undefined ? [] : [certificateOf('ca', earliestExpiry(ca))]),
      ...(identity === undefined
        ? []
        : [certificateOf(CLIENT_CERTIFICATE, earliestExpiry(identity.certificate))]),
    ];
  } catch {
    return [certificateOf(CLIENT_CERTIFICATE, null)];
  }
}
