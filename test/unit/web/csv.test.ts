import fc from 'fast-check';
import { csvLine } from '../../../src/web/routes/csv';

test.each<[unknown, string]>([
  ['plain', 'plain'],
  ['', ''],
  [null, ''],
  [undefined, ''],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  [' spaces ', ' spaces '],
  ['é€😀', 'é€😀'],
  [true, 'true'],
  [12n, '12'],
  [-12.5, '-12.5'],
  [1e-7, '1e-7'],
  [-1e-7, '-1e-7'],
  ['-12.5', '-12.5'],
  [new Date(0), '1970-01-01T00:00:00.000Z'],
  [{ a: [1, 'x'] }, '"{""a"":[1,""x""]}"'],
  ['=1+1', "'=1+1"],
  ['+1+1', "'+1+1"],
  ['-1+1', "'-1+1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', '"\'\r=1"'],
  ['\0=1+1', "'=1+1"],
  ['=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'],
  ['=1,2', '"\'=1,2"'],
])('%j is written as expected', (value, expected) => {
  expect(csvLine([value])).toBe(`${expected}\r\n`);
});

test('columns stay separate', () => {
  expect(csvLine(['a', 'b,c', null, 1])).toBe('a,"b,c",,1\r\n');
});

/** Parses a line according to RFC 4180. */
function parseLine(line: string): string[] {
  const cells = [''];
  let isQuoted = false;
  for (const character of line.slice(0, -2)) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === ',' && !isQuoted) cells.push('');
    else cells[cells.length - 1] += character;
  }
  return cells.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell));
}

test('cells are parsed back unchanged except for the quote before a formula', () => {
  const cell = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\0'));
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), (cells) => {
      const parsedCells = parseLine(csvLine(cells));
      expect(parsedCells.map((text, at) => (text === `'${cells[at]}` ? cells[at] : text))).toEqual(cells);
      for (const text of parsedCells) expect(text).not.toMatch(/^[=+@\t\r]/);
    }),
  );
});
