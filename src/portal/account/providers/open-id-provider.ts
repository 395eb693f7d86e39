import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { ProvenIdentity } from '../../../identity';
import { fault, HOUR_MS } from '../../../kernel';
import { validateClaims, roleOf } from './claims';
import { isRecord } from './provider-http-client';
import {
  IdentityProviderClient,
  type ProviderEndpoints,
  type TokenExchange,
} from './identity-provider-client';

const DISCOVERY_TTL_MS = HOUR_MS;
/** Asymmetric algorithms only: a client secret does not prove who signed a token. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

interface DiscoveredProvider extends ProviderEndpoints {
  readonly keys: JWTVerifyGetKey;
  readonly namesIssuer: boolean;
  readonly userInfoUrl?: string;
  readonly at: number;
}

export class OpenIdProvider extends IdentityProviderClient {
  private cachedDiscovery: Promise<DiscoveredProvider> | null = null;

  endpoints(): Promise<ProviderEndpoints> {
    return this.getDiscovered();
  }

  async isOwnIssuer(issuer: unknown): Promise<boolean> {
    return issuer === undefined ? !(await this.getDiscovered()).namesIssuer : issuer === this.issuer;
  }

  private async getDiscovered(): Promise<DiscoveredProvider> {
    const cached = await this.cachedDiscovery?.catch(() => null);
    if (cached && performance.now() - cached.at < DISCOVERY_TTL_MS) return cached;
    this.cachedDiscovery = this.discover();
    return this.cachedDiscovery.catch((cause: unknown) => {
      this.cachedDiscovery = null;
      throw fault('auth_unavailable', { message: `${this.name} cannot be reached.`, cause });
    });
  }

  private async discover(): Promise<DiscoveredProvider> {
    const document = await this.reader.readObject(
      `${this.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    );
    if (document['issuer'] !== this.issuer) throw new Error('the document is of another issuer');
    const endpoint = (name: string): string => {
      const value = document[name];
      if (typeof value !== 'string' || !URL.canParse(value)) throw new Error(`${name} is missing`);
      // Secrets are sent to these addresses, so the protocol must not be downgraded.
      if (new URL(value).protocol !== new URL(this.issuer).protocol)
        throw new Error(`${name} changes the protocol`);
      return value;
    };
    const keys = createRemoteJWKSet(new URL(endpoint('jwks_uri')), { [customFetch]: this.reader.fetch });
    const namesIssuer = document['authorization_response_iss_parameter_supported'] === true;
    const userInfoUrl =
      document['userinfo_endpoint'] === undefined ? undefined : endpoint('userinfo_endpoint');
    return {
      authorizationUrl: endpoint('authorization_endpoint'),
      tokenUrl: endpoint('token_endpoint'),
      scope: 'openid email profile',
      keys,
      namesIssuer,
      userInfoUrl,
      at: performance.now(),
    };
  }

  async validate({ access, all, nonce }: TokenExchange): Promise<ProvenIdentity> {
    const token = all['id_token'];
    if (typeof token !== 'string') throw new Error('no ID token');
    const { keys } = await this.getDiscovered();
    const { payload } = await jwtVerify(token, keys, {
      issuer: this.issuer,
      audience: this.client.clientId,
      algorithms,
      clockTolerance: 60,
      requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
    });
    if (payload['nonce'] !== nonce) throw new Error('the ID token answers another request');
    if (payload['azp'] !== undefined && payload['azp'] !== this.client.clientId)
      throw new Error('the ID token is for another client');
    const { sub: subject } = payload;
    const claims = { ...payload, ...(await this.userInfo(subject, access)) };
    const { email, email_verified: emailVerified, name } = claims;
    return validateClaims(
      this.issuer,
      { subject, email, emailVerified, name },
      roleOf(this.settings[`${this.slot}Roles`], this.groupsOf(claims)),
    );
  }

  /** Fetches the user info, as many ID tokens contain only the subject. The subject must be the same. */
  private async userInfo(subject: unknown, access: string): Promise<Record<string, unknown>> {
    const { userInfoUrl } = await this.getDiscovered();
    if (userInfoUrl === undefined) return {};
    const claims = await this.reader.readObject(userInfoUrl, {
      headers: { authorization: `Bearer ${access}` },
    });
    if (claims['sub'] !== subject) throw new Error('the claims are of somebody else');
    return claims;
  }

  private groupsOf(claims: object): readonly unknown[] {
    let value: unknown = claims;
    for (const part of this.settings[`${this.slot}RoleClaim`].split('.')) {
      value = isRecord(value) && Object.hasOwn(value, part) ? value[part] : undefined;
    }
    return Array.isArray(value) ? value : [value];
  }
}
