import type { Role } from './navigation';
import type { GateRequest } from './requests';

/** A user who opens a page or makes a change. */
export interface Visit {
  readonly personId: number;
  readonly role: Role;
  readonly organisationId: number | null;
  readonly method: string;
  readonly path: string;
}

/** Forbids more than the host does; a policy cannot allow what the host forbids. */
export interface Policy {
  readonly name: string;
  /** Returns synchronously why a request is not allowed to use a model; null if it is. */
  forbidsModel?(request: GateRequest, model: string): string | null;
  /** Returns synchronously why a user is not allowed to do this; null if they are. */
  forbidsVisit?(visit: Visit): string | null;
}
