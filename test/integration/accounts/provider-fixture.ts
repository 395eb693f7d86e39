import { join } from 'node:path';
import type { TestApp } from '../../support/app';
import { runChild } from '../../support/child';
import type { Program } from '../../system/program';
import { Browser, newAddress, startAccountFixture } from './account-fixture';

export const base = 'http://portal.localhost';
export const reseller = 'http://models.reseller.example';

export interface ProviderPerson {
  readonly id: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
  readonly groups?: readonly string[];
}

/** The service with two identity providers, each in its own process. */
export class ProviderFixture {
  private count = 0;

  private constructor(
    readonly app: TestApp,
    private readonly providers: readonly { readonly child: Program; readonly issuer: string }[],
  ) {}

  static async start(): Promise<ProviderFixture> {
    const [one, two] = await Promise.all([startProviderProcess(), startProviderProcess()]);
    const client = (slot: string, issuer: string) => ({
      [`${slot}_ISSUER`]: issuer,
      [`${slot}_CLIENT_ID`]: 'switchboard',
      [`${slot}_CLIENT_SECRET`]: 'a secret of the tests that is long enough',
    });
    const app = await startAccountFixture({
      environment: {
        BASE_URL: base,
        PORTAL_ORIGINS: reseller,
        ...client('IDP1', one.issuer),
        ...client('IDP2', two.issuer),
        IDP1_NAME: 'House directory',
        IDP2_ROLES: 'staff=user,heads=org_admin,operators=platform_admin',
      },
    });
    return new ProviderFixture(app, [one, two]);
  }

  async close(): Promise<void> {
    await this.app.close();
    for (const { child } of this.providers) child.kill();
    await Promise.all(this.providers.map(({ child }) => child.ended));
  }

  issuerOf(slot: 1 | 2): string {
    return this.providers[slot - 1]?.issuer ?? '';
  }

  /** The Host header selects BASE_URL or the reseller's host, whatever address the service listens on. */
  browserAt(origin = base): Browser {
    return new Browser(this.app.url, { host: new URL(origin).host });
  }

  async createPerson(slot: 1 | 2, attributes: Partial<ProviderPerson> = {}): Promise<ProviderPerson> {
    const person = {
      id: `person-${++this.count}`,
      email: newAddress(),
      email_verified: true,
      name: 'Ina Roth',
      ...attributes,
    };
    await this.setPerson(slot, person);
    return person;
  }

  /** Updates the claims that the provider returns for a person. */
  async setPerson(slot: 1 | 2, person: ProviderPerson): Promise<void> {
    const answer = await fetch(`${this.issuerOf(slot)}/people`, {
      method: 'POST',
      body: JSON.stringify(person),
    });
    expect(answer.status).toBe(200);
  }

  async startSignIn(browser: Browser, slot: 1 | 2, query = ''): Promise<string> {
    return (await browser.get(`/auth/idp${slot}${query}`)).location ?? '';
  }

  async signIn(
    slot: 1 | 2,
    person: ProviderPerson,
    query = '',
  ): Promise<{ browser: Browser; callback: string; location: string | null; status: number }> {
    const browser = this.browserAt();
    await browser.post('/auth/accept-tos', { terms: true });
    const callback = await signInAtProvider(await this.startSignIn(browser, slot, query), person);
    const { location, status } = await browser.get(callback);
    return { browser, callback, location, status };
  }
}

async function startProviderProcess(): Promise<{ child: Program; issuer: string }> {
  const callbacks = ['idp1', 'idp2'].map((slot) => `${base}/oauth/${slot}/login/callback/`);
  const child = runChild(join(__dirname, 'oidc-provider-process.ts'), callbacks, { NODE_ENV: 'test' });
  const [, issuer = ''] = await child.find(/provider (http:\S+)/);
  return { child, issuer };
}

/** Signs in at the provider and returns the callback path to which it redirects. */
export async function signInAtProvider(location: string, person: ProviderPerson): Promise<string> {
  const cookies = new Map<string, string>();
  let next = new URL(location);
  next.searchParams.set('login_hint', person.id);
  for (let step = 0; step < 12; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const redirectLocation = answer.headers.get('location');
    if (redirectLocation === null)
      throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
    next = new URL(redirectLocation, next);
    if (next.origin === base) return next.pathname + next.search;
  }
  throw new Error('the provider sends the browser round in circles');
}
