import { Injectable } from '@nestjs/common';
import type { HttpRequest } from '../../web';
import { PasskeyDoor } from './passkeys/passkey-door';
import { Providers } from './providers/providers';

/** The ways in that the sign-in page shows, also when one of its forms is refused. */
@Injectable()
export class SignInModel {
  constructor(
    private readonly providers: Providers,
    private readonly passkeys: PasskeyDoor,
  ) {}

  of(request: HttpRequest, next = '') {
    const providers = this.providers.shown(next);
    const isProviderOnly = request.reseller?.isProviderOnly === true && providers.length > 0;
    return { providers, isProviderOnly, offersPasskeys: this.passkeys.isOffered(request) };
  }
}
