import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { AccountTokens, type HandOff, type ProvenIdentity } from '../../../identity';
import { Database, Settings } from '../../../platform';
import { addCookie, cookieOf, privateCookieName } from '../../../web';

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
    /** Set once a browser has returned from an identity provider with a valid state. */
    providerState?: ProviderState;
    /** Identity that the provider has proven. */
    identity?: ProvenIdentity;
  }
}

/** States of browsers at a provider: a token valid once, for the browser with its cookie, at its own provider. */
@Injectable()
export class ProviderStates {
  constructor(
    private readonly database: Database,
    private readonly tokens: AccountTokens,
    private readonly settings: Settings,
  ) {}

  /** Sets the cookie that ties the provider's response to the browser. */
  async issue(state: ProviderState, response: ServerResponse): Promise<string> {
    const text = await this.database.transaction(
      (tx) => this.tokens.issue(tx, 'provider_state', { userId: state.linkUserId ?? null, data: state }),
      { withoutActivity: 'nothing is changed by leaving for a provider' },
    );
    this.setCookie(response, text, STATE_SECONDS);
    return text;
  }

  forget(response: ServerResponse): void {
    this.setCookie(response, '', 0);
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

  private get cookie(): string {
    return privateCookieName(this.settings, stateCookie);
  }

  private setCookie(response: ServerResponse, text: string, seconds: number): void {
    addCookie(response, this.settings, this.cookie, text, seconds);
  }
}
