import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { KeyGate } from '../../keys';
import { ClientAddress } from '../client-address';
import { requestOf } from '../http-request';
import { admitChat, identify, keyTextOf } from './credentials';

/** A client key, or the key of a person's web chat. */
@Injectable()
export class ChatGuard implements CanActivate {
  constructor(
    private readonly gate: KeyGate,
    private readonly addresses: ClientAddress,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const text = keyTextOf(request.headers, 'bearer');
    return identify(this.gate, this.addresses, text, request, admitChat);
  }
}
