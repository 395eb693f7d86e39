import { atLeast, type UserRole } from './roles';

/** Scope of the root key and the command line. */
export const platformScope: Scope = { kind: 'platform' };

/** Data that an actor can see; the first argument of every read. */
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
  readonly role: UserRole;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly sessionId: string;
  readonly scope: Scope;
}

export type ScopeHolder = Pick<Actor, 'userId' | 'role' | 'organisationId' | 'departmentId'>;

/** A role without its organisation or department falls back to the narrower scope. */
export function scopeOf({ userId, role, organisationId, departmentId }: ScopeHolder): Scope {
  if (atLeast(role, 'platform_admin')) return { kind: 'platform' };
  if (organisationId !== null && atLeast(role, 'org_admin')) return { kind: 'organisation', organisationId };
  if (organisationId !== null && departmentId !== null && role === 'department_admin') {
    return { kind: 'department', organisationId, departmentId, userId };
  }
  return { kind: 'user', userId };
}
