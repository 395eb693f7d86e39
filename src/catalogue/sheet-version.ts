import { fault, versionOf } from '../kernel';
import type { ModelState } from './entities';

/** It covers what the form of a model's state shows. */
export const stateVersion = (state: ModelState): string => versionOf({ state });

/** It covers what the form of a model's redirect shows: the model by its id, or none. */
export const redirectVersion = (redirectTo: number | null): string => versionOf({ redirectTo });

/** The aliases of a model, in any order. */
export const aliasesVersion = (aliases: readonly string[]): string =>
  versionOf({ aliases: [...aliases].sort() });

/** The next apply would set back without a word what a file keeps. */
export function refuseManaged({ name, managed }: { readonly name: string; readonly managed: boolean }): void {
  if (!managed) return;
  throw fault('conflict', { message: `"${name}" is kept by a gateway file: change it there and apply it.` });
}
