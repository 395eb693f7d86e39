import type { ActivityActor } from '../audit';
import type { UserAccount } from './user-account.entity';

/** A user who acts on their own account before, or without, being signed in. */
export const actorOf = (account: UserAccount): ActivityActor => ({
  kind: 'user',
  userId: account.id,
  role: account.role,
  organisationId: account.organisationId,
  departmentId: account.departmentId,
  label: account.displayName === '' ? account.email : `${account.displayName} (${account.email})`,
});
