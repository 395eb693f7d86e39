import { createHash } from 'node:crypto';
import { fault } from '../kernel';

/** Equal for equal contents: what was shown is still what is there. */
export const versionOf = (contents: object): string =>
  createHash('sha256')
    .update(
      JSON.stringify(contents, (_name, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      ),
    )
    .digest('base64url')
    .slice(0, 22);

export function refuseStale(shown: string | undefined, version: string): void {
  if (shown === undefined || shown === version) return;
  throw fault('conflict', {
    message: 'This was changed by another since it was shown. Nothing was written; look again.',
    details: { version },
  });
}

/** What a file keeps, the next apply would set back without a word. */
export function refuseManaged({ name, managed }: { readonly name: string; readonly managed: boolean }): void {
  if (!managed) return;
  throw fault('conflict', { message: `"${name}" is kept by a gateway file: change it there and apply it.` });
}
