import type { Role } from '../../kernel';
import type { ActionName, ObjectType } from './action-names';
import type { Changes } from './changes';

/** Who acted. The label is frozen in the entry: it stays readable after the person or key is gone. */
export type ActivityActor =
  | {
      readonly kind: 'user';
      readonly userId: number;
      readonly label: string;
      readonly role: Role;
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

/** Whose account, organisation and department an entry belongs to: who may read it follows from this. */
export interface Concerned {
  readonly userId?: number | null;
  readonly organisationId?: number | null;
  readonly departmentId?: number | null;
}

export interface NewActivity {
  readonly action: ActionName;
  readonly object: {
    readonly type: ObjectType;
    readonly id?: string | number | bigint;
    readonly label?: string;
  };
  /** Whom it is about. Without it, the actor, who changed something of their own. */
  readonly concerns?: Concerned;
  /** See `changesOf`. */
  readonly changes?: Changes;
  /** What the actor gave as the reason. */
  readonly reason?: string;
  /** Without it, who is signed in or whose key it is. */
  readonly actor?: ActivityActor;
}

/** What the log knows of the request in which a change is made. */
export interface ActivityRequest {
  readonly requestId: string | null;
  readonly address: string | null;
  readonly actor: ActivityActor | null;
}
