import { csvLine } from '../../../src/web/routes/csv';

const cellOf = (text: string): string => {
  const line = csvLine([text]).slice(0, -2);
  return line.startsWith('"') ? line.slice(1, -1).replaceAll('""', '"') : line;
};

/** OWASP, "CSV Injection": also after whitespace, in full width, and after invisible characters. */
const openers = ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20'];
const prefixes = [
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

test.each(openers)('no cell starts a formula with %j in any spelling', (opener) => {
  for (const prefix of prefixes) {
    const text = `${prefix}${opener}HYPERLINK("x")`;
    expect(cellOf(text)).toBe(`'${text}`);
  }
});

test.each(['-5', '-0.25', '1e6', 'a-b', 'a=b', 'me@example.com', '2026-11-26', '{"a":-1}', 'a, -b', 'a;b'])(
  '%j is unchanged',
  (text) => {
    expect(cellOf(text)).toBe(text);
  },
);
