import { csvLine } from '../../../src/web/routes/csv';

const cellOf = (text: string): string => {
  const line = csvLine([text]).slice(0, -2);
  return line.startsWith('"') ? line.slice(1, -1).replaceAll('""', '"') : line;
};

/** OWASP, "CSV Injection": also after blanks, in full width, and behind what is not shown. */
const openers = ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20'];
const before = [
  '',
  ' ',
  '  ',
  '\t',
  '\r',
  '\n',
  '\r\n',
  '\u00a0',
  '\u200b',
  '\ufeff',
  '\u3000',
  '\u0001',
  ' \u200b',
];

test.each(openers)('no cell begins a formula by %j, in any spelling', (opener) => {
  for (const blank of before) {
    const text = `${blank}${opener}HYPERLINK("x")`;
    expect(cellOf(text)).toBe(`'${text}`);
  }
});

test.each(['-5', '-0.25', '1e6', 'a-b', 'a=b', 'me@example.com', '2026-11-26', '{"a":-1}', 'a, -b', 'a;b'])(
  '%j stays as it is',
  (text) => {
    expect(cellOf(text)).toBe(text);
  },
);
