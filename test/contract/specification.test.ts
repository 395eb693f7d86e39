import { readFileSync } from 'node:fs';
import { rows } from '../../proofs/specification/rows';
import { tableOf, tablePath } from '../../proofs/specification/table';

describe('the table of the specification', () => {
  it('says what the rows of the proof say', () => {
    expect(readFileSync(tablePath, 'utf8')).toBe(tableOf(rows));
  });

  it('names each statement once', () => {
    const names = rows.map(({ section, statement }) => `${section} ${statement}`);
    expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  });
});
