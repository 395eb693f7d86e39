import { type Actor, fault, type Scope } from '../kernel';
import type { HttpRequest } from './http-request';

/** The actor is signed in: for handlers behind a session. */
export function actorOf({ actor }: Pick<HttpRequest, 'actor'>): Actor {
  if (actor === undefined) throw fault('authentication_required');
  return actor;
}

/**
 * A page of the dashboard shows one's own, or in the administration's view what role and organisation allow.
 * Every read of such a page takes it.
 */
export function viewScope(request: HttpRequest): Scope {
  const { userId } = actorOf(request);
  return request.viewing?.adminView ? adminScope(request) : { kind: 'user', userId };
}

/** The scope of a page of the administration, in any view: everything that the role may see, narrowed likewise. */
export function adminScope(request: HttpRequest): Scope {
  const { scope } = actorOf(request);
  const chosen = request.viewing?.adminView?.organisation ?? null;
  return scope.kind === 'platform' && chosen !== null
    ? { kind: 'organisation', organisationId: chosen.id }
    : scope;
}
