import type { SpecificationWorld } from './world';

export type Check = (world: SpecificationWorld) => Promise<void>;

/** A statement of the specification that the running service can be asked for. */
export interface CheckedRow {
  readonly section: string;
  readonly statement: string;
  /** Throws with what it saw instead. */
  readonly check: Check;
  /** The decision that says what the statement means, where the document leaves it open. */
  readonly decided: string | null;
}

/** A statement that no caller can see. */
export interface UnseenRow {
  readonly section: string;
  readonly statement: string;
  readonly why: string;
}

export type Row = CheckedRow | UnseenRow;

export const row = (
  section: string,
  statement: string,
  check: Check,
  { decided = null }: { readonly decided?: string | null } = {},
): CheckedRow => ({ section, statement, check, decided });

export const unseen = (section: string, statement: string, why: string): UnseenRow => ({
  section,
  statement,
  why,
});

export const isChecked = (one: Row): one is CheckedRow => 'check' in one;

export const isUnseen = (one: Row): one is UnseenRow => !isChecked(one);
