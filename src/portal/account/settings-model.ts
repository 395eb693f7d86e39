import { Injectable } from '@nestjs/common';
import {
  type ContentConsent,
  OwnAccountService,
  Passkeys,
  PASSWORD_LEAST,
  SecondFactors,
  TelemetryContent,
} from '../../identity';
import { atLeast, canonicalZone, type Role, timeZones } from '../../kernel';
import { type Locale, locales } from '../../views';
import { actorOf, type HttpRequest, PageRenderer, PortalHosts } from '../../web';
import { Directories } from './directories';
import { PasskeyDoor } from './passkeys/passkey-door';
import { IdentityLinks } from './providers/identity-links';
import { Providers } from './providers/providers';
import { sessionLabel } from './session-label';

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly selected: boolean;
}

interface SettingsPage {
  readonly account: { readonly displayName: string; readonly email: string };
  readonly languages: readonly Choice[];
  readonly zones: readonly Choice[];
}

/** The page of a person's settings shows this, also when one of its forms is refused. */
@Injectable()
export class SettingsModel {
  readonly view = 'pages/dashboard/settings';

  constructor(
    private readonly pages: PageRenderer,
    private readonly accounts: OwnAccountService,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly door: PasskeyDoor,
    private readonly providers: Providers,
    private readonly directories: Directories,
    private readonly links: IdentityLinks,
    private readonly hosts: PortalHosts,
    private readonly content: TelemetryContent,
  ) {}

  async of(request: HttpRequest): Promise<SettingsPage> {
    const translate = this.pages.textsFor(request);
    const { userId, sessionId, role } = actorOf(request);
    const [account, password, sessions, identities, hasSecondFactor, passkeys, consent] = await Promise.all([
      this.accounts.find(userId),
      this.accounts.passwordState(userId),
      this.accounts.sessions(userId),
      this.accounts.identities(userId),
      this.factors.isOn(userId),
      this.passkeys.list(userId),
      this.content.of({ userId }),
    ]);
    const page = {
      account: { displayName: account.displayName, email: account.email },
      ...choicesOf(account.preferredLanguage, account.timeZone),
      least: PASSWORD_LEAST,
      hasPassword: password === 'set',
      isProviderOnly: password === 'void',
      hasSecondFactor,
      passkeys,
      passkeyChoices: passkeys.map(({ publicId, name }) => ({
        value: publicId,
        label: name,
        selected: false,
      })),
      offersPasskeys: this.door.isOffered(request) && password !== 'void',
      sessions: sessions.map((session) => ({
        ...session,
        label: sessionLabel(session.userAgent, translate),
        current: session.publicId === sessionId,
      })),
      identities: identities.map(({ issuer, email, linkedAt }) => ({
        issuer,
        name: this.links.nameOf(issuer),
        email,
        linkedAt,
      })),
      // Their answers come back to BASE_URL, where a session of another address is not known.
      providers: this.hosts.otherOriginOf(request) === undefined ? this.providers.shown() : [],
      directories: this.directories.linkable(),
      content: contentOf(consent, role, account.email),
    };
    return page;
  }
}

/** Members are told as well; without anything to tell or to decide there is no card. */
function contentOf({ organisation, isOn, isAllowed }: ContentConsent, role: Role, email: string) {
  const mayDecide = organisation === null || atLeast(role, 'org_owner');
  if (!isOn && !(isAllowed && mayDecide)) return null;
  const path = `/dashboard/settings/telemetry${organisation === null ? '' : '/organisation'}`;
  const state = !isOn ? 'off' : isAllowed ? 'on' : 'waits';
  return { scope: organisation ?? email, isOn, state, action: mayDecide ? path : null };
}

const choicesOf = (language: string, zone: string): Pick<SettingsPage, 'languages' | 'zones'> => ({
  languages: locales.map((value) => ({ value, label: nameOf(value), selected: value === language })),
  zones: timeZones.map((value) => ({
    value,
    label: value,
    selected: value === (canonicalZone(zone) ?? 'UTC'),
  })),
});

const nameOf = (locale: Locale): string =>
  new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale;
