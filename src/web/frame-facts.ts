import type { OrganisationName } from '../identity';

/** What the page after a change says of it: a text of the locales, never a secret. */
export interface Notice {
  readonly tone: 'ok' | 'warn' | 'bad' | 'info';
  readonly text: string;
  readonly values?: Readonly<Record<string, string | number>>;
}

/** What was fetched for the frame of one page. */
export interface FrameFacts {
  readonly notice: Notice | null;
  readonly organisations: readonly OrganisationName[];
  /** The version of the terms that waits for this person, who has accepted an earlier one. */
  readonly terms: string | null;
}
