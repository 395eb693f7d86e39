import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { isChecked, openPointsFile } from '../../proofs/specification/row';
import { rows } from '../../proofs/specification/rows';
import { tableOf, tablePath } from '../../proofs/specification/table';

const adrText = (file: string): string => readFileSync(join(projectFolder, 'docs', 'adr', file), 'utf8');

describe('Specification table', () => {
  it('matches the rows of the proof', () => {
    expect(readFileSync(tablePath, 'utf8')).toBe(tableOf(rows));
  });

  it('lists each statement once', () => {
    const names = rows.map(({ section, statement }) => `${section} ${statement}`);
    expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  });

  it('names only decisions that exist in their ADR', () => {
    const decisions = rows.filter(isChecked).flatMap(({ decided }) => (decided === null ? [] : [decided]));
    expect(decisions.length).toBeGreaterThan(0);
    for (const { adr, says } of decisions)
      expect(adrText(adr)).toContain(adr === openPointsFile ? `| ${says} |` : '# ');
  });

  it('uses every decision of the open-points ADR', () => {
    const usedDecisions = new Set(rows.filter(isChecked).map(({ decided }) => decided?.says));
    const cells = [...adrText(openPointsFile).matchAll(/^\| [\d., ]+ \| (.+?) \|/gm)];
    expect(cells.length).toBeGreaterThan(0);
    expect(cells.map(([, says]) => says).filter((says) => !usedDecisions.has(says))).toEqual([]);
  });
});
