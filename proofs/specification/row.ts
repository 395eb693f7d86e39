import type { SpecificationWorld } from './world';

export type SpecificationCheck = (world: SpecificationWorld) => Promise<void>;

/** Interpretation of a statement that the document leaves open, or the extent of a deviation from its words. */
export interface SpecificationDecision {
  /** File name in `docs/adr`. */
  readonly adr: string;
  readonly says: string;
}

export const openPointsFile = '0109-open-points-of-the-specification.md';

/** A decision of the ADR that lists the open points of the document. */
export const openPoint = (says: string): SpecificationDecision => ({ adr: openPointsFile, says });

/** A statement of the specification that can be tested on the running service. */
export interface CheckedRow {
  readonly section: string;
  readonly statement: string;
  /** Throws with the observed value. */
  readonly check: SpecificationCheck;
  readonly decided: SpecificationDecision | null;
}

/** A statement that no client can observe. */
export interface UnseenRow {
  readonly section: string;
  readonly statement: string;
  readonly why: string;
}

export type SpecificationRow = CheckedRow | UnseenRow;

export const row = (
  section: string,
  statement: string,
  check: SpecificationCheck,
  { decided = null }: { readonly decided?: SpecificationDecision | null } = {},
): CheckedRow => ({ section, statement, check, decided });

export const unseen = (section: string, statement: string, why: string): UnseenRow => ({
  section,
  statement,
  why,
});

export const isChecked = (one: SpecificationRow): one is CheckedRow => 'check' in one;

export const isUnseen = (one: SpecificationRow): one is UnseenRow => !isChecked(one);
