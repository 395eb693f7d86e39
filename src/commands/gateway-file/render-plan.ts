import { type FieldChange, usualTexts } from './field-texts';
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

/** One block for each thing: a line for every field that changes, and of a new one what is not as usual, closely set. */
export function renderSteps(steps: readonly Step[]): string[] {
  return [...Map.groupBy(steps, ({ what }) => what)].flatMap(([what, ofIt]) => {
    const isNew = ofIt.some((step) => step.mark === 'new');
    const mark = isNew ? 'new' : (ofIt[0]?.mark ?? 'changed');
    const changes = ofIt.flatMap((step) => step.changes);
    const lines = isNew ? linesOfNew(changes) : changes.map(changeText);
    return [`${SIGNS[mark]} ${what}`, ...lines.map((line) => `    ${line}`)];
  });
}

const changeText = ({ field, before, after }: FieldChange): string =>
  `${field}: ${before ?? 'none'} → ${after ?? 'none'}`;

const WIDTH = 110;
/** The rates of one price share its name; lanes have a line each. */
const grouped = /^(.*\bprice) (.+)$/;

function linesOfNew(changes: readonly FieldChange[]): string[] {
  const told = changes.filter(({ field, after }) => after !== null && usualTexts.get(field) !== after);
  const groups = Map.groupBy(
    told,
    ({ field }) => grouped.exec(field)?.[1] ?? (field.startsWith('lane ') ? field : ''),
  );
  return [...groups].flatMap(([name, fields]) => {
    const parts = fields.map(({ field, after }) => {
      const short = grouped.exec(field)?.[2];
      return short === undefined ? `${field}: ${after}` : `${short} ${after}`;
    });
    return grouped.test(`${name} x`) ? wrapped(`${name}: `, parts) : wrapped('', parts);
  });
}

function wrapped(start: string, parts: readonly string[]): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(start + part);
    else if (last.length + part.length < WIDTH) lines[lines.length - 1] = `${last}, ${part}`;
    else lines.push(part);
  }
  return lines;
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
