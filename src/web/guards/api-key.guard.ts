import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { KeyDirectory } from '../../keys';
import { requestOf } from '../http-request';
import { admitClient, identify, keyTextOf } from './credentials';

@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly directory: KeyDirectory) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    return identify(this.directory, keyTextOf(request.headers, 'either'), request, admitClient);
  }
}
