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

/** The audit entry that a change must write, one of several, or why it needs none. */
export type AuditRule = ActionName | readonly ActionName[] | { readonly none: string };

const auditMetadata = 'switchboard:audit';

/** Runs the handler as one whose entries know its request; without the promised one it fails and is rolled back. */
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
      // None where the caller has gone: its connection no longer says.
      address: this.addresses.of(request) || null,
      actor: actorOf(request),
    });
    const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    return from(this.log.during(activityRequest, actionsOf(rule), work));
  }
}

/** `Action` has this built in; other handlers that change something, such as a sign-in's callback, say it themselves. */
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
