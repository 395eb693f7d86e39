import type { FieldChange, GatewayFilePlan, PlanRow } from '../catalogue';

const SIGNS = { new: '+', changed: '~', gone: '-' } as const;

export function renderPlan(plan: GatewayFilePlan, prune: boolean): string {
  const lines = renderRows(plan.rows);
  if (plan.gone.length > 0) {
    lines.push(
      prune
        ? 'No longer in the file, put away:'
        : 'No longer in the file, kept as it is (--prune puts it away):',
    );
    lines.push(...renderRows(plan.gone));
  }
  lines.push(...plan.warnings.map((warning) => `! ${warning}`));
  lines.push(summary(plan, prune));
  return `${lines.join('\n')}\n`;
}

export const changeCount = (plan: GatewayFilePlan, prune: boolean): number =>
  plan.rows.length + (prune ? plan.gone.length : 0);

/** Renders a block per object, with a line per changed field; the fields of a new object are wrapped. */
export const renderRows = (rows: readonly PlanRow[]): string[] =>
  rows.flatMap(({ kind, name, mark, changes }) => {
    const lines = mark === 'new' ? linesOfNew(changes) : changes.map(changeText);
    return [`${SIGNS[mark]} ${kind} ${name}`, ...lines.map((line) => `    ${line}`)];
  });

const changeText = ({ field, before, after }: FieldChange): string =>
  `${field}: ${before ?? 'none'} → ${after ?? 'none'}`;

const WIDTH = 110;
/** Rates of a price share its name; each lane has its own line. */
const RATE_FIELD = /^(.*\bprice) (.+)$/;

function linesOfNew(changes: readonly FieldChange[]): string[] {
  const groups = Map.groupBy(
    changes,
    ({ field }) => RATE_FIELD.exec(field)?.[1] ?? (field.startsWith('lane ') ? field : ''),
  );
  return [...groups].flatMap(([name, fields]) => {
    const parts = fields.map(({ field, after }) => {
      const rateName = RATE_FIELD.exec(field)?.[2];
      return rateName === undefined ? `${field}: ${after}` : `${rateName} ${after}`;
    });
    return RATE_FIELD.test(`${name} x`) ? wrapLines(`${name}: `, parts) : wrapLines('', parts);
  });
}

function wrapLines(start: string, parts: readonly string[]): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(start + part);
    else if (last.length + part.length < WIDTH) lines[lines.length - 1] = `${last}, ${part}`;
    else lines.push(part);
  }
  return lines;
}

function summary(plan: GatewayFilePlan, prune: boolean): string {
  if (changeCount(plan, prune) === 0) return 'Nothing to do.';
  return `${countOf(plan.rows)}${prune ? `, ${plan.gone.length} gone` : ''}.`;
}

/** Reads like `2 new, 1 changed`. */
export function countOf(rows: readonly PlanRow[]): string {
  const newCount = rows.filter(({ mark }) => mark === 'new').length;
  return `${newCount} new, ${rows.length - newCount} changed`;
}
