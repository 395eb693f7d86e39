import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { fromUnknown, type MaybePromise } from '../../kernel';
import { type Caller, KeyAuthenticator } from '../../keys';
import { Metrics } from '../../platform';
import { ClientAddress } from '../client-address';
import { requestOf } from '../http-request';
import { admitChat, admitClient, admitRoot, identify, keyTextOf } from './credentials';

@Injectable()
abstract class KeyGuard implements CanActivate {
  protected readonly accepts: 'bearer' | 'either' = 'bearer';
  protected abstract readonly admit: (caller: Caller) => Caller;

  constructor(
    private readonly gate: KeyAuthenticator,
    private readonly addresses: ClientAddress,
    private readonly metrics: Metrics,
  ) {}

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const request = requestOf(context);
    const text = keyTextOf(request.headers, this.accepts);
    try {
      const result = identify(this.gate, this.addresses, text, request, this.admit);
      return result instanceof Promise ? result.catch((error: unknown) => this.refuse(error)) : result;
    } catch (error) {
      return this.refuse(error);
    }
  }

  /** Counts the rejection here, because no handler sees the request. */
  private refuse(error: unknown): never {
    const { status, code } = fromUnknown(error);
    const status_class = `${Math.floor(status / 100)}xx`;
    this.metrics.requests.inc({ endpoint: '', model: '', status_class, error_code: code });
    this.metrics.rejections.inc({ reason: code });
    throw error;
  }
}

@Injectable()
export class BearerGuard extends KeyGuard {
  protected override readonly admit = admitClient;
}

@Injectable()
export class ChatGuard extends KeyGuard {
  protected override readonly admit = admitChat;
}

@Injectable()
export class ApiKeyGuard extends KeyGuard {
  protected override readonly accepts = 'either';
  protected override readonly admit = admitClient;
}

@Injectable()
export class RootKeyGuard extends KeyGuard {
  protected override readonly admit = admitRoot;
}
