import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { KeyDirectory } from '../../keys';
import { requestOf } from '../http-request';
import { admitRoot, identify, keyTextOf } from './credentials';

@Injectable()
export class RootKeyGuard implements CanActivate {
  constructor(private readonly directory: KeyDirectory) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    return identify(this.directory, keyTextOf(request.headers, 'bearer'), request, admitRoot);
  }
}
