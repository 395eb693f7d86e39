import { Injectable } from '@nestjs/common';
import { LinkedIdentities, OwnAccountService, type ProvenIdentity } from '../../../identity';
import { AccountNotices } from '../account-notices';
import { Directories } from '../directories';
import { IdentityProviderRegistry } from './identity-provider-registry';

@Injectable()
export class IdentityLinks {
  constructor(
    private readonly providers: IdentityProviderRegistry,
    private readonly directories: Directories,
    private readonly identities: LinkedIdentities,
    private readonly accounts: OwnAccountService,
    private readonly notices: AccountNotices,
  ) {}

  /** Display name of a provider or directory; defaults to the issuer if it is no longer configured. */
  nameOf(issuer: string): string {
    return this.directories.nameOf(issuer) ?? this.providers.nameOf(issuer);
  }

  async link(identity: ProvenIdentity, userId: number): Promise<void> {
    if ((await this.identities.link(identity, userId)) === 'known') return;
    const values = { provider: this.nameOf(identity.issuer), identity: identity.email ?? identity.subject };
    await this.notices.notify(userId, 'provider-linked', values);
  }

  async unlink(userId: number, issuer: string): Promise<void> {
    const identity = await this.accounts.unlink(userId, issuer);
    await this.notices.notify(userId, 'provider-unlinked', { provider: this.nameOf(issuer), identity });
  }
}
