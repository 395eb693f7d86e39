import { Injectable } from '@nestjs/common';
import {
  type ContentConsent,
  OwnAccountService,
  Passkeys,
  MIN_PASSWORD_LENGTH,
  SecondFactors,
  TelemetryContent,
} from '../../identity';
import { atLeast, canonicalZone, type UserRole, timeZones } from '../../kernel';
import { type Locale, locales } from '../../views';
import { actorOf, type HttpRequest, PageRenderer, PortalHosts } from '../../web';
import { Directories } from './directories';
import { PasskeySignIn } from './passkeys/passkey-sign-in';
import { IdentityLinks } from './providers/identity-links';
import { IdentityProviderRegistry } from './providers/identity-provider-registry';
import { sessionLabel } from './session-label';

interface SettingsChoice {
  readonly value: string;
  readonly label: string;
  readonly selected: boolean;
}

interface SettingsPage {
  readonly account: { readonly displayName: string; readonly email: string };
  readonly languages: readonly SettingsChoice[];
  readonly zones: readonly SettingsChoice[];
}

@Injectable()
export class SettingsModel {
  readonly view = 'pages/dashboard/settings';

  constructor(
    private readonly pages: PageRenderer,
    private readonly accounts: OwnAccountService,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly passkeySignIn: PasskeySignIn,
    private readonly providers: IdentityProviderRegistry,
    private readonly directories: Directories,
    private readonly links: IdentityLinks,
    private readonly hosts: PortalHosts,
    private readonly content: TelemetryContent,
  ) {}

  async build(request: HttpRequest): Promise<SettingsPage> {
    const translate = this.pages.textsFor(request);
    const { userId, sessionId, role } = actorOf(request);
    const [account, password, sessions, identities, hasSecondFactor, passkeys, consent] = await Promise.all([
      this.accounts.find(userId),
      this.accounts.passwordState(userId),
      this.accounts.sessions(userId),
      this.accounts.identities(userId),
      this.factors.isEnabled(userId),
      this.passkeys.list(userId),
      this.content.of({ userId }),
    ]);
    const page = {
      account: { displayName: account.displayName, email: account.email },
      ...localeChoices(account.preferredLanguage, account.timeZone),
      least: MIN_PASSWORD_LENGTH,
      hasPassword: password === 'set',
      isProviderOnly: password === 'void',
      hasSecondFactor,
      passkeys,
      passkeyChoices: passkeys.map(({ publicId, name }) => ({
        value: publicId,
        label: name,
        selected: false,
      })),
      offersPasskeys: this.passkeySignIn.isOffered(request) && password !== 'void',
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
      // Provider callbacks return to BASE_URL, where a session of another host is unknown.
      providers: this.hosts.otherOriginOf(request) === undefined ? this.providers.signInLinks() : [],
      directories: this.directories.listLinkable(),
      content: telemetryContentModel(consent, role, account.email),
    };
    return page;
  }
}

/**
 * Card about telemetry content, also shown to members who cannot change it. Null if there is nothing to show or decide.
 */
function telemetryContentModel(
  { organisation, isOn, isAllowed }: ContentConsent,
  role: UserRole,
  email: string,
) {
  const canDecide = organisation === null || atLeast(role, 'org_owner');
  if (!isOn && !(isAllowed && canDecide)) return null;
  const path = `/dashboard/settings/telemetry${organisation === null ? '' : '/organisation'}`;
  const state = !isOn ? 'off' : isAllowed ? 'on' : 'waits';
  return { scope: organisation ?? email, isOn, state, action: canDecide ? path : null };
}

const localeChoices = (language: string, zone: string): Pick<SettingsPage, 'languages' | 'zones'> => ({
  languages: locales.map((value) => ({ value, label: languageName(value), selected: value === language })),
  zones: timeZones.map((value) => ({
    value,
    label: value,
    selected: value === (canonicalZone(zone) ?? 'UTC'),
  })),
});

const languageName = (locale: Locale): string =>
  new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale;
