import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault } from '../../../kernel';
import { OutgoingClient, Settings } from '../../../platform';
import { GithubProvider } from './github-provider';
import { OpenIdProvider } from './open-id-provider';
import type { IdentityProviderClient } from './identity-provider-client';
import { ProviderHttpClient } from './provider-http-client';
import { type ProviderIntent, type ProviderSlot, ProviderStates } from './provider-states';

/** The configured identity providers, at most two. */
@Injectable()
export class IdentityProviderRegistry {
  private readonly configured: readonly IdentityProviderClient[];

  constructor(
    private readonly states: ProviderStates,
    settings: Settings,
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
      return [new Kind(providerClient, settings, reader)];
    });
  }

  find(slot: ProviderSlot): IdentityProviderClient {
    const match = this.configured.find((provider) => provider.slot === slot);
    if (match === undefined) throw fault('not_found', { message: 'No such identity provider is set up.' });
    return match;
  }

  /** Returns the provider's address, and sets the cookie that ties its response to this browser. */
  async startRedirect(slot: ProviderSlot, response: ServerResponse, intent: ProviderIntent): Promise<string> {
    const provider = this.find(slot);
    // Discovery comes first, so that an unreachable provider leaves no state behind.
    await provider.endpoints();
    const [verifier, nonce] = [randomBytes(32).toString('base64url'), randomBytes(24).toString('base64url')];
    const state = { ...intent, slot, verifier, nonce };
    return provider.authorizationUrlFor(await this.states.issue(state, response), state);
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
