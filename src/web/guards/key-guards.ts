import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { fromUnknown } from '../../kernel';
import { type Caller, KeyGate } from '../../keys';
import { Metrics } from '../../platform';
import { ClientAddress } from '../client-address';
import { requestOf } from '../http-request';
import { admitChat, admitClient, admitRoot, identify, keyTextOf } from './credentials';

/** Finds the caller by its key. Subclasses decide which header carries the key, and which callers are admitted. */
@Injectable()
abstract class KeyGuard implements CanActivate {
  protected readonly accepts: 'bearer' | 'either' = 'bearer';
  protected abstract readonly admit: (caller: Caller) => Caller;

  constructor(
    private readonly gate: KeyGate,
    private readonly addresses: ClientAddress,
    private readonly metrics: Metrics,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const text = keyTextOf(request.headers, this.accepts);
    try {
      const known = identify(this.gate, this.addresses, text, request, this.admit);
      return known instanceof Promise ? known.catch((error: unknown) => this.refuse(error)) : known;
    } catch (error) {
      return this.refuse(error);
    }
  }

  /** Nobody behind the guard hears of it. */
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

/** A client key, or the key of a person's web chat. */
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
