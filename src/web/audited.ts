import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { type ActionName, type ActivityActor, ActivityLog } from '../audit';
import { ClientAddress } from './client-address';
import { type HttpRequest, requestOf } from './http-request';

/** The audit entry that a change must write, a choice of several, or the reason why none is needed. */
export type AuditRule = ActionName | readonly ActionName[] | { readonly none: string };

const auditMetadata = 'switchboard:audit';

/**
 * Runs the handler in an activity context with its request. Without the declared entry, the change fails and is rolled
 * back.
 */
@Injectable()
class AuditInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly log: ActivityLog,
    private readonly addresses: ClientAddress,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rule = this.reflector.get<AuditRule>(auditMetadata, context.getHandler());
    const request = requestOf(context);
    const activityRequest = () => ({
      requestId: request.requestId,
      // Null if the caller has disconnected, because the connection then has no address.
      address: this.addresses.of(request) || null,
      actor: actorOf(request),
    });
    const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    return from(this.log.runAudited(activityRequest, actionsOf(rule), work));
  }
}

/** For handlers other than `Action` that change something, such as the callback of a sign-in. */
export const Audited = (rule: AuditRule): MethodDecorator =>
  applyDecorators(SetMetadata(auditMetadata, rule), UseInterceptors(AuditInterceptor));

function actionsOf(rule: AuditRule): readonly ActionName[] {
  if (typeof rule === 'string') return [rule];
  return 'none' in rule ? [] : rule;
}

function actorOf({ actor, caller }: HttpRequest): ActivityActor | null {
  if (actor !== undefined) {
    const { userId, role, organisationId, departmentId, displayName, email } = actor;
    const label = displayName === '' ? email : `${displayName} (${email})`;
    return { kind: 'user', userId, role, organisationId, departmentId, label };
  }
  if (caller === undefined) return null;
  const { userId, organisationId, departmentId } = caller.attribution;
  const label = `${caller.name} (${caller.publicId})`;
  return { kind: 'key', keyId: caller.keyId, userId, organisationId, departmentId, label };
}
