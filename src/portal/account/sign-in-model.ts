import { Injectable } from '@nestjs/common';
import type { HttpRequest } from '../../web';
import { LegalLibrary } from '../public/legal/legal-library';
import { Directories } from './directories';
import { PasskeyDoor } from './passkeys/passkey-door';
import { Providers } from './providers/providers';

/** The ways in that the sign-in page shows, also when one of its forms is refused. */
@Injectable()
export class SignInModel {
  constructor(
    private readonly directories: Directories,
    private readonly legal: LegalLibrary,
    private readonly providers: Providers,
    private readonly passkeys: PasskeyDoor,
  ) {}

  /** `within` is the directory whose form is shown. */
  of(request: HttpRequest, next = '', within = '') {
    const directory = this.directories.find(within);
    if (directory !== undefined)
      return {
        directory: { id: directory.name, name: directory.part.label, version: this.legal.currentTerms },
        providers: [],
        isProviderOnly: false,
        offersPasskeys: false,
      };
    const providers = [...this.directories.shown(next), ...this.providers.shown(next)];
    const isProviderOnly = request.reseller?.isProviderOnly === true && providers.length > 0;
    return { providers, isProviderOnly, offersPasskeys: this.passkeys.isOffered(request) };
  }
}
