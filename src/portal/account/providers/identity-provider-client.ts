import type { Strategy, VerifyCallback } from 'passport-oauth2';
import type { ProvenIdentity } from '../../../identity';
import { fault, validationFault } from '../../../kernel';
import type { Settings } from '../../../platform';
import type { HttpRequest } from '../../../web';
import { type StrategyOutcome, runStrategy } from '../run-strategy';
import { TokenExchangeStrategy } from './token-exchange-strategy';
import type { ProviderHttpClient } from './provider-http-client';
import type { ProviderSlot, ProviderStates } from './provider-states';

export interface ProviderClient {
  readonly slot: ProviderSlot;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface ProviderEndpoints {
  readonly authorization: string;
  readonly token: string;
  readonly scope: readonly string[];
}

export interface TokenExchange {
  readonly access: string;
  readonly all: Readonly<Record<string, unknown>>;
  readonly nonce: string | undefined;
}

/** Client of a configured identity provider: leads users there and back with state, PKCE and code (OAuth 2). */
export abstract class IdentityProviderClient {
  constructor(
    protected readonly client: ProviderClient,
    protected readonly settings: Settings,
    private readonly states: ProviderStates,
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

  /** Returns the address where the browser gets authenticated; `intent` is restored on return. */
  async start(request: HttpRequest, intent: object, nonce: string): Promise<StrategyOutcome<ProvenIdentity>> {
    const strategy = await this.strategy();
    return runStrategy<ProvenIdentity>(strategy, request, { state: { ...intent, nonce } });
  }

  /** Returns the identity of the returning user. Every failure is reported as an invalid request. */
  async finish(request: HttpRequest): Promise<ProvenIdentity> {
    const query = (request as unknown as { query: Record<string, unknown> }).query;
    if (query['code'] !== undefined && typeof query['code'] !== 'string')
      throw validationFault([{ loc: ['query', 'code'], msg: 'code must be given once', type: 'isString' }]);
    const strategy = await this.strategy();
    if (!(await this.isOwnIssuer(query['iss']))) throw signInFailed('another provider has answered');
    if (typeof query['code'] !== 'string' || query['code'] === '') throw signInFailed('no code');
    const outcome = await runStrategy<ProvenIdentity>(strategy, request).catch((cause: unknown) => {
      throw signInFailed('the code or its token was refused', cause);
    });
    if (outcome.kind !== 'recognised') throw signInFailed('the state is not one of this browser');
    return outcome.user;
  }

  /** Can involve discovery of the provider's endpoints. */
  protected abstract strategy(): Promise<Strategy>;

  /** Accepts responses from this issuer, or without one. */
  protected abstract isOwnIssuer(issuer: unknown): Promise<boolean> | boolean;

  /** Throws if the exchange does not prove an identity. */
  protected abstract identityOf(exchange: TokenExchange): Promise<ProvenIdentity>;

  protected createStrategy({ authorization, token, scope }: ProviderEndpoints): Strategy {
    const { clientId, clientSecret, slot } = this.client;
    const verify = (
      request: HttpRequest,
      access: string,
      _refresh: string,
      all: Record<string, unknown>,
      _profile: unknown,
      done: VerifyCallback,
    ): void => {
      this.identityOf({ access, all, nonce: request.providerState?.nonce }).then(
        (identity) => done(null, identity as unknown as Express.User),
        (error: unknown) => done(error),
      );
    };
    const strategy = new TokenExchangeStrategy(
      {
        authorizationURL: authorization,
        tokenURL: token,
        clientID: clientId,
        clientSecret,
        callbackURL: `${this.settings.baseUrl}/oauth/${slot}/login/callback/`,
        scope: [...scope],
        pkce: true,
        state: true,
        store: this.states.storeOf(slot) as never,
        skipUserProfile: true,
        passReqToCallback: true,
      } as never,
      verify as never,
    );
    strategy.exchangeTokensAt(this.reader, token, clientId, clientSecret);
    return strategy;
  }
}

const signInFailed = (reason: string, cause?: unknown): Error =>
  fault('invalid_request', {
    message: `Sign-in with the identity provider failed: ${reason}. Start it again.`,
    cause,
  });
