import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { ProvenIdentity } from '../../../identity';
import { fault } from '../../../kernel';
import { OutgoingClient, Settings } from '../../../platform';
import { addCookie, type HttpRequest, queryOf } from '../../../web';
import { GithubProvider } from './github-provider';
import { OpenIdProvider } from './open-id-provider';
import type { Provider } from './provider';
import { ProviderReader } from './provider-reader';
import { type ProviderIntent, type ProviderSlot, ProviderStates, STATE_SECONDS } from './provider-states';

/** The identity providers of the configuration, two at most. */
@Injectable()
export class Providers {
  private readonly configured: readonly Provider[];

  constructor(
    private readonly settings: Settings,
    private readonly states: ProviderStates,
    client: OutgoingClient,
  ) {
    const reader = new ProviderReader(client);
    this.configured = (['idp1', 'idp2'] as const).flatMap((slot) => {
      const issuer = settings[`${slot}Issuer`];
      const id = settings[`${slot}ClientId`];
      const secret = settings[`${slot}ClientSecret`];
      if (issuer === undefined || id === undefined || secret === undefined) return [];
      const found = { slot, issuer, clientId: id, clientSecret: secret };
      const Kind = settings[`${slot}Kind`] === 'github' ? GithubProvider : OpenIdProvider;
      return [new Kind(found, settings, states, reader)];
    });
  }

  find(slot: ProviderSlot): Provider {
    const found = this.configured.find((provider) => provider.slot === slot);
    if (found === undefined) throw fault('not_found', { message: 'No such identity provider is set up.' });
    return found;
  }

  /** Returns the provider's address. The cookie ties its answer to this browser. */
  async leave(
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

  /** The answer names the person who came back, and the intent. The state is used up. */
  async finish(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<{ identity: ProvenIdentity; intent: ProviderIntent }> {
    const identity = await this.find(slot).finish(request);
    addCookie(response, this.settings, this.states.cookie, '', 0);
    return { identity, intent: request.providerState ?? {} };
  }

  /** Ends a sign-in that the provider answered with an error (RFC 6749, 4.1.2.1); returns what it was for. */
  async abandon(slot: ProviderSlot, request: HttpRequest, response: ServerResponse): Promise<ProviderIntent> {
    this.find(slot);
    const intent = await this.states.spend(request, slot, queryOf(request).get('state'));
    addCookie(response, this.settings, this.states.cookie, '', 0);
    return intent ?? {};
  }

  /** It finds one by its slot or its issuer; the issuer of one that is not set up any more stands for itself. */
  nameOf(slotOrIssuer: string): string {
    const isMeant = ({ slot, issuer }: Provider): boolean => slotOrIssuer === slot || slotOrIssuer === issuer;
    return this.configured.find(isMeant)?.name ?? slotOrIssuer;
  }

  /** Pages need a name and where its button leads. */
  shown(next?: string): { slot: ProviderSlot; name: string; href: string }[] {
    const query = next === undefined || next === '' ? '' : `?next=${encodeURIComponent(next)}`;
    return this.configured.map(({ slot, name }) => ({ slot, name, href: `/auth/${slot}${query}` }));
  }
}
