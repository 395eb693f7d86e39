import { Injectable } from '@nestjs/common';
import { LinkedIdentities, OwnAccountService, type ProvenIdentity } from '../../../identity';
import { AccountNotices } from '../account-notices';
import { Directories } from '../directories';
import { Providers } from './providers';

/** Links identities to accounts and takes them away; the owner is told by mail. */
@Injectable()
export class IdentityLinks {
  constructor(
    private readonly providers: Providers,
    private readonly directories: Directories,
    private readonly identities: LinkedIdentities,
    private readonly accounts: OwnAccountService,
    private readonly notices: AccountNotices,
  ) {}

  /** People know a provider or a directory by this; the issuer of one that is gone stands for itself. */
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
