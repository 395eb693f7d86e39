import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { AccountTokens, type HandOff } from '../../../identity';
import { Database, Settings } from '../../../platform';
import { cookieOf, type HttpRequest, privateCookieName } from '../../../web';

export type ProviderSlot = 'idp1' | 'idp2';

const stateCookie = 'svc_provider_state';
/** Cookie of another portal in the browser that started a sign-in there. */
export const handOffCookie = 'svc_handoff';
export const STATE_SECONDS = 600;

/** Intent with which a browser left for a provider; restored when it returns. */
export interface ProviderIntent {
  readonly next?: string;
  readonly linkUserId?: number;
  readonly acceptedVersion?: string;
  /** The portal where the sign-in started, and the binding of the browser there. */
  readonly handOff?: HandOff;
}

export interface ProviderState extends ProviderIntent {
  readonly slot: ProviderSlot;
  readonly verifier: string;
  readonly nonce: string;
}

declare module '../../../web/http-request' {
  interface HttpRequest {
    /** Set while a browser leaves for an identity provider, and after it has returned. */
    providerState?: ProviderState & { readonly text?: string };
  }
}

type StateStored = (error: unknown, handle?: string) => void;
type StateLoaded = (error: unknown, verifier?: string | false, state?: unknown) => void;

/** State store of passport-oauth2: a token valid once, for the browser with its cookie, at its own provider. */
@Injectable()
export class ProviderStates {
  constructor(
    private readonly database: Database,
    private readonly tokens: AccountTokens,
    private readonly settings: Settings,
  ) {}

  /** Name of the cookie that ties the provider's response to the browser. */
  get cookie(): string {
    return privateCookieName(this.settings, stateCookie);
  }

  storeOf(slot: ProviderSlot) {
    // The library distinguishes callbacks by their number of parameters.
    return {
      store: (request: HttpRequest, verifier: string, state: object, _meta: object, done: StateStored) => {
        const stored = { ...state, slot, verifier } as ProviderState;
        this.issue(stored).then((text) => {
          request.providerState = { ...stored, text };
          done(null, text);
        }, done);
      },
      verify: (request: HttpRequest, text: unknown, _meta: object, done: StateLoaded) => {
        this.spend(request, slot, text).then((state) => {
          if (state === null) return done(null, false, { message: 'unknown state' });
          request.providerState = state;
          done(null, state.verifier, state);
        }, done);
      },
    };
  }

  private issue(state: ProviderState): Promise<string> {
    return this.database.transaction(
      (tx) => this.tokens.issue(tx, 'provider_state', { userId: state.linkUserId ?? null, data: state }),
      {
        withoutActivity: 'nothing is changed by leaving for a provider',
      },
    );
  }

  /** Spends the state of this browser; null if `text` is a different one. */
  async spend(request: IncomingMessage, slot: ProviderSlot, text: unknown): Promise<ProviderState | null> {
    if (typeof text !== 'string' || cookieOf(request.headers, this.cookie) !== text) return null;
    const spent = await this.database.transaction((tx) => this.tokens.spend(tx, 'provider_state', text), {
      withoutActivity: 'what is changed follows',
    });
    const state = spent?.data as ProviderState | undefined;
    return state?.slot === slot ? state : null;
  }
}
