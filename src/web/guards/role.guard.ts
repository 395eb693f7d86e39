import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { atLeast, fault } from '../../kernel';
import { accessMetadata, type AccessRule } from '../access-rule';
import { requestOf } from '../http-request';

@Injectable()
export class RoleGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const rule = this.reflector.getAllAndOverride<AccessRule>(accessMetadata, [
      context.getHandler(),
      context.getClass(),
    ]);
    const { actor, viewing } = requestOf(context);
    if (viewing?.awaitsSecondFactor === true)
      throw fault('permission_denied', {
        message: 'Administrators here need a second factor. Switch it on in your settings.',
      });
    if (rule.kind !== 'role' || actor === undefined || !atLeast(actor.role, rule.minimum)) {
      throw fault('permission_denied');
    }
    return true;
  }
}
