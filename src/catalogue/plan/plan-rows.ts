import { createHash } from 'node:crypto';
import { fault } from '../../kernel';
import type { Tx } from '../../platform';
import { type FieldChange, usualTexts } from './field-texts';
import { nameOf, type PlanKind, type PlanMark, type Step } from './step';

/** A row shows the change that a plan makes to one thing. */
export interface PlanRow {
  readonly kind: PlanKind;
  readonly name: string;
  readonly mark: PlanMark;
  /** Something new has only what differs from the usual. */
  readonly changes: readonly FieldChange[];
}

/** An approval names who applies a plan, which one was shown, and how much of it is wanted. */
export interface PlanApproval {
  /** It is named in words that stay true: `command line`, `user 12`. */
  readonly actor: string;
  /** Fingerprint of the plan that was shown; another one is a conflict, and nothing is applied. */
  readonly shown?: string;
  /** Names read like `model gpt-large`. Left out: all of it. */
  readonly chosen?: ReadonlySet<string>;
  /** Puts on record what was done, in the same transaction. */
  record?(tx: Tx, rows: readonly PlanRow[]): Promise<void>;
}

/** The chosen steps of a plan, which has to be the one that was shown. */
export function chosenOf(
  steps: readonly Step[],
  fingerprint: string,
  { shown, chosen }: Pick<PlanApproval, 'shown' | 'chosen'>,
): readonly Step[] {
  if (shown !== undefined && shown !== fingerprint)
    throw fault('conflict', {
      message: 'The catalogue has changed meanwhile. Nothing was applied; look again.',
    });
  return chosen === undefined ? steps : steps.filter((step) => chosen.has(nameOf(step)));
}

export function rowsOf(steps: readonly Step[]): PlanRow[] {
  return [...Map.groupBy(steps, nameOf).values()].map((ofIt) => {
    const { kind, name, mark: first } = ofIt[0]!;
    const mark = ofIt.some((step) => step.mark === 'new') ? 'new' : first;
    const changes = ofIt.flatMap((step) => step.changes);
    return { kind, name, mark, changes: mark === 'new' ? changes.filter(isUnusual) : changes };
  });
}

const isUnusual = ({ field, after }: FieldChange): boolean =>
  after !== null && usualTexts.get(field) !== after;

/** Equal for two plans that show the same: it tells whether the catalogue has changed since one was shown. */
export const fingerprintOf = (shown: object): string =>
  createHash('sha256').update(JSON.stringify(shown)).digest('base64url');
