import { type Actor, type Fault, fault, type Scope } from '../../kernel';

export interface ActorContext {
  readonly actor: Actor;
  readonly scope: Scope;
}

/** Object to edit, with an optimistic lock: the version that the actor saw. */
export interface EditTarget {
  readonly id: number;
  /** Version of the edited page; without it, concurrent edits are not detected. */
  readonly version?: number;
  readonly reason?: string;
}

interface Versioned {
  readonly version: number;
}

export function assertVersion(current: Versioned, { version }: EditTarget): void {
  if (version === undefined || version === current.version) return;
  throw fault('conflict', {
    param: 'version',
    message: 'Someone else changed this in the meantime. Load the page again and repeat your change.',
    details: { reason: 'changed-meanwhile', version: current.version },
  });
}

export const notFoundFault = (label: string): Fault =>
  fault('not_found', { message: `There is no such ${label}.`, details: { reason: 'gone' } });

/** Payers and members of projects must be active users of the organisation. */
export const notInOrganisationFault = (param?: string): Fault =>
  fault('not_found', {
    ...(param === undefined ? {} : { param }),
    message: 'There is no such active user in this organisation.',
    details: { reason: 'not-in-organisation' },
  });

export const nameTakenFault = (param: string, message: string): Fault =>
  fault('conflict', { param, message, details: { reason: 'name-taken' } });
