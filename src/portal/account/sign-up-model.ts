import { Injectable } from '@nestjs/common';
import { PASSWORD_LEAST } from '../../identity';
import { LegalLibrary } from '../public/legal/legal-library';
import { Providers } from './providers/providers';

/** The sign-up page shows this, also when one of its forms is refused. */
@Injectable()
export class SignUpModel {
  constructor(
    private readonly legal: LegalLibrary,
    private readonly providers: Providers,
  ) {}

  read() {
    return { least: PASSWORD_LEAST, version: this.legal.currentTerms, providers: this.providers.shown() };
  }
}
