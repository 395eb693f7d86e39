import { Injectable } from '@nestjs/common';
import { OwnAccountService, PASSWORD_LEAST, SecondFactors } from '../../identity';
import { type Locale, locales } from '../../views';
import { actorOf, type HttpRequest } from '../../web';
import { Providers } from './providers/providers';

/** What the page of a person's settings shows, also when one of its forms is refused. */
@Injectable()
export class SettingsModel {
  readonly view = 'pages/dashboard/settings';

  constructor(
    private readonly accounts: OwnAccountService,
    private readonly factors: SecondFactors,
    private readonly providers: Providers,
  ) {}

  async of(request: HttpRequest): Promise<object> {
    const { userId, sessionId } = actorOf(request);
    const [account, hasPassword, sessions, identities, hasSecondFactor] = await Promise.all([
      this.accounts.find(userId),
      this.accounts.hasPassword(userId),
      this.accounts.sessions(userId),
      this.accounts.identities(userId),
      this.factors.isOn(userId),
    ]);
    return {
      account: { displayName: account.displayName, email: account.email },
      languages: locales.map((value) => ({
        value,
        label: nameOf(value),
        selected: value === account.preferredLanguage,
      })),
      zones: Intl.supportedValuesOf('timeZone')
        .concat('UTC')
        .map((value) => ({ value, label: value, selected: value === account.timeZone })),
      least: PASSWORD_LEAST,
      hasPassword,
      hasSecondFactor,
      sessions: sessions.map((session) => ({ ...session, current: session.publicId === sessionId })),
      identities: identities.map(({ issuer, email, linkedAt }) => ({ issuer, email, linkedAt })),
      providers: this.providers.shown(),
    };
  }
}

const nameOf = (locale: Locale): string =>
  new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale;
