import type { ContractField } from './contract';
import { nonDates, nonNumbers, oddTexts, paddedNumbers, type ContractVerdict, wildTexts } from './odd-values';

export interface OddField {
  readonly value: unknown;
  readonly verdict: ContractVerdict;
}

const outside = (values: readonly unknown[]): OddField[] =>
  values.map((value) => ({ value, verdict: 'outside' }));
const open = (values: readonly unknown[]): OddField[] => values.map((value) => ({ value, verdict: 'open' }));

const structures = [{}, { a: 1 }, true, [[]]];
/** Absent values; some fields treat them as a reset. */
const blanks = open([null, '', []]);
const LONG_TEXT = 1_000;

/** At least twenty odd values for a form field: only text, with surrounding spaces ignored for numbers. */
export const oddTextsOf = (field: ContractField): OddField[] =>
  oddFieldsOf(field)
    .filter(({ value }) => typeof value === 'string')
    .map((odd) => (paddedNumbers.includes(odd.value as string) ? { ...odd, verdict: 'open' } : odd));

/** At least twenty odd values for a field of a JSON body. */
export const oddFieldsOf = (field: ContractField): OddField[] => [...blanks, ...ofType(field)];

function ofType(field: ContractField): OddField[] {
  const { type, minimum, maximum, maxLength = LONG_TEXT } = field;
  const outOfRange = [
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
  ];
  switch (type) {
    case 'integer':
      return outside([...nonNumbers, ...structures, 1.5, -0.5, 1e300, ...outOfRange]);
    case 'number':
    case 'usd':
      return [
        ...outside([
          ...structures,
          ...outOfRange,
          'x',
          '1e',
          '0x10',
          '--1',
          '٧',
          '1 2',
          'NaN',
          '[object Object]',
        ]),
        ...open([...nonNumbers, 0, 1e-30, 1e300, -0, 0.1234567891]),
      ];
    case 'boolean':
      return outside([{}, [1], 2, 0, 'yes', 'TRUE', ' on ', ...oddTexts.filter((text) => text !== 'true')]);
    case 'string':
      return [
        ...outside([...structures, 5, 'x'.repeat(maxLength + 1)]),
        ...open([...oddTexts, ...wildTexts]),
      ];
    case 'choice':
    case 'zone':
    case 'uuid':
      return outside([...structures, 5, ...oddTexts, ...wildTexts]);
    case 'list':
    case 'line or list':
      return [
        ...outside([{}, { a: 1 }, true, [{}], [[]], [true]]),
        ...open([5, ...oddTexts, ...wildTexts, ['x'], [5]]),
      ];
    case 'object':
      return [...outside([5, true, 'x', ['x'], ...oddTexts]), ...open([{}, { a: {} }, { __proto__: 1 }])];
    case 'day':
    case 'instant':
      return [...outside([...structures, 5, ...nonDates]), ...open(['1970-01-01', '2199-12-31'])];
    case 'person':
      return [
        ...outside([...structures, 0, -1, 1.5, 'x', '0', '@', 'a@']),
        ...open([...oddTexts, ...wildTexts]),
      ];
  }
}
