import type { Role } from './navigation';
import type { GateRequest } from './requests';

/** A person who opens a page or makes a change. */
export interface Visit {
  readonly personId: number;
  readonly role: Role;
  readonly organisationId: number | null;
  readonly method: string;
  readonly path: string;
}

/** It forbids more than the host does; it can allow nothing that the host forbids. */
export interface Policy {
  readonly name: string;
  /** The reason why a request may not use a model; null where it may. It answers at once. */
  forbidsModel?(request: GateRequest, model: string): string | null;
  /** The reason why a person may not do this; null where they may. It answers at once. */
  forbidsVisit?(visit: Visit): string | null;
}
