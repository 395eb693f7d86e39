import { fault } from '../../kernel';
import type { ManagedKey } from '../../keys';
import type { ScopedKeyActor } from './audited-keys';

/** Requires typing the name to revoke another user's key that is in use. */
export const requiresConfirmation = ({ as }: ScopedKeyActor['acting'], lastDay: number): boolean =>
  as === 'administrator' && lastDay > 0;

export function requireKeyName({ name }: ManagedKey, confirmation: unknown): void {
  if (typeof confirmation === 'string' && confirmation.trim() === name) return;
  throw fault('conflict', {
    param: 'confirmation',
    message: `Type ${name} to confirm.`,
    details: { reason: 'confirm-name', name },
  });
}
