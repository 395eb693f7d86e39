import * as fc from 'fast-check';
import { formatUsd, parseUsdPerMillion, parseUsdPerToken } from '../../../../src/kernel';

test.each([
  ['0.15', 150_000_000n],
  ['3', 3_000_000_000n],
  ['0.000000001', 1n],
  ['1.5e-1', 150_000_000n],
  ['0', 0n],
])('%s dollars per million parses exactly', (text, rate) => expect(parseUsdPerMillion(text)).toBe(rate));

test.each([
  ['1.5e-07', 150_000_000n],
  ['0.00000015', 150_000_000n],
  ['1.25E-06', 1_250_000_000n],
  ['0', 0n],
])('%s dollars per token parses exactly', (text, rate) => expect(parseUsdPerToken(text)).toBe(rate));

test.each(['', '-1', 'free', '1,5', '0x10', 'NaN', 'Infinity', '1e', '1e999', '0.0000000001', '1 000'])(
  'rejects %p',
  (text) => {
    const refusal = expect.objectContaining({ code: 'validation_error' }) as Error;
    expect(() => parseUsdPerMillion(text)).toThrow(refusal);
    expect(() => parseUsdPerToken(text === '0.0000000001' ? '1e-16' : text)).toThrow(refusal);
  },
);

test('formatted rates parse back exactly in both units', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (rate) => {
      expect(parseUsdPerMillion(formatUsd(rate))).toBe(rate);
      expect(parseUsdPerToken(`${formatUsd(rate)}e-6`)).toBe(rate);
    }),
  );
});
