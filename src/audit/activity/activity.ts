import type { UserRole } from '../../kernel';
import type { LoggedAction, ObjectType } from './action-names';
import type { Changes } from './changes';

/** The label is stored in the entry, so that it stays readable after the user or key is deleted. */
export type ActivityActor =
  | {
      readonly kind: 'user';
      readonly userId: number;
      readonly label: string;
      readonly role: UserRole;
      readonly organisationId: number | null;
      readonly departmentId: number | null;
    }
  | {
      readonly kind: 'key';
      readonly keyId: number;
      readonly label: string;
      readonly userId: number | null;
      readonly organisationId: number | null;
      readonly departmentId: number | null;
    }
  | { readonly kind: 'system'; readonly label: string };

export const systemActor = (label: string): ActivityActor => ({ kind: 'system', label });

export interface ActivitySubject {
  readonly userId?: number | null;
  readonly organisationId?: number | null;
  readonly departmentId?: number | null;
}

export interface NewActivity {
  readonly action: LoggedAction;
  readonly object: {
    readonly type: ObjectType;
    readonly id?: string | number | bigint;
    readonly label?: string;
  };
  readonly concerns?: ActivitySubject;
  readonly changes?: Changes;
  readonly reason?: string;
  /** Defaults to the signed-in user, or the owner of the key. */
  readonly actor?: ActivityActor;
}

export interface ActivityRequest {
  readonly requestId: string | null;
  readonly address: string | null;
  readonly actor: ActivityActor | null;
}
