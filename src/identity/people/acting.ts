import { type Actor, type Fault, fault, type Scope } from '../../kernel';

/** The actor with role and scope. */
export interface Acting {
  readonly actor: Actor;
  readonly scope: Scope;
}

/** An optimistic lock: the version as the actor saw it. */
export interface Target {
  readonly id: number;
  /** The version of the edited page; without it, concurrent edits are not detected. */
  readonly version?: number;
  readonly reason?: string;
}

interface Versioned {
  readonly version: number;
}

/** Of two people who edit the same thing, the second is told. */
export function assertVersion(found: Versioned, { version }: Target): void {
  if (version === undefined || version === found.version) return;
  throw fault('conflict', {
    param: 'version',
    message: 'Someone else changed this in the meantime. Load the page again and repeat your change.',
    details: { reason: 'changed-meanwhile', version: found.version },
  });
}

/** Objects outside the scope are answered as not found. */
export const absent = (what: string): Fault =>
  fault('not_found', { message: `There is no such ${what}.`, details: { reason: 'gone' } });

/** Payers and members of projects are active people of the organisation. */
export const notInOrganisation = (param?: string): Fault =>
  fault('not_found', {
    ...(param === undefined ? {} : { param }),
    message: 'There is no such active user in this organisation.',
    details: { reason: 'not-in-organisation' },
  });

export const nameTaken = (param: string, message: string): Fault =>
  fault('conflict', { param, message, details: { reason: 'name-taken' } });
