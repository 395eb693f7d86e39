import { Secret, TOTP } from 'otpauth';
import { type Answer, type Browser } from './account-house';
import { base, ProviderHouse, type Someone, throughProvider } from './provider-house';

/** A host of a reseller that is proven, and one that is not. */
export const proven = 'http://models.host.example';
export const unproven = 'http://new.host.example';

export interface Member extends Someone {
  readonly userId: number;
}

interface Way {
  readonly portal?: string;
  readonly next?: string;
  /** At BASE_URL. */
  readonly here?: Browser;
}

interface Journey {
  readonly there: Browser;
  readonly here: Browser;
}

export const stateIn = (page: Answer): string =>
  /name="state" value="([\w-]{43})"/.exec(page.text)?.[1] ?? '';

export const agree = (browser: Browser, state: string, headers = {}): Promise<Answer> =>
  browser.post('/auth/sso/hand-off', { state }, headers);

export const isIn = async (browser: Browser): Promise<boolean> =>
  (await browser.get('/api/legal/status')).status === 200;

export const codeOf = (secret: string, step = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 });

export const secretIn = ({ text }: Answer): string =>
  (/<code>([A-Z2-7 ]{39})<\/code>/.exec(text)?.[1] ?? '').replaceAll(' ', '');

/** Two organisations, and the portals of one of them. */
export class HandOffHouse {
  private constructor(
    readonly providers: ProviderHouse,
    readonly ours: number,
    readonly theirs: number,
  ) {}

  static async start(): Promise<HandOffHouse> {
    const providers = await ProviderHouse.start();
    const { database } = providers.app;
    const rows = await database.query<{ id: number }>(
      "INSERT INTO organisation (name, slug) VALUES ('Ours', 'ours'), ('Theirs', 'theirs') RETURNING id",
    );
    const [ours = 0, theirs = 0] = rows.map(({ id }) => id);
    await database.query(
      `INSERT INTO reseller_domain (host, organisation_id, name, proven_at, seen_at)
       VALUES ('models.host.example', $1, 'Host Models', now(), now()), ('new.host.example', $1, 'New', NULL, NULL)`,
      [ours],
    );
    return new HandOffHouse(providers, ours, theirs);
  }

  /** Somebody whom the provider and the service know, of an organisation. */
  async member(organisationId: number | null = this.ours, role = 'user'): Promise<Member> {
    const person = await this.providers.someone(1);
    expect((await this.providers.enter(1, person)).status).toBe(303);
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

  /** The way from a portal to BASE_URL, to the provider and back: what the callback answers. */
  async cameBack(
    person: Someone,
    { portal = proven, next = '/dashboard/usage', here = this.providers.traveller() }: Way = {},
  ): Promise<Journey & { answer: Answer }> {
    const there = this.providers.traveller(portal);
    const query = `?next=${encodeURIComponent(next)}`;
    const toBase = new URL(await this.providers.startOf(there, 1, query));
    expect(toBase.origin).toBe(base);
    const away = await here.get(toBase.pathname + toBase.search);
    const answer = await here.get(await throughProvider(away.location ?? '', person));
    return { there, here, answer };
  }

  /** As far as the page that asks. */
  async asked(person: Someone, way: Way = {}): Promise<Journey & { page: Answer; state: string }> {
    const { there, here, answer } = await this.cameBack(person, way);
    expect([answer.status, answer.location]).toEqual([303, '/login/hand-off']);
    const page = await here.page('/login/hand-off');
    expect(page.status).toBe(200);
    return { there, here, page, state: stateIn(page) };
  }

  /** As far as the address at the portal. */
  async agreed(person: Someone, way: Way = {}): Promise<Journey & { url: URL; path: string }> {
    const { there, here, state } = await this.asked(person, way);
    const answer = await agree(here, state);
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('/auth/sso/complete')]);
    const url = new URL(String(answer.json()['url']));
    return { there, here, url, path: url.pathname + url.search };
  }
}
