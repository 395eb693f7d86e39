import { type Actor, fault, type Scope } from '../kernel';
import type { HttpRequest } from './http-request';

export function actorOf({ actor }: Pick<HttpRequest, 'actor'>): Actor {
  if (actor === undefined) throw fault('authentication_required');
  return actor;
}

/**
 * Scope of a dashboard page: the user's own data, or in the administration's view everything that role and organisation
 * allow.
 */
export function viewScope(request: HttpRequest): Scope {
  const { userId } = actorOf(request);
  return request.viewing?.adminView ? adminScope(request) : { kind: 'user', userId };
}

/**
 * Scope of an administration page in any view: everything that the role can see, narrowed to the chosen organisation.
 */
export function adminScope(request: HttpRequest): Scope {
  const { scope } = actorOf(request);
  const organisation = request.viewing?.adminView?.organisation ?? null;
  return scope.kind === 'platform' && organisation !== null
    ? { kind: 'organisation', organisationId: organisation.id }
    : scope;
}
