import type { Caller } from './caller';

export interface KeyChange {
  readonly what: 'key' | 'user_account' | 'organisation' | 'department' | 'project';
  readonly id: number;
}

/** Parses a notification; null means "any key", also if the text is invalid. */
export function readKeyChange(text: string | null): KeyChange | null {
  const [, what, id] =
    /^(key|user_account|organisation|department|project) (\d{1,10})$/.exec(text ?? '') ?? [];
  return what === undefined ? null : { what: what as KeyChange['what'], id: Number(id) };
}

export function isAffectedBy(change: KeyChange | null, caller: Caller): boolean {
  if (change === null) return true;
  const { attribution } = caller;
  switch (change.what) {
    case 'key':
      return caller.keyId === change.id;
    case 'user_account':
      return attribution.userId === change.id || caller.payerChain.includes(change.id);
    case 'organisation':
      return attribution.organisationId === change.id;
    case 'department':
      return attribution.departmentId === change.id;
    case 'project':
      return attribution.projectId === change.id;
  }
}
