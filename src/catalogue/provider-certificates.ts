import { firstEndIn } from '../platform';
import type { CredentialStore } from './credential-store.service';
import { CLIENT_CERTIFICATE } from './credential.entity';
import type { ProviderView } from './views';

/** Certificates of one provider alone: those it is trusted by, or the one that it is shown. */
export interface ProviderCertificate {
  readonly provider: string;
  readonly what: 'ca' | typeof CLIENT_CERTIFICATE;
  /** The first of them ends then; null where they cannot be read. */
  readonly endsAt: Date | null;
}

/** Of providers that are called. */
export const providerCertificates = (
  providers: readonly ProviderView[],
  store: Pick<CredentialStore, 'egressOf'>,
): ProviderCertificate[] =>
  providers.filter(({ visible }) => visible).flatMap((provider) => certificatesOf(provider, store));

function certificatesOf(
  provider: ProviderView,
  store: Pick<CredentialStore, 'egressOf'>,
): ProviderCertificate[] {
  const found = (what: ProviderCertificate['what'], endsAt: Date | null): ProviderCertificate => ({
    provider: provider.name,
    what,
    endsAt,
  });
  try {
    const { ca, identity } = store.egressOf(provider) ?? {};
    return [
      ...(ca === undefined ? [] : [found('ca', firstEndIn(ca))]),
      ...(identity === undefined ? [] : [found(CLIENT_CERTIFICATE, firstEndIn(identity.certificate))]),
    ];
  } catch {
    return [found(CLIENT_CERTIFICATE, null)];
  }
}
