import fc from 'fast-check';
import {
  formatCompact,
  formatCost,
  formatLatency,
  formatMoney,
  formatMoneys,
  formatNumber,
  formatPercent,
} from '../../../src/views';

test.each([
  ['182.4', '$182.40'],
  ['0', '$0.00'],
  ['-3.456', '-$3.46'],
  ['12345678901234567.89', '$12,345,678,901,234,567.89'],
  [182_400_000_000n, '$182.40'],
  [-1n, '-$0.000000001'],
  ['0.00003375', '$0.000034'],
])('money %s is formatted as %s', (amount, expected) => {
  expect(formatMoney('en', amount)).toBe(expected);
});

test.each([
  [
    [17_500_000n, 20_000_000n],
    ['$0.018', '$0.02'],
  ],
  [
    [19_999_999_999n, 20_000_000_000n],
    ['$19.999999999', '$20.00'],
  ],
  [
    ['0.00499', '0.005'],
    ['$0.00499', '$0.005'],
  ],
  [
    [1n, 2n],
    ['$0.000000001', '$0.000000002'],
  ],
  [
    ['5', 5_000_000_000n],
    ['$5.00', '$5.00'],
  ],
  [
    ['1.5', '20'],
    ['$1.50', '$20.00'],
  ],
  [[], []],
])('amounts in a list %j are distinguishable: %j', (amounts, expected) => {
  expect(formatMoneys('en', amounts)).toEqual(expected);
});

test('money format follows the language', () => {
  expect(formatMoney('de', '1234.5')).toBe('1.234,50\u00a0$');
});

test.each([
  ['0.008517', '$0.008517'],
  ['0.0000123456', '$0.00001235'],
  ['0.01', '$0.01'],
  ['0.114202', '$0.1142'],
  ['3.5', '$3.50'],
  ['0', '$0.00'],
])('cost %s is formatted as %s', (amount, expected) => {
  expect(formatCost('en', amount)).toBe(expected);
});

test('nano-dollars and decimal dollars are the same amount', () => {
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 18n), 10n ** 18n), (nano) => {
      const digits = (nano < 0n ? -nano : nano).toString().padStart(10, '0');
      const decimal = `${nano < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
      expect(formatMoney('en', nano)).toBe(formatMoney('en', decimal));
      expect(formatCost('en', nano)).toBe(formatCost('en', decimal));
    }),
  );
});

test.each([
  [842, '842\u00a0ms'],
  [999.4, '999\u00a0ms'],
  [2400, '2.4\u00a0s'],
  [60_212, '60.2\u00a0s'],
])('%s milliseconds are formatted as %s', (milliseconds, expected) => {
  expect(formatLatency('en', milliseconds)).toBe(expected);
});

test('duration is never displayed as a thousand milliseconds', () => {
  expect(formatLatency('en', 999.7)).toBe('1.0\u00a0s');
});

test('counts and shares are formatted', () => {
  expect(formatNumber('it', 48_211)).toBe('48.211');
  expect(formatCompact('en', 100_000)).toBe('100K');
  expect(formatPercent('en', 0.672)).toBe('67%');
  expect(formatPercent('en', 0.004)).toBe('0.4%');
});
