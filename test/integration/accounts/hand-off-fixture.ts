import { Secret, TOTP } from 'otpauth';
import { type BrowserResponse, type Browser } from './account-fixture';
import { base, ProviderFixture, type ProviderPerson, signInAtProvider } from './provider-fixture';

/** Reseller host with a current domain proof. */
export const proven = 'http://models.host.example';
export const unproven = 'http://new.host.example';

export interface HandOffMember extends ProviderPerson {
  readonly userId: number;
}

interface HandOffOptions {
  readonly portal?: string;
  readonly next?: string;
  /** Browser at BASE_URL. */
  readonly here?: Browser;
}

interface HandOffBrowsers {
  readonly there: Browser;
  readonly here: Browser;
}

export const stateIn = (page: BrowserResponse): string =>
  /name="state" value="([\w-]{43})"/.exec(page.text)?.[1] ?? '';

export const agree = (browser: Browser, state: string, headers = {}): Promise<BrowserResponse> =>
  browser.post('/auth/sso/hand-off', { state }, headers);

export const isIn = async (browser: Browser): Promise<boolean> =>
  (await browser.get('/api/legal/status')).status === 200;

export const codeOf = (secret: string, step = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 });

export const secretIn = ({ text }: BrowserResponse): string =>
  (/<code>([A-Z2-7 ]{39})<\/code>/.exec(text)?.[1] ?? '').replaceAll(' ', '');

/** Two organisations and the portals of one of them. */
export class HandOffFixture {
  private constructor(
    readonly providers: ProviderFixture,
    readonly ownOrganisation: number,
    readonly otherOrganisation: number,
  ) {}

  static async start(): Promise<HandOffFixture> {
    const providers = await ProviderFixture.start();
    const { database } = providers.app;
    const rows = await database.query<{ id: number }>(
      "INSERT INTO organisation (name, slug) VALUES ('Ours', 'ours'), ('Theirs', 'theirs') RETURNING id",
    );
    const [ownOrganisation = 0, otherOrganisation = 0] = rows.map(({ id }) => id);
    await database.query(
      `INSERT INTO reseller_domain (host, organisation_id, name, proven_at, seen_at)
       VALUES ('models.host.example', $1, 'Host Models', now(), now()), ('new.host.example', $1, 'New', NULL, NULL)`,
      [ownOrganisation],
    );
    return new HandOffFixture(providers, ownOrganisation, otherOrganisation);
  }

  /** Creates a user of an organisation, known to the provider and to the service. */
  async createMember(
    organisationId: number | null = this.ownOrganisation,
    role = 'user',
  ): Promise<HandOffMember> {
    const person = await this.providers.createPerson(1);
    expect((await this.providers.signIn(1, person)).status).toBe(303);
    const { database } = this.providers.app;
    const [row] = await database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
      person.email,
    ]);
    const userId = row?.id ?? 0;
    await database.query('UPDATE user_account SET organisation_id = $2, role = $3 WHERE id = $1', [
      userId,
      organisationId,
      role,
    ]);
    return { ...person, userId };
  }

  /** Signs in from a portal through BASE_URL and the provider; returns the callback response. */
  async signInThroughProvider(
    person: ProviderPerson,
    { portal = proven, next = '/dashboard/usage', here = this.providers.browserAt() }: HandOffOptions = {},
  ): Promise<HandOffBrowsers & { answer: BrowserResponse }> {
    const there = this.providers.browserAt(portal);
    const query = `?next=${encodeURIComponent(next)}`;
    const baseUrl = new URL(await this.providers.startSignIn(there, 1, query));
    expect(baseUrl.origin).toBe(base);
    const redirectToProvider = await here.get(baseUrl.pathname + baseUrl.search);
    const answer = await here.get(await signInAtProvider(redirectToProvider.location ?? '', person));
    return { there, here, answer };
  }

  /** Continues as far as the consent page. */
  async reachConsentPage(
    person: ProviderPerson,
    options: HandOffOptions = {},
  ): Promise<HandOffBrowsers & { page: BrowserResponse; state: string }> {
    const { there, here, answer } = await this.signInThroughProvider(person, options);
    expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
    const page = await here.page('/login/hand-off');
    expect(page.status).toBe(200);
    return { there, here, page, state: stateIn(page) };
  }

  /** Gives consent and returns the completion URL at the portal. */
  async giveConsent(
    person: ProviderPerson,
    options: HandOffOptions = {},
  ): Promise<HandOffBrowsers & { url: URL; path: string }> {
    const { there, here, state } = await this.reachConsentPage(person, options);
    const answer = await agree(here, state);
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('/auth/sso/complete')]);
    const url = new URL(String(answer.json()['url']));
    return { there, here, url, path: url.pathname + url.search };
  }
}
