import { Injectable } from '@nestjs/common';
import { fault } from '../../../kernel';
import { Settings } from '../../../platform';
import { GithubProvider } from './github-provider';
import { OpenIdProvider } from './open-id-provider';
import type { Provider } from './provider';
import { type ProviderSlot, ProviderStates } from './provider-states';

/** The identity providers of the configuration, two at most. */
@Injectable()
export class Providers {
  private readonly configured: readonly Provider[];

  constructor(settings: Settings, states: ProviderStates) {
    this.configured = (['idp1', 'idp2'] as const).flatMap((slot) => {
      const issuer = settings[`${slot}Issuer`];
      const id = settings[`${slot}ClientId`];
      const secret = settings[`${slot}ClientSecret`];
      if (issuer === undefined || id === undefined || secret === undefined) return [];
      const client = { slot, issuer, clientId: id, clientSecret: secret };
      const Kind = settings[`${slot}Kind`] === 'github' ? GithubProvider : OpenIdProvider;
      return [new Kind(client, settings, states)];
    });
  }

  find(slot: ProviderSlot): Provider {
    const found = this.configured.find((provider) => provider.slot === slot);
    if (found === undefined) throw fault('not_found', { message: 'No such identity provider is set up.' });
    return found;
  }

  /** For pages: a name and where its button leads. */
  shown(next?: string): { slot: ProviderSlot; name: string; href: string }[] {
    const query = next === undefined || next === '' ? '' : `?next=${encodeURIComponent(next)}`;
    return this.configured.map(({ slot, name }) => ({ slot, name, href: `/auth/${slot}${query}` }));
  }
}
