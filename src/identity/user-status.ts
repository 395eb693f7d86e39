import { defineTransitions } from '../kernel';

export type UserStatus = 'pending_verification' | 'active' | 'suspended' | 'archived' | 'deleted';

/** Deletion erases personal data and cannot be taken back; everything else can. */
export const userTransitions = defineTransitions<UserStatus>({
  pending_verification: ['active', 'suspended', 'archived', 'deleted'],
  active: ['suspended', 'archived', 'deleted'],
  suspended: ['active', 'archived', 'deleted'],
  archived: ['active', 'deleted'],
  deleted: [],
});

/** Keys of the account work, and it pays for others. */
export const isInUse = (status: UserStatus): boolean =>
  status === 'active' || status === 'pending_verification';
