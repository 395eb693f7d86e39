import { Injectable, type Type } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { ProvenIdentity } from '../../../identity';
import { AuthorizationCodeStrategy } from './authorization-code.strategy';
import type { TokenExchange } from './identity-provider-client';
import { IdentityProviderRegistry } from './identity-provider-registry';
import { type ProviderSlot, ProviderStates } from './provider-states';

/** Settings decide whether the slot has a provider and of which kind, so the registry is queried for each request. */
function IdentityProviderStrategy(slot: ProviderSlot): Type {
  @Injectable()
  class SlotStrategy extends PassportStrategy(AuthorizationCodeStrategy, slot) {
    constructor(
      private readonly providers: IdentityProviderRegistry,
      states: ProviderStates,
    ) {
      super({ states, findProvider: () => providers.find(slot) });
    }

    validate(exchange: TokenExchange): Promise<ProvenIdentity> {
      return this.providers.find(slot).validate(exchange);
    }
  }
  return SlotStrategy;
}

@Injectable()
export class Idp1Strategy extends IdentityProviderStrategy('idp1') {}

@Injectable()
export class Idp2Strategy extends IdentityProviderStrategy('idp2') {}
