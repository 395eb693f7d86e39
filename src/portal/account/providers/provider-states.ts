import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { AccountTokens, type HandOff } from '../../../identity';
import { Database, Settings } from '../../../platform';
import { cookieOf, type HttpRequest, privateCookieName } from '../../../web';

export type ProviderSlot = 'idp1' | 'idp2';

const stateCookie = 'svc_provider_state';
/** Another portal keeps this cookie in the browser that began a sign-in there. */
export const handOffCookie = 'svc_handoff';
export const STATE_SECONDS = 600;

/** A browser left with this intent, and is held to it when it comes back. */
export interface ProviderIntent {
  readonly next?: string;
  readonly linkUserId?: number;
  readonly acceptedVersion?: string;
  /** The portal where it began, and what that browser keeps there. */
  readonly handOff?: HandOff;
}

export interface ProviderState extends ProviderIntent {
  readonly slot: ProviderSlot;
  readonly verifier: string;
  readonly nonce: string;
}

declare module '../../../web/http-request' {
  interface HttpRequest {
    /** It is set while a browser leaves for an identity provider, and when it is back. */
    providerState?: ProviderState & { readonly text?: string };
  }
}

type Stored = (error: unknown, handle?: string) => void;
type Loaded = (error: unknown, verifier?: string | false, state?: unknown) => void;

/** The state of passport-oauth2: a row that works once, for the browser that has its cookie, at its own provider. */
@Injectable()
export class ProviderStates {
  constructor(
    private readonly database: Database,
    private readonly tokens: AccountTokens,
    private readonly settings: Settings,
  ) {}

  /** Ties the provider's answer to the browser that left. */
  get cookie(): string {
    return privateCookieName(this.settings, stateCookie);
  }

  storeOf(slot: ProviderSlot) {
    // The library goes by the number of parameters.
    return {
      store: (request: HttpRequest, verifier: string, state: object, _meta: object, done: Stored) => {
        const kept = { ...state, slot, verifier } as ProviderState;
        this.issue(kept).then((text) => {
          request.providerState = { ...kept, text };
          done(null, text);
        }, done);
      },
      verify: (request: HttpRequest, text: unknown, _meta: object, done: Loaded) => {
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

  /** Spends the state of this browser; null if `text` is another one. */
  async spend(request: IncomingMessage, slot: ProviderSlot, text: unknown): Promise<ProviderState | null> {
    if (typeof text !== 'string' || cookieOf(request.headers, this.cookie) !== text) return null;
    const spent = await this.database.transaction((tx) => this.tokens.spend(tx, 'provider_state', text), {
      withoutActivity: 'what is changed follows',
    });
    const state = spent?.data as ProviderState | undefined;
    return state?.slot === slot ? state : null;
  }
}
