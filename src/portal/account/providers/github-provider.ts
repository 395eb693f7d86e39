import type { ProvenIdentity } from '../../../identity';
import { validateClaims } from './claims';
import { isRecord } from './provider-http-client';
import {
  IdentityProviderClient,
  type ProviderEndpoints,
  type TokenExchange,
} from './identity-provider-client';

const MAX_ADDRESSES = 100;

/** GitHub or GitHub Enterprise: OAuth 2 without OpenID Connect, so its API identifies the user. */
export class GithubProvider extends IdentityProviderClient {
  protected override get defaultName(): string {
    return 'GitHub';
  }

  endpoints(): Promise<ProviderEndpoints> {
    return Promise.resolve({
      authorizationUrl: `${this.site}/login/oauth/authorize`,
      tokenUrl: `${this.site}/login/oauth/access_token`,
      scope: 'read:user user:email',
    });
  }

  isOwnIssuer(issuer: unknown): boolean {
    return issuer === undefined || issuer === this.issuer || issuer === `${this.site}/login/oauth`;
  }

  /** Identifies users by number, because a login can be released and reassigned. */
  async validate({ access }: TokenExchange): Promise<ProvenIdentity> {
    const [user, addresses] = await Promise.all([
      this.reader.readObject(`${this.api}/user`, { headers: headersFor(access) }),
      this.reader.readJson(`${this.api}/user/emails?per_page=${MAX_ADDRESSES}`, {
        headers: headersFor(access),
      }),
    ]);
    const { id, login, name } = user;
    if (!Number.isSafeInteger(id) || Number(id) <= 0) throw new Error('the person has no number');
    const primary = Array.isArray(addresses)
      ? (addresses as unknown[]).filter(isRecord).find((address) => address['primary'] === true)
      : undefined;
    const displayName = [name, login].find((text) => typeof text === 'string' && text.trim() !== '');
    const claims = {
      subject: String(id),
      email: primary?.['email'],
      emailVerified: primary?.['verified'],
      name: displayName,
    };
    return validateClaims(this.issuer, claims, null);
  }

  private get site(): string {
    return this.issuer.replace(/\/$/, '');
  }

  private get api(): string {
    const configuredUrl = this.settings[`${this.slot}ApiUrl`];
    if (configuredUrl !== undefined) return configuredUrl.replace(/\/$/, '');
    return this.site === 'https://github.com' ? 'https://api.github.com' : `${this.site}/api/v3`;
  }
}

/** GitHub rejects requests without a User-Agent header. */
const headersFor = (access: string): Record<string, string> => ({
  accept: 'application/vnd.github+json',
  authorization: `Bearer ${access}`,
  'user-agent': 'Switchboard',
  'x-github-api-version': '2022-11-28',
});
