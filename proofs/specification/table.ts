import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { isChecked, type SpecificationRow } from './row';

/** Path of the table of all statements. */
export const tablePath = join(projectFolder, 'docs', 'specification.md');

const head = [
  '# The specification, statement by statement',
  '',
  '`npm run prove:specification` asks the running artefact for every statement below. This page is made from the rows of that proof (`node dist/proofs/specification/prove-specification.js --write`), and a test compares both.',
  '',
  '*Checked* means that a row of the proof fails if the statement does not hold. *Decided* means that the specification leaves the statement open, or that a decision departs from its words: the row checks what was decided, and is counted apart. *Not seen* means that no caller can tell, and says why.',
  '',
].join('\n');

function settledBy(one: SpecificationRow): string {
  if (!isChecked(one)) return `not seen: ${one.why}`;
  if (one.decided === null) return 'checked';
  const { adr, says } = one.decided;
  return `**decided**: ${says} ([ADR ${Number(adr.slice(0, 4))}](adr/${adr}))`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** Renders the document from the rows. */
export function tableOf(rows: readonly SpecificationRow[]): string {
  const sections = Map.groupBy(rows, ({ section }) => section);
  const checked = rows.filter(isChecked);
  const decided = checked.filter((one) => one.decided !== null).length;
  const parts = [...sections].map(([section, all]) => {
    const lines = all.map((one) => `| ${cell(one.statement)} | ${cell(settledBy(one))} |`);
    return `## ${section}\n\n| Statement | Settled |\n|---|---|\n${lines.join('\n')}\n`;
  });
  const count = `${checked.length - decided} statements are checked, ${decided} as decided, ${rows.length - checked.length} cannot be seen.\n`;
  return [head, count, ...parts].join('\n');
}
