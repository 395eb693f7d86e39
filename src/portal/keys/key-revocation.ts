import { fault } from '../../kernel';
import type { ManagedKey } from '../../keys';
import type { KeyActor } from './recorded-keys';

/** Someone else's programs use it: who revokes it there types its name. */
export const asksForName = ({ as }: KeyActor['acting'], lastDay: number): boolean =>
  as === 'administrator' && lastDay > 0;

export function refuseUnnamed({ name }: ManagedKey, confirmation: unknown): void {
  if (typeof confirmation === 'string' && confirmation.trim() === name) return;
  throw fault('conflict', {
    param: 'confirmation',
    message: `Type ${name} to confirm.`,
    details: { reason: 'confirm-name', name },
  });
}
