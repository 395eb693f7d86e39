import { defineTransitions } from '../kernel';

export type UserStatus = 'pending_verification' | 'active' | 'suspended' | 'archived' | 'deleted';

/** Deletion erases personal data and is permanent; every other change can be undone. */
export const userTransitions = defineTransitions<UserStatus>({
  pending_verification: ['active', 'suspended', 'archived', 'deleted'],
  active: ['suspended', 'archived', 'deleted'],
  suspended: ['active', 'archived', 'deleted'],
  archived: ['active', 'deleted'],
  deleted: [],
});

/** True if the keys of the account work and the account pays for others. */
export const isInUse = (status: UserStatus): boolean =>
  status === 'active' || status === 'pending_verification';
