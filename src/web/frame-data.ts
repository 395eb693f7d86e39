import type { OrganisationName } from '../identity';

/** Notice on the page after a change: a text of the locales, never a secret. */
export interface Notice {
  readonly tone: 'ok' | 'warn' | 'bad' | 'info';
  readonly text: string;
  readonly values?: Readonly<Record<string, string | number>>;
}

export interface FrameData {
  readonly notice: Notice | null;
  readonly organisations: readonly OrganisationName[];
  /** Version of the terms that the user still has to accept after accepting an earlier one. */
  readonly terms: string | null;
}
