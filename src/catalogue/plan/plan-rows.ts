import { createHash } from 'node:crypto';
import { fault } from '../../kernel';
import type { Tx } from '../../platform';
import { type FieldChange, defaultTexts } from './field-texts';
import { stepLabel, type PlanKind, type PlanMark, type Step } from './step';

export interface PlanRow {
  readonly kind: PlanKind;
  readonly name: string;
  readonly mark: PlanMark;
  /** For a new object, only values that differ from the defaults. */
  readonly changes: readonly FieldChange[];
}

export interface PlanApproval {
  /** Actor in stable wording, such as `command line` or `user 12`. */
  readonly actor: string;
  /** Fingerprint of the plan that was shown; if the plan differs, nothing is applied. */
  readonly shown?: string;
  /** Names such as `model gpt-large`; omitted to apply all steps. */
  readonly chosen?: ReadonlySet<string>;
  record?(tx: Tx, rows: readonly PlanRow[]): Promise<void>;
}

/** Returns the selected steps; throws if the plan is not the one that was shown. */
export function selectSteps(
  steps: readonly Step[],
  fingerprint: string,
  { shown, chosen }: Pick<PlanApproval, 'shown' | 'chosen'>,
): readonly Step[] {
  if (shown !== undefined && shown !== fingerprint)
    throw fault('conflict', {
      message: 'The catalogue has changed meanwhile. Nothing was applied; look again.',
    });
  return chosen === undefined ? steps : steps.filter((step) => chosen.has(stepLabel(step)));
}

export function toPlanRows(steps: readonly Step[]): PlanRow[] {
  return [...Map.groupBy(steps, stepLabel).values()].map((group) => {
    const { kind, name, mark: first } = group[0]!;
    const mark = group.some((step) => step.mark === 'new') ? 'new' : first;
    const changes = group.flatMap((step) => step.changes);
    return { kind, name, mark, changes: mark === 'new' ? changes.filter(isNotDefault) : changes };
  });
}

const isNotDefault = ({ field, after }: FieldChange): boolean =>
  after !== null && defaultTexts.get(field) !== after;

/** Equal for two plans with the same content, so that changes of the catalogue since a plan was shown are detected. */
export const fingerprintOf = (content: object): string =>
  createHash('sha256').update(JSON.stringify(content)).digest('base64url');
