import type { Request } from 'express';
import passport from 'passport';
import { fault, validationFault } from '../../../kernel';
import type { HttpRequest } from '../../../web';
import type { IdentityProviderClient, TokenExchange } from './identity-provider-client';
import type { ProviderStates } from './provider-states';

export interface AuthorizationCodeOptions {
  readonly states: ProviderStates;
  /** Called for each request, and throws if the provider is not configured. */
  readonly findProvider: () => IdentityProviderClient;
}

type Verified = (error: unknown, user?: Express.User | false | null) => void;

/**
 * Passport strategy for the return from a provider: checks issuer and state, and exchanges the code with its PKCE
 * verifier (RFC 6749, RFC 7636, RFC 9207).
 */
export class AuthorizationCodeStrategy extends passport.Strategy {
  constructor(
    private readonly options: AuthorizationCodeOptions,
    private readonly verify: (exchange: TokenExchange, verified: Verified) => void,
  ) {
    super();
  }

  override authenticate(request: Request & HttpRequest): void {
    const verified: Verified = (error, user) => {
      if (user) this.success(user);
      else this.error(signInFailed('the code or its token was refused', error));
    };
    this.exchangeCode(request).then(
      (exchange) => this.verify(exchange, verified),
      (error: unknown) => this.error(error),
    );
  }

  private async exchangeCode(request: Request & HttpRequest): Promise<TokenExchange> {
    const provider = this.options.findProvider();
    const { code, iss, state: stateToken } = request.query;
    if (code !== undefined && typeof code !== 'string')
      throw validationFault([{ loc: ['query', 'code'], msg: 'code must be given once', type: 'isString' }]);
    if (!(await provider.isOwnIssuer(iss))) throw signInFailed('another provider has answered');
    if (code === undefined || code === '') throw signInFailed('no code');
    const state = await this.options.states.spend(request, provider.slot, stateToken);
    if (state === null) throw signInFailed('the state is not one of this browser');
    request.providerState = state;
    try {
      return await provider.exchangeCode(code, state);
    } catch (cause) {
      throw signInFailed('the code or its token was refused', cause);
    }
  }
}

const signInFailed = (reason: string, cause?: unknown): Error =>
  fault('invalid_request', {
    message: `Sign-in with the identity provider failed: ${reason}. Start it again.`,
    cause,
  });
