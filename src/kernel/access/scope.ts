import { atLeast, type Role } from './roles';

/** The root key and the command line have this scope. */
export const platformScope: Scope = { kind: 'platform' };

/** An actor may see the data of a scope, which is the first argument of every read. */
export type Scope =
  | { readonly kind: 'platform' }
  | { readonly kind: 'organisation'; readonly organisationId: number }
  | {
      readonly kind: 'department';
      readonly organisationId: number;
      readonly departmentId: number;
      readonly userId: number;
    }
  | { readonly kind: 'user'; readonly userId: number };

export interface Actor {
  readonly userId: number;
  readonly email: string;
  readonly displayName: string;
  readonly role: Role;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly sessionId: string;
  readonly scope: Scope;
}

export type ScopeHolder = Pick<Actor, 'userId' | 'role' | 'organisationId' | 'departmentId'>;

/** A role without the organisation or department it rules over falls back to the narrower scope. */
export function scopeOf({ userId, role, organisationId, departmentId }: ScopeHolder): Scope {
  if (atLeast(role, 'platform_admin')) return { kind: 'platform' };
  if (organisationId !== null && atLeast(role, 'org_admin')) return { kind: 'organisation', organisationId };
  if (organisationId !== null && departmentId !== null && role === 'department_admin') {
    return { kind: 'department', organisationId, departmentId, userId };
  }
  return { kind: 'user', userId };
}
