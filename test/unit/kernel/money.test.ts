import * as fc from 'fast-check';
import {
  chargeForNet,
  formatUsd,
  nanoPerCent,
  nanoPerUsd,
  parseUsd,
  toJsonNumber,
} from '../../../src/kernel';

const largest = 2n ** 63n - 1n;
const anyNano = fc.bigInt({ min: -largest, max: largest });

describe('Parsing dollars', () => {
  test.each<[string | number, bigint]>([
    ['12.34', 12_340_000_000n],
    ['0', 0n],
    ['-0', 0n],
    ['-1.5', -1_500_000_000n],
    ['0.000000001', 1n],
    ['1e-9', 1n],
    ['1.50000000000000', 1_500_000_000n],
    ['12E2', 1_200n * nanoPerUsd],
    ['9223372036.854775807', largest],
    ['0e999', 0n],
    [0.1, 100_000_000n],
    [0.1 + 0.2 - 0.00000000000000004, 300_000_000n],
    [1e-7, 100n],
    [19.99, 1_999n * nanoPerCent],
  ])('%p is parsed exactly', (value, nano) => {
    expect(parseUsd(value)).toBe(nano);
  });

  test.each<[unknown]>([
    [''],
    [' 1'],
    ['1 '],
    ['+1'],
    ['.5'],
    ['1.'],
    ['1,5'],
    ['0x10'],
    ['1_000'],
    ['NaN'],
    ['Infinity'],
    ['1\n'],
    ['１'],
    ['1e'],
    ['1e9999'],
    ['1e400'],
    ['9223372036.854775808'],
    ['0.0000000001'],
    ['1e-10'],
    ['9'.repeat(1_000)],
    [NaN],
    [Infinity],
    [-Infinity],
    [1e300],
    [0.1 + 0.2],
  ])('%p is rejected', (value) => {
    expect(() => parseUsd(value as string)).toThrow(RangeError);
  });
});

describe('Formatting dollars', () => {
  test.each<[bigint, string, string]>([
    [0n, '0', '0.00'],
    [1n, '0.000000001', '0.00'],
    [-1n, '-0.000000001', '0.00'],
    [4_999_999n, '0.004999999', '0.00'],
    [5_000_000n, '0.005', '0.01'],
    [-5_000_000n, '-0.005', '-0.01'],
    [10_000_000_000n, '10', '10.00'],
    [100_000_000_000n, '100', '100.00'],
    [12_340_000_000n, '12.34', '12.34'],
    [999_999_999_999n, '999.999999999', '1000.00'],
  ])('%p is formatted exactly', (nano, exact, cents) => {
    expect(formatUsd(nano)).toBe(exact);
    expect(formatUsd(nano, { fixed: 2 })).toBe(cents);
  });

  test('formats with a given number of decimals and rejects unsupported ones', () => {
    expect(formatUsd(1_500_000_000n, { fixed: 0 })).toBe('2');
    expect(formatUsd(1_500_000_000n, { fixed: 9 })).toBe('1.500000000');
    for (const decimals of [-1, 10, 1.5])
      expect(() => formatUsd(1n, { fixed: decimals })).toThrow(RangeError);
  });

  test('exact text parses back to the same amount', () => {
    fc.assert(fc.property(anyNano, (nano) => expect(parseUsd(formatUsd(nano))).toBe(nano)));
  });

  test('rounded text is within half a cent', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nano) => {
        const deviation = parseUsd(formatUsd(nano, { fixed: 2 })) - nano;
        expect((deviation < 0n ? -deviation : deviation) <= nanoPerCent / 2n).toBe(true);
      }),
    );
  });

  test('JSON number parses back to the same amount up to a million dollars', () => {
    const million = 1_000_000n * nanoPerUsd;
    fc.assert(
      fc.property(fc.bigInt({ min: -million, max: million }), (nano) => {
        expect(parseUsd(JSON.parse(JSON.stringify(toJsonNumber(nano))))).toBe(nano);
      }),
    );
    expect(toJsonNumber(1_230_000n)).toBe(0.00123);
  });
});

describe('Top-up charge', () => {
  test.each([
    [0n, 0n],
    [1n, 2n],
    [95n, 100n],
    [500n, 527n],
    [1_000_000n, 1_052_632n],
  ])('%p cents net are charged as %p', (net, charge) => {
    expect(chargeForNet(net)).toBe(charge);
  });

  test('is the smallest charge that leaves the net amount after five per cent', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), (net) => {
        const charge = chargeForNet(net);
        expect(charge * 95n >= net * 100n && (charge - 1n) * 95n < net * 100n).toBe(true);
      }),
    );
    expect(() => chargeForNet(-1n)).toThrow(RangeError);
  });
});
