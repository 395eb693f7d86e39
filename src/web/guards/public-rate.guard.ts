import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  normalizeIp,
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  type ThrottlerModuleOptions,
  type ThrottlerStorage,
} from '@nestjs/throttler';
import { fault } from '../../kernel';
import { ClientAddress } from '../client-address';
import { type HttpRequest, requestOf } from '../http-request';

/** Single limit per address for all public routes: anonymous callers have no other identity. */
@Injectable()
export class PublicRateGuard extends ThrottlerGuard {
  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() storage: ThrottlerStorage,
    reflector: Reflector,
    private readonly addresses: ClientAddress,
  ) {
    super(options, storage, reflector);
  }

  /** A page that is shown again for a refused form belongs to the request of the form. */
  protected override shouldSkip(context: ExecutionContext): Promise<boolean> {
    return Promise.resolve(requestOf(context).refusal !== undefined);
  }

  protected override getTracker(request: HttpRequest): Promise<string> {
    return Promise.resolve(normalizeIp(this.addresses.of(request)));
  }

  protected override generateKey(_context: ExecutionContext, tracker: string): string {
    return tracker;
  }

  protected override throwThrottlingException(
    _context: ExecutionContext,
    { timeToBlockExpire }: ThrottlerLimitDetail,
  ): Promise<void> {
    throw fault('rate_limit_exceeded', {
      message: 'Too many requests came from this address.',
      retryAfterSeconds: timeToBlockExpire,
    });
  }
}
