import type { Strategy } from 'passport-oauth2';
import type { ProvenIdentity } from '../../../identity';
import { identityFrom } from './claims';
import { isRecord } from './provider-reader';
import { type Exchanged, Provider } from './provider';

const MOST_ADDRESSES = 100;

/** GitHub, or a GitHub Enterprise: OAuth 2 without OpenID Connect, so its interface says who somebody is. */
export class GithubProvider extends Provider {
  private made: Strategy | null = null;

  protected override get usualName(): string {
    return 'GitHub';
  }

  protected strategy(): Promise<Strategy> {
    this.made ??= this.strategyAt({
      authorization: `${this.site}/login/oauth/authorize`,
      token: `${this.site}/login/oauth/access_token`,
      scope: ['read:user', 'user:email'],
    });
    return Promise.resolve(this.made);
  }

  protected hasAnswered(issuer: unknown): boolean {
    return issuer === undefined || issuer === this.issuer || issuer === `${this.site}/login/oauth`;
  }

  /** It is known by its number: a login may be given up, and be another person's tomorrow. */
  protected async identityOf({ access, all }: Exchanged): Promise<ProvenIdentity> {
    // Its refusals are 200 as well.
    if (typeof access !== 'string' || access === '' || all['error'] !== undefined)
      throw new Error(`no token: ${String(all['error'])}`);
    const [user, addresses] = await Promise.all([
      this.reader.readObject(`${this.api}/user`, { headers: headersFor(access) }),
      this.reader.readJson(`${this.api}/user/emails?per_page=${MOST_ADDRESSES}`, {
        headers: headersFor(access),
      }),
    ]);
    const { id, login, name } = user;
    if (!Number.isSafeInteger(id) || Number(id) <= 0) throw new Error('the person has no number');
    const primary = Array.isArray(addresses)
      ? (addresses as unknown[]).filter(isRecord).find((address) => address['primary'] === true)
      : undefined;
    const called = [name, login].find((word) => typeof word === 'string' && word.trim() !== '');
    const claims = {
      subject: String(id),
      email: primary?.['email'],
      emailVerified: primary?.['verified'],
      name: called,
    };
    return identityFrom(this.issuer, claims, null);
  }

  private get site(): string {
    return this.issuer.replace(/\/$/, '');
  }

  private get api(): string {
    const given = this.settings[`${this.slot}ApiUrl`];
    if (given !== undefined) return given.replace(/\/$/, '');
    return this.site === 'https://github.com' ? 'https://api.github.com' : `${this.site}/api/v3`;
  }
}

/** GitHub refuses programs that do not say who they are. */
const headersFor = (access: string): Record<string, string> => ({
  accept: 'application/vnd.github+json',
  authorization: `Bearer ${access}`,
  'user-agent': 'Switchboard',
  'x-github-api-version': '2022-11-28',
});
