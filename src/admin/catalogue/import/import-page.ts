import type { PlanRow } from '../../../catalogue';
import type { ImportPlan } from './import.service';
import type { ImportDraft } from './import-drafts.service';
import { IMPORT_FORMATS, MAX_ROWS } from './import.dto';

const MAX_NAMES = 200;

export const formPage = () => ({ formats: IMPORT_FORMATS });

const nameOf = ({ kind, name }: PlanRow): string => `${kind} ${name}`;

const tones = { new: 'ok', changed: 'warn', gone: 'bad' } as const;

export function draftPage(draft: ImportDraft, plan: ImportPlan) {
  const visibleRows = plan.rows.slice(0, MAX_ROWS);
  return {
    id: draft.id,
    format: draft.format,
    faults: plan.faults.map(({ path, line, problem }) => ({ path, line: line > 0 ? line : null, problem })),
    shown: plan.fingerprint,
    counts: {
      all: plan.rows.length,
      added: plan.rows.filter(({ mark }) => mark === 'new').length,
      changed: plan.rows.filter(({ mark }) => mark === 'changed').length,
      untouched: plan.untouched.length,
      further: plan.rows.length - visibleRows.length,
    },
    rows: visibleRows.map((row, index) => ({
      id: `row-${index}`,
      value: nameOf(row),
      name: row.name,
      kind: row.kind,
      mark: row.mark,
      tone: tones[row.mark],
      open: row.mark === 'changed' && row.changes.length <= 12,
      fields: row.changes.length,
      diff: row.changes.map(({ field, before, after }) => ({
        field,
        before,
        after,
        kind: before === null ? 'added' : after === null ? 'removed' : 'changed',
      })),
    })),
    notes: notesOf(plan),
  };
}

function notesOf({ warnings, refused, kept, gone, untouched }: ImportPlan) {
  const notes = { warnings, refused, kept, gone, untouched };
  return Object.entries(notes).flatMap(([kind, entries]) =>
    entries.length === 0
      ? []
      : [
          {
            kind,
            count: entries.length,
            entries: entries.slice(0, MAX_NAMES),
            isCut: entries.length > MAX_NAMES,
          },
        ],
  );
}

export const presentPlan = ({ fingerprint, ...plan }: ImportPlan) => ({
  ...plan,
  shown: fingerprint,
});
