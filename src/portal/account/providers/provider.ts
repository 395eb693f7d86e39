import type { Strategy, VerifyCallback } from 'passport-oauth2';
import type { ProvenIdentity } from '../../../identity';
import { fault, validationFault } from '../../../kernel';
import type { Settings } from '../../../platform';
import type { HttpRequest } from '../../../web';
import { type Recognised, runStrategy } from '../run-strategy';
import { ExchangingStrategy } from './exchanging-strategy';
import type { ProviderReader } from './provider-reader';
import type { ProviderSlot, ProviderStates } from './provider-states';

export interface ProviderClient {
  readonly slot: ProviderSlot;
  /** Its identities are kept under this issuer. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface Addresses {
  readonly authorization: string;
  readonly token: string;
  readonly scope: readonly string[];
}

/** The exchange of a code brought this. */
export interface Exchanged {
  readonly access: string;
  readonly all: Readonly<Record<string, unknown>>;
  readonly nonce: string | undefined;
}

/** Leads to one identity provider of the configuration and back, by state, PKCE and code (OAuth 2). */
export abstract class Provider {
  constructor(
    protected readonly client: ProviderClient,
    protected readonly settings: Settings,
    private readonly states: ProviderStates,
    protected readonly reader: ProviderReader,
  ) {}

  get slot(): ProviderSlot {
    return this.client.slot;
  }

  get issuer(): string {
    return this.client.issuer;
  }

  get name(): string {
    return this.settings[`${this.slot}Name`] ?? this.usualName;
  }

  protected get usualName(): string {
    return new URL(this.issuer).host;
  }

  /** The browser goes to the address returned to be recognised. `intent` comes back with it. */
  async start(request: HttpRequest, intent: object, nonce: string): Promise<Recognised<ProvenIdentity>> {
    const strategy = await this.strategy();
    return runStrategy<ProvenIdentity>(strategy, request, { state: { ...intent, nonce } });
  }

  /** The answer names the person who came back. A refusal of any kind is one of the request: it opens nothing. */
  async finish(request: HttpRequest): Promise<ProvenIdentity> {
    const query = (request as unknown as { query: Record<string, unknown> }).query;
    if (query['code'] !== undefined && typeof query['code'] !== 'string')
      throw validationFault([{ loc: ['query', 'code'], msg: 'code must be given once', type: 'isString' }]);
    const strategy = await this.strategy();
    if (!(await this.hasAnswered(query['iss']))) throw refused('another provider has answered');
    if (typeof query['code'] !== 'string' || query['code'] === '') throw refused('no code');
    const outcome = await runStrategy<ProvenIdentity>(strategy, request).catch((cause: unknown) => {
      throw refused('the code or its token was refused', cause);
    });
    if (outcome.kind !== 'recognised') throw refused('the state is not one of this browser');
    return outcome.user;
  }

  /** May find the provider's addresses first. */
  protected abstract strategy(): Promise<Strategy>;

  /** An answer that names this issuer, or none, can be of this provider. */
  protected abstract hasAnswered(issuer: unknown): Promise<boolean> | boolean;

  /** Throws where what was brought does not prove who it is. */
  protected abstract identityOf(exchanged: Exchanged): Promise<ProvenIdentity>;

  protected strategyAt({ authorization, token, scope }: Addresses): Strategy {
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
    const strategy = new ExchangingStrategy(
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
    strategy.exchangeAt(this.reader, token, clientId, clientSecret);
    return strategy;
  }
}

const refused = (why: string, cause?: unknown): Error =>
  fault('invalid_request', {
    message: `Sign-in with the identity provider failed: ${why}. Start it again.`,
    cause,
  });
