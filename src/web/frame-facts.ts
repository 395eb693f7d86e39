import type { OrganisationName } from '../identity';

/** The page after a change tells it with a text of the locales, never with a secret. */
export interface Notice {
  readonly tone: 'ok' | 'warn' | 'bad' | 'info';
  readonly text: string;
  readonly values?: Readonly<Record<string, string | number>>;
}

/** The frame of one page needs these facts, which were fetched for it. */
export interface FrameFacts {
  readonly notice: Notice | null;
  readonly organisations: readonly OrganisationName[];
  /** The version of the terms that waits for this person, who has accepted an earlier one. */
  readonly terms: string | null;
}
