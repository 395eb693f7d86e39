import { createHash } from 'node:crypto';
import { fault } from '../../kernel';
import { type FieldChange, usualTexts } from './field-texts';
import { nameOf, type PlanKind, type PlanMark, type Step } from './step';

/** What a plan does to one thing. */
export interface PlanRow {
  readonly kind: PlanKind;
  readonly name: string;
  readonly mark: PlanMark;
  /** Of something new only what differs from the usual. */
  readonly changes: readonly FieldChange[];
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

export function refuseAnother(fingerprint: string, shown: string): void {
  if (fingerprint !== shown)
    throw fault('conflict', {
      message: 'The catalogue has changed meanwhile. Nothing was applied; look again.',
    });
}
