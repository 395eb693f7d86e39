import { createHash } from 'node:crypto';
import type { ProvenIdentity } from '../../../identity';
import type { Settings } from '../../../platform';
import type { ProviderHttpClient } from './provider-http-client';
import type { ProviderSlot, ProviderState } from './provider-states';

export interface ProviderClient {
  readonly slot: ProviderSlot;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ProviderEndpoints {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  /** Names separated by spaces. */
  readonly scope: string;
}

export interface TokenExchange {
  readonly access: string;
  readonly all: Readonly<Record<string, unknown>>;
  readonly nonce: string;
}

/** Client of a configured identity provider: OAuth 2 with state, PKCE and nonce, and the proof of an identity. */
export abstract class IdentityProviderClient {
  constructor(
    protected readonly client: ProviderClient,
    protected readonly settings: Settings,
    protected readonly reader: ProviderHttpClient,
  ) {}

  get slot(): ProviderSlot {
    return this.client.slot;
  }

  get issuer(): string {
    return this.client.issuer;
  }

  get name(): string {
    return this.settings[`${this.slot}Name`] ?? this.defaultName;
  }

  protected get defaultName(): string {
    return new URL(this.issuer).host;
  }

  /** Can involve discovery. */
  abstract endpoints(): Promise<ProviderEndpoints>;

  /** Accepts responses from this issuer, or without one. */
  abstract isOwnIssuer(issuer: unknown): Promise<boolean> | boolean;

  /** Throws if the exchange does not prove an identity. */
  abstract validate(exchange: TokenExchange): Promise<ProvenIdentity>;

  /** Returns the address where the provider authenticates the browser. */
  async authorizationUrlFor(stateToken: string, { verifier, nonce }: ProviderState): Promise<string> {
    const { authorizationUrl, scope } = await this.endpoints();
    const location = new URL(authorizationUrl);
    const parameters = {
      response_type: 'code',
      client_id: this.client.clientId,
      redirect_uri: this.callbackUrl,
      scope,
      state: stateToken,
      nonce,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) location.searchParams.set(name, value);
    return location.href;
  }

  async exchangeCode(code: string, { verifier, nonce }: ProviderState): Promise<TokenExchange> {
    const { tokenUrl } = await this.endpoints();
    const { clientId, clientSecret } = this.client;
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      redirect_uri: this.callbackUrl,
      code_verifier: verifier,
      code,
      client_id: clientId,
      client_secret: clientSecret,
    });
    const all = await this.reader.readObject(tokenUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: body.toString(),
    });
    const access = all['access_token'];
    // GitHub reports errors with status 200 as well.
    if (typeof access !== 'string' || access === '' || all['error'] !== undefined)
      throw new Error(`no token: ${String(all['error'])}`);
    return { access, all, nonce };
  }

  private get callbackUrl(): string {
    return `${this.settings.baseUrl}/oauth/${this.slot}/login/callback/`;
  }
}
