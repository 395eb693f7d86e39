import type { Visit } from '#extension';
import { type Extensions, policyReason } from '../../extensions';
import { type Actor, fault } from '../../kernel';
import { type HttpRequest, pathOf } from '../http-request';

export function refuseForbiddenVisit({ policies }: Extensions, request: HttpRequest, actor: Actor): void {
  if (policies.length === 0) return;
  const visit: Visit = {
    personId: actor.userId,
    role: actor.role,
    organisationId: actor.organisationId,
    method: request.method ?? 'GET',
    path: pathOf(request),
  };
  for (const policy of policies) {
    const reason = policyReason(policy, (part) => part.forbidsVisit?.(visit));
    if (reason !== null)
      throw fault('permission_denied', { message: reason, details: { policy: policy.name } });
  }
}
