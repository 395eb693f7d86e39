import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { ProvenIdentity } from '../../../identity';
import { fault } from '../../../kernel';
import { OutgoingClient, Settings } from '../../../platform';
import { addCookie, type HttpRequest, queryOf } from '../../../web';
import { GithubProvider } from './github-provider';
import { OpenIdProvider } from './open-id-provider';
import type { IdentityProviderClient } from './identity-provider-client';
import { ProviderHttpClient } from './provider-http-client';
import { type ProviderIntent, type ProviderSlot, ProviderStates, STATE_SECONDS } from './provider-states';

/** The configured identity providers, at most two. */
@Injectable()
export class IdentityProviderRegistry {
  private readonly configured: readonly IdentityProviderClient[];

  constructor(
    private readonly settings: Settings,
    private readonly states: ProviderStates,
    client: OutgoingClient,
  ) {
    const reader = new ProviderHttpClient(client);
    this.configured = (['idp1', 'idp2'] as const).flatMap((slot) => {
      const issuer = settings[`${slot}Issuer`];
      const id = settings[`${slot}ClientId`];
      const secret = settings[`${slot}ClientSecret`];
      if (issuer === undefined || id === undefined || secret === undefined) return [];
      const providerClient = { slot, issuer, clientId: id, clientSecret: secret };
      const Kind = settings[`${slot}Kind`] === 'github' ? GithubProvider : OpenIdProvider;
      return [new Kind(providerClient, settings, states, reader)];
    });
  }

  find(slot: ProviderSlot): IdentityProviderClient {
    const match = this.configured.find((provider) => provider.slot === slot);
    if (match === undefined) throw fault('not_found', { message: 'No such identity provider is set up.' });
    return match;
  }

  /** Returns the provider's address, and sets the cookie that ties its response to this browser. */
  async startRedirect(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
    intent: ProviderIntent,
  ): Promise<string> {
    const outcome = await this.find(slot).start(request, intent, randomBytes(24).toString('base64url'));
    if (outcome.kind !== 'sent-away') throw fault('auth_unavailable');
    addCookie(response, this.settings, this.states.cookie, request.providerState?.text ?? '', STATE_SECONDS);
    return outcome.location;
  }

  /** Returns the identity of the returning user and the intent; spends the state. */
  async finish(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<{ identity: ProvenIdentity; intent: ProviderIntent }> {
    const identity = await this.find(slot).finish(request);
    addCookie(response, this.settings, this.states.cookie, '', 0);
    return { identity, intent: request.providerState ?? {} };
  }

  /** Ends a sign-in that the provider answered with an error (RFC 6749, 4.1.2.1); returns its intent. */
  async abandon(slot: ProviderSlot, request: HttpRequest, response: ServerResponse): Promise<ProviderIntent> {
    this.find(slot);
    const intent = await this.states.spend(request, slot, queryOf(request).get('state'));
    addCookie(response, this.settings, this.states.cookie, '', 0);
    return intent ?? {};
  }

  /** Name of the provider with this slot or issuer; defaults to the argument if it is no longer configured. */
  nameOf(slotOrIssuer: string): string {
    const isMatch = ({ slot, issuer }: IdentityProviderClient): boolean =>
      slotOrIssuer === slot || slotOrIssuer === issuer;
    return this.configured.find(isMatch)?.name ?? slotOrIssuer;
  }

  signInLinks(next?: string): { slot: ProviderSlot; name: string; href: string }[] {
    const query = next === undefined || next === '' ? '' : `?next=${encodeURIComponent(next)}`;
    return this.configured.map(({ slot, name }) => ({ slot, name, href: `/auth/${slot}${query}` }));
  }
}
