import type { ServerResponse } from 'node:http';
import { type ExecutionContext, Injectable, mixin, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { fault } from '../../../kernel';
import { type HttpRequest, portalHostOf, queryOf, requestOf, wantsPage } from '../../../web';
import { IdentityProviderRegistry } from './identity-provider-registry';
import { type ProviderSlot, ProviderStates } from './provider-states';

/** True if the provider reports an error (RFC 6749, 4.1.2.1) to a browser; the handler then leads it back. */
export const isProviderError = (request: HttpRequest): boolean =>
  wantsPage(request) && queryOf(request).has('error');

/** Authenticates the return from the provider of a slot, and sets `request.identity`. */
export function IdentityProviderGuard(slot: ProviderSlot): Type {
  @Injectable()
  class SlotGuard extends AuthGuard(slot) {
    constructor(
      private readonly providers: IdentityProviderRegistry,
      private readonly states: ProviderStates,
    ) {
      super();
    }

    override canActivate(context: ExecutionContext) {
      const request = requestOf(context);
      if (portalHostOf(request) !== '') throw fault('origin_not_allowed');
      this.providers.find(slot);
      return isProviderError(request) || super.canActivate(context);
    }

    override getAuthenticateOptions() {
      return { property: 'identity' };
    }

    override handleRequest<User>(
      error: Error | null,
      user: User,
      _info: unknown,
      context: ExecutionContext,
    ): User {
      if (error !== null) throw error;
      this.states.forget(context.switchToHttp().getResponse<ServerResponse>());
      return user;
    }
  }
  return mixin(SlotGuard);
}
