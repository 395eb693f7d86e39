import { createHash } from 'node:crypto';
import { fault } from './errors';

/** Fingerprint that ignores the order of members; equal if the displayed contents are unchanged. */
export const versionOf = (contents: object): string =>
  createHash('sha256').update(JSON.stringify(contents, sortMembers)).digest('base64url').slice(0, 22);

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Throws `conflict` for the second of two concurrent edits; forms then show both the stored and the typed values. */
export function rejectStale(submittedVersion: string | undefined, version: string): void {
  if (submittedVersion === undefined || submittedVersion === version) return;
  throw fault('conflict', {
    message: 'This was changed by another since it was shown. Nothing was written; look again.',
    details: { reason: 'changed-meanwhile', version },
  });
}
