import { fault, versionOf } from '../kernel';
import type { ModelState } from './entities';

export const stateVersion = (state: ModelState): string => versionOf({ state });

export const redirectVersion = (redirectTo: number | null): string => versionOf({ redirectTo });

/** Independent of the order of the aliases. */
export const aliasesVersion = (aliases: readonly string[]): string =>
  versionOf({ aliases: [...aliases].sort() });

/** Rejects changes to an object that a gateway file manages, because the next apply would silently undo them. */
export function refuseManaged({ name, managed }: { readonly name: string; readonly managed: boolean }): void {
  if (!managed) return;
  throw fault('conflict', { message: `"${name}" is kept by a gateway file: change it there and apply it.` });
}
