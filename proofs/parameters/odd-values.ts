import type { ContractParameter } from './contract';

/** The contract's verdict on a value: inside, outside, or open if the service sets its own limits. */
export type ContractVerdict = 'inside' | 'outside' | 'open';

export interface OddValue {
  readonly text: string;
  /** The query contains the parameter twice. */
  readonly isTwice?: boolean;
  readonly verdict: ContractVerdict;
}

const LONG = 'a'.repeat(3_000);

/** Numbers only if a form accepts user-typed text. */
export const paddedNumbers = [' 7 ', '7\n'];
export const nonNumbers = [
  ...paddedNumbers,
  '+7',
  '7.0',
  '7,8',
  '1e3',
  '0x10',
  '0b11',
  '1_000',
  '٧',
  '７',
  '²',
  '7\0',
  'NaN',
  '-Infinity',
  'null',
  'true',
  '[object Object]',
  "1' OR '1'='1",
  '../7',
  '${7}',
  LONG,
];
const outOfRangeIds = ['-1', '0', '2147483648', '9223372036854775808', '99999999999999999999'];

export const oddTexts = [
  ' x ',
  'null',
  'true',
  '0',
  '-1',
  '__proto__',
  'constructor',
  'ü',
  '😀',
  '٧',
  '%',
  '%25',
  '"',
  "' OR 1=1 --",
  '<script>',
  '{{7*7}}',
  '../../etc/passwd',
  'a:b',
  'a,b',
  '*',
];
/** Values whose limits the service sets itself. */
export const wildTexts = ['a\0b', 'a\nb', '\u202e', LONG];

export const nonDates = [
  '2026-02-30',
  '2026-13-01',
  '2026-00-10',
  '2026-1-1',
  '20260101',
  '2026-02-30T00:00:00Z',
  '2026-01-01T25:00:00Z',
  '2026-01-01T00:00:00',
  '01/02/2026',
  'yesterday',
  '0',
  '1e3',
  '0x10',
  ' 2026-01-01 ',
  '+002026-01-01',
  '２０２６-01-01',
  '2026-01-01\0',
  'NaN',
  '99999-01-01',
  LONG,
];

const all = (texts: readonly string[], verdict: ContractVerdict): OddValue[] =>
  texts.map((text) => ({ text, verdict }));

const isId = ({ name }: ContractParameter): boolean => name.endsWith('_id');

/** At least twenty odd values for a parameter of this type. */
export function oddValuesOf(parameter: ContractParameter): OddValue[] {
  const isQuery = parameter.in === 'query';
  const twice = (text: string): OddValue[] => (isQuery ? [{ text, isTwice: true, verdict: 'outside' }] : []);
  const blank = isQuery ? all([''], parameter.required ? 'outside' : 'open') : [];
  switch (parameter.type) {
    case 'integer':
      return [
        ...all(nonNumbers, 'outside'),
        ...all(outOfRangeIds, isId(parameter) ? 'outside' : 'open'),
        ...all(['7', '007'], 'inside'),
        ...blank,
        ...twice('7'),
      ];
    case 'string':
      return [...all(oddTexts, 'inside'), ...all(wildTexts, 'open'), ...blank, ...twice('x')];
    case 'day':
      return [...all(nonDates, 'outside'), ...all(['1970-01-01'], 'open'), ...blank, ...twice('2026-01-01')];
    case 'choice':
    case 'zone':
      return [...all([...oddTexts, ...wildTexts], 'outside'), ...blank, ...twice('day')];
  }
}
