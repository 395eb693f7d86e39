import { createRemoteJWKSet, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { Strategy, type VerifyCallback } from 'passport-oauth2';
import type { ProvenIdentity } from '../../../identity';
import { fault, parseJsonText, roles } from '../../../kernel';
import type { Settings } from '../../../platform';
import type { HttpRequest } from '../../../web';
import { type Recognised, runStrategy } from '../run-strategy';
import type { ProviderSlot, ProviderStates } from './provider-states';

const ANSWER_DEADLINE_MS = 8_000;
const LARGEST_ANSWER = 256 * 1_024;
/** Found addresses are read anew after this time. */
const FOUND_FOR_MS = 3_600_000;
/** Never a symmetric one: the secret of a client is no proof of who signed. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

interface Found {
  readonly strategy: Strategy;
  readonly keys: JWTVerifyGetKey;
  readonly namesIssuer: boolean;
  readonly userInfoUrl?: string;
  readonly at: number;
}

/** One identity provider of the configuration. */
export class Provider {
  private found: Promise<Found> | null = null;

  constructor(
    readonly slot: ProviderSlot,
    readonly issuer: string,
    private readonly clientId: string,
    private readonly clientSecret: string,
    private readonly settings: Settings,
    private readonly states: ProviderStates,
  ) {}

  get name(): string {
    return this.settings[`${this.slot}Name`] ?? new URL(this.issuer).host;
  }

  /** Where the browser goes to be recognised. `intent` comes back with it. */
  async start(request: HttpRequest, intent: object, nonce: string): Promise<Recognised<ProvenIdentity>> {
    const { strategy } = await this.discovered();
    return runStrategy<ProvenIdentity>(strategy, request, { state: { ...intent, nonce } });
  }

  /** Who came back. A refusal of any kind is one of the request: it opens nothing. */
  async finish(request: HttpRequest): Promise<ProvenIdentity> {
    const { strategy, namesIssuer } = await this.discovered();
    const query = (request as unknown as { query: Record<string, unknown> }).query;
    const named = query['iss'];
    if (named === undefined ? namesIssuer : named !== this.issuer)
      throw refused('another provider has answered');
    if (typeof query['code'] !== 'string' || query['code'] === '') throw refused('no code');
    const outcome = await runStrategy<ProvenIdentity>(strategy, request).catch((cause: unknown) => {
      throw refused('the code or its token was refused', cause);
    });
    if (outcome.kind !== 'recognised') throw refused('the state is not one of this browser');
    return outcome.user;
  }

  private async discovered(): Promise<Found> {
    const known = await this.found?.catch(() => null);
    if (known && performance.now() - known.at < FOUND_FOR_MS) return known;
    this.found = this.discover();
    return this.found.catch((cause: unknown) => {
      this.found = null;
      throw fault('auth_unavailable', { message: `${this.name} cannot be reached.`, cause });
    });
  }

  private async discover(): Promise<Found> {
    const document = await readJson(`${this.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (document['issuer'] !== this.issuer) throw new Error('the document is of another issuer');
    const endpoint = (name: string): string => {
      const value = document[name];
      if (typeof value !== 'string' || !URL.canParse(value)) throw new Error(`${name} is missing`);
      // What is sent to these must not be read on its way.
      if (new URL(value).protocol !== new URL(this.issuer).protocol)
        throw new Error(`${name} changes the protocol`);
      return value;
    };
    const keys = createRemoteJWKSet(new URL(endpoint('jwks_uri')), { timeoutDuration: ANSWER_DEADLINE_MS });
    const strategy = this.strategyFor(endpoint('authorization_endpoint'), endpoint('token_endpoint'), keys);
    const namesIssuer = document['authorization_response_iss_parameter_supported'] === true;
    const userInfoUrl =
      document['userinfo_endpoint'] === undefined ? undefined : endpoint('userinfo_endpoint');
    return { strategy, keys, namesIssuer, userInfoUrl, at: performance.now() };
  }

  private strategyFor(authorizationURL: string, tokenURL: string, keys: JWTVerifyGetKey): Strategy {
    const verify = (
      request: HttpRequest,
      access: string,
      _refresh: string,
      params: Record<string, unknown>,
      _profile: unknown,
      done: VerifyCallback,
    ): void => {
      this.identityOf(params['id_token'], request.providerState?.nonce, access, keys).then(
        (identity) => done(null, identity as unknown as Express.User),
        (error: unknown) => done(error),
      );
    };
    const strategy = new OpenIdStrategy(
      {
        authorizationURL,
        tokenURL,
        clientID: this.clientId,
        clientSecret: this.clientSecret,
        callbackURL: `${this.settings.baseUrl}/oauth/${this.slot}/login/callback/`,
        scope: ['openid', 'email', 'profile'],
        pkce: true,
        state: true,
        store: this.states.storeOf(this.slot) as never,
        skipUserProfile: true,
        passReqToCallback: true,
      } as never,
      verify as never,
    );
    strategy.exchangeAt(tokenURL, this.clientId, this.clientSecret);
    return strategy;
  }

  private async identityOf(
    token: unknown,
    nonce: string | undefined,
    access: string,
    keys: JWTVerifyGetKey,
  ): Promise<ProvenIdentity> {
    if (typeof token !== 'string' || nonce === undefined) throw new Error('no ID token');
    const { payload } = await jwtVerify(token, keys, {
      issuer: this.issuer,
      audience: this.clientId,
      algorithms,
      clockTolerance: 60,
      requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
    });
    if (payload['nonce'] !== nonce) throw new Error('the ID token answers another request');
    if (payload['azp'] !== undefined && payload['azp'] !== this.clientId)
      throw new Error('the ID token is for another client');
    const { sub: subject = '' } = payload;
    const claims = { ...payload, ...(await this.userInfo(subject, access)) };
    const { email, name } = claims;
    return {
      issuer: this.issuer,
      subject,
      email: typeof email === 'string' ? email : null,
      emailVerified: claims['email_verified'] === true,
      name: typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 100) : null,
      role: this.roleOf(claims),
    };
  }

  /** Many providers put no more than the subject into the ID token; the rest has to be of that very person. */
  private async userInfo(subject: string, access: string): Promise<Record<string, unknown>> {
    const found = await this.found;
    if (found?.userInfoUrl === undefined) return {};
    const claims = await readJson(found.userInfoUrl, { headers: { authorization: `Bearer ${access}` } });
    if (claims['sub'] !== subject) throw new Error('the claims are of somebody else');
    return claims;
  }

  /** The highest role that a group means; with a mapping and no such group, the lowest. */
  private roleOf(claims: object): ProvenIdentity['role'] {
    const mapping = this.settings[`${this.slot}Roles`];
    if (mapping === undefined) return null;
    let value: unknown = claims;
    for (const part of this.settings[`${this.slot}RoleClaim`].split('.')) {
      value = isRecord(value) && Object.hasOwn(value, part) ? value[part] : undefined;
    }
    const groups = new Set<unknown>(Array.isArray(value) ? value : [value]);
    const meant = mapping.filter(([group]) => groups.has(group)).map(([, role]) => role);
    return meant.sort((a, b) => roles.indexOf(b) - roles.indexOf(a))[0] ?? 'user';
  }
}

/** The library's strategy, with the nonce of OpenID Connect and an exchange that ends in time. */
class OpenIdStrategy extends Strategy {
  override authorizationParams(options: { state?: { nonce?: string } }): object {
    return { nonce: options.state?.nonce ?? '' };
  }

  exchangeAt(tokenUrl: string, clientId: string, clientSecret: string): void {
    const exchange = async (
      code: string,
      params: Record<string, string>,
    ): Promise<Record<string, unknown>> => {
      const body = new URLSearchParams({ ...params, code, client_id: clientId, client_secret: clientSecret });
      return readJson(tokenUrl, { method: 'POST', body });
    };
    const answer = (
      code: string,
      params: Record<string, string>,
      done: (error: unknown, access?: unknown, refresh?: unknown, all?: object) => void,
    ): void => {
      exchange(code, params).then(
        (all) => done(null, all['access_token'], all['refresh_token'], all),
        (error: unknown) => done({ statusCode: 502, data: String(error) }),
      );
    };
    this._oauth2.getOAuthAccessToken = answer as never;
  }
}

async function readJson(
  url: string,
  init: RequestInit & { headers?: Record<string, string> } = {},
): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    ...init,
    redirect: 'error',
    headers: { accept: 'application/json', ...init.headers },
    signal: AbortSignal.timeout(ANSWER_DEADLINE_MS),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  if (text.length > LARGEST_ANSWER) throw new Error('the answer is too large');
  const value: unknown = parseJsonText(text);
  if (!isRecord(value)) throw new Error('the answer is no object');
  return value;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const refused = (why: string, cause?: unknown): Error =>
  fault('invalid_request', {
    message: `Sign-in with the identity provider failed: ${why}. Start it again.`,
    cause,
  });
