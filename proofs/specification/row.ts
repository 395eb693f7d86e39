import type { SpecificationWorld } from './world';

export type Check = (world: SpecificationWorld) => Promise<void>;

/** What a statement means where the document leaves it open, or how far a decision departs from its words. */
export interface Decision {
  /** Its file in `docs/adr`. */
  readonly adr: string;
  readonly says: string;
}

export const openPointsFile = '0109-open-points-of-the-specification.md';

/** A decision of the ADR that lists what the document leaves open. */
export const openPoint = (says: string): Decision => ({ adr: openPointsFile, says });

/** A statement of the specification that the running service can be asked for. */
export interface CheckedRow {
  readonly section: string;
  readonly statement: string;
  /** Throws with what it saw instead. */
  readonly check: Check;
  readonly decided: Decision | null;
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
  { decided = null }: { readonly decided?: Decision | null } = {},
): CheckedRow => ({ section, statement, check, decided });

export const unseen = (section: string, statement: string, why: string): UnseenRow => ({
  section,
  statement,
  why,
});

export const isChecked = (one: Row): one is CheckedRow => 'check' in one;

export const isUnseen = (one: Row): one is UnseenRow => !isChecked(one);
