import { Injectable } from '@nestjs/common';
import { MIN_PASSWORD_LENGTH } from '../../identity';
import { LegalLibrary } from '../public/legal/legal-library';
import { IdentityProviderRegistry } from './providers/identity-provider-registry';

@Injectable()
export class SignUpModel {
  constructor(
    private readonly legal: LegalLibrary,
    private readonly providers: IdentityProviderRegistry,
  ) {}

  build() {
    return {
      least: MIN_PASSWORD_LENGTH,
      version: this.legal.currentTerms,
      providers: this.providers.signInLinks(),
    };
  }
}
