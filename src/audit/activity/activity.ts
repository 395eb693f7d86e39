import type { Role } from '../../kernel';
import type { LoggedAction, ObjectType } from './action-names';
import type { Changes } from './changes';

/** The actor. The label is frozen in the entry, so that it stays readable after the person or key is gone. */
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

/** The account, organisation and department of an entry; they decide who may read it. */
export interface Concerned {
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
  /** The account that the entry is about. By default this is the actor, who changed something of their own. */
  readonly concerns?: Concerned;
  /** See `changesOf`. */
  readonly changes?: Changes;
  /** The actor gave this reason. */
  readonly reason?: string;
  /** By default it is the signed-in person, or the owner of the key. */
  readonly actor?: ActivityActor;
}

/** The request in which a change is made, as the log records it. */
export interface ActivityRequest {
  readonly requestId: string | null;
  readonly address: string | null;
  readonly actor: ActivityActor | null;
}
