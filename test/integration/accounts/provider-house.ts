import { join } from 'node:path';
import type { TestApp } from '../../support/app';
import { runChild } from '../../support/child';
import type { Program } from '../../system/program';
import { Browser, newAddress, startAccountHouse } from './account-house';

export const base = 'http://portal.localhost';
export const reseller = 'http://models.reseller.example';

export interface Someone {
  readonly id: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
  readonly groups?: readonly string[];
}

/** The service with two identity providers, each a process of its own. */
export class ProviderHouse {
  private count = 0;

  private constructor(
    readonly app: TestApp,
    private readonly providers: readonly { readonly child: Program; readonly issuer: string }[],
  ) {}

  static async start(): Promise<ProviderHouse> {
    const [one, two] = await Promise.all([startProvider(), startProvider()]);
    const client = (slot: string, issuer: string) => ({
      [`${slot}_ISSUER`]: issuer,
      [`${slot}_CLIENT_ID`]: 'switchboard',
      [`${slot}_CLIENT_SECRET`]: 'a secret of the tests that is long enough',
    });
    const app = await startAccountHouse({
      environment: {
        BASE_URL: base,
        PORTAL_ORIGINS: reseller,
        ...client('IDP1', one.issuer),
        ...client('IDP2', two.issuer),
        IDP1_NAME: 'House directory',
        IDP2_ROLES: 'staff=user,heads=org_admin,operators=platform_admin',
      },
    });
    return new ProviderHouse(app, [one, two]);
  }

  async close(): Promise<void> {
    await this.app.close();
    for (const { child } of this.providers) child.kill();
    await Promise.all(this.providers.map(({ child }) => child.ended));
  }

  issuerOf(slot: 1 | 2): string {
    return this.providers[slot - 1]?.issuer ?? '';
  }

  /** The service answers under BASE_URL and the reseller's address, wherever it listens. */
  traveller(origin = base): Browser {
    return new Browser(this.app.url, { host: new URL(origin).host });
  }

  async someone(slot: 1 | 2, facts: Partial<Someone> = {}): Promise<Someone> {
    const person = {
      id: `person-${++this.count}`,
      email: newAddress(),
      email_verified: true,
      name: 'Ina Roth',
      ...facts,
    };
    await this.tell(slot, person);
    return person;
  }

  /** The provider knows this about a person from now on. */
  async tell(slot: 1 | 2, person: Someone): Promise<void> {
    const answer = await fetch(`${this.issuerOf(slot)}/people`, {
      method: 'POST',
      body: JSON.stringify(person),
    });
    expect(answer.status).toBe(200);
  }

  async startOf(browser: Browser, slot: 1 | 2, query = ''): Promise<string> {
    return (await browser.get(`/auth/idp${slot}${query}`)).location ?? '';
  }

  async enter(
    slot: 1 | 2,
    person: Someone,
    query = '',
  ): Promise<{ browser: Browser; callback: string; location: string | null; status: number }> {
    const browser = this.traveller();
    await browser.post('/auth/accept-tos', { terms: true });
    const callback = await throughProvider(await this.startOf(browser, slot, query), person);
    const { location, status } = await browser.get(callback);
    return { browser, callback, location, status };
  }
}

async function startProvider(): Promise<{ child: Program; issuer: string }> {
  const callbacks = ['idp1', 'idp2'].map((slot) => `${base}/oauth/${slot}/login/callback/`);
  const child = runChild(join(__dirname, 'oidc-provider-process.ts'), callbacks, { NODE_ENV: 'test' });
  const [, issuer = ''] = await child.find(/provider (http:\S+)/);
  return { child, issuer };
}

/** Everything that happens at the provider, up to the address of ours it sends the browser back to. */
export async function throughProvider(location: string, person: Someone): Promise<string> {
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
    const to = answer.headers.get('location');
    if (to === null) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
    next = new URL(to, next);
    if (next.origin === base) return next.pathname + next.search;
  }
  throw new Error('the provider sends the browser round in circles');
}
