import { createHash } from 'node:crypto';
import { fault } from './errors';

/** Equal for equal contents, in whatever order they come: what was shown is still what is there. */
export const versionOf = (contents: object): string =>
  createHash('sha256').update(JSON.stringify(contents, inOrder)).digest('base64url').slice(0, 22);

function inOrder(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The second of two edits is told: forms show what is stored now, and what was typed beside it. */
export function refuseStale(shown: string | undefined, version: string): void {
  if (shown === undefined || shown === version) return;
  throw fault('conflict', {
    message: 'This was changed by another since it was shown. Nothing was written; look again.',
    details: { version },
  });
}
