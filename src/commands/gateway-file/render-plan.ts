import type { FieldChange } from './field-texts';
import type { Plan, Step } from './step';

const SIGNS = { new: '+', changed: '~', gone: '-' } as const;

/** The difference, for people. */
export function renderPlan(plan: Plan, prune: boolean): string {
  const lines = renderSteps(plan.steps);
  if (plan.gone.length > 0) {
    lines.push(
      prune
        ? 'No longer in the file, put away:'
        : 'No longer in the file, kept as it is (--prune puts it away):',
    );
    lines.push(...renderSteps(plan.gone));
  }
  lines.push(...plan.warnings.map((warning) => `! ${warning}`));
  lines.push(summary(plan, prune));
  return `${lines.join('\n')}\n`;
}

/** How many things a plan touches. */
export const changeCount = (plan: Plan, prune: boolean): number =>
  plan.steps.length + (prune ? plan.gone.length : 0);

/** One block for each thing, with a line for every field that changes. */
export function renderSteps(steps: readonly Step[]): string[] {
  return [...Map.groupBy(steps, ({ what }) => what)].flatMap(([what, ofIt]) => {
    const mark = ofIt.some((step) => step.mark === 'new') ? 'new' : (ofIt[0]?.mark ?? 'changed');
    const changes = ofIt.flatMap((step) => step.changes);
    return [
      `${SIGNS[mark]} ${what}`,
      ...changes.map((change) => `    ${changeText(change, mark === 'new')}`),
    ];
  });
}

function changeText({ field, before, after }: FieldChange, isNew: boolean): string {
  if (isNew && before === null) return `${field}: ${after}`;
  return `${field}: ${before ?? 'none'} → ${after ?? 'none'}`;
}

function summary(plan: Plan, prune: boolean): string {
  if (changeCount(plan, prune) === 0) return 'Nothing to do.';
  const gone = prune ? `, ${namesOf(plan.gone).size} gone` : '';
  return `${countOf(plan.steps)}${gone}.`;
}

/** `2 new, 1 changed` */
export function countOf(steps: readonly Step[]): string {
  const fresh = namesOf(steps.filter(({ mark }) => mark === 'new')).size;
  return `${fresh} new, ${namesOf(steps).size - fresh} changed`;
}

const namesOf = (steps: readonly Step[]): Set<string> => new Set(steps.map(({ what }) => what));
