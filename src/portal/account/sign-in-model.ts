import { Injectable } from '@nestjs/common';
import type { HttpRequest } from '../../web';
import { LegalLibrary } from '../public/legal/legal-library';
import { Directories } from './directories';
import { PasskeySignIn } from './passkeys/passkey-sign-in';
import { IdentityProviderRegistry } from './providers/identity-provider-registry';

@Injectable()
export class SignInModel {
  constructor(
    private readonly directories: Directories,
    private readonly legal: LegalLibrary,
    private readonly providers: IdentityProviderRegistry,
    private readonly passkeys: PasskeySignIn,
  ) {}

  /** With `directoryId`, returns the form of that directory only. */
  build(request: HttpRequest, next = '', directoryId = '') {
    const directory = this.directories.find(directoryId);
    if (directory !== undefined)
      return {
        directory: { id: directory.name, name: directory.part.label, version: this.legal.currentTerms },
        providers: [],
        isProviderOnly: false,
        offersPasskeys: false,
      };
    const providers = [...this.directories.signInLinks(next), ...this.providers.signInLinks(next)];
    const isProviderOnly = request.reseller?.isProviderOnly === true && providers.length > 0;
    return { providers, isProviderOnly, offersPasskeys: this.passkeys.isOffered(request) };
  }
}
