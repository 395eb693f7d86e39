import fc from 'fast-check';
import { RefusalTally } from '../../../src/audit/refusal-tally';

const noon = Date.UTC(2026, 0, 5, 12);

describe('some refusals are kept as records', () => {
  test('the first of a key with a code in a minute, and one in so many of the others', () => {
    const tally = new RefusalTally(10);
    const kept = Array.from({ length: 35 }, () => tally.add(1, 'rate_limit_exceeded', noon));
    expect(kept.flatMap((isKept, place) => (isKept ? [place] : []))).toEqual([0, 10, 20, 30]);
    expect(tally.add(1, 'invalid_request', noon)).toBe(true);
    expect(tally.add(2, 'rate_limit_exceeded', noon)).toBe(true);
    expect(tally.add(1, 'rate_limit_exceeded', noon + 59_999)).toBe(false);
    expect(tally.add(1, 'rate_limit_exceeded', noon + 60_000)).toBe(true);
  });

  test('a sample of one keeps all', () => {
    const tally = new RefusalTally(1);
    expect([1, 2, 3].map(() => tally.add(1, 'not_found', noon))).toEqual([true, true, true]);
  });

  test('taking the counts forgets no minute that still runs', () => {
    const tally = new RefusalTally(10);
    tally.add(1, 'not_found', noon);
    tally.take(noon + 30_000);
    expect(tally.add(1, 'not_found', noon + 31_000)).toBe(false);
    tally.take(noon + 60_000);
    expect(tally.add(1, 'not_found', noon + 60_001)).toBe(true);
  });

  test('every refusal is counted once, in its hour, whatever could not be written meanwhile', () => {
    const refusal = fc.record({
      keyId: fc.integer({ min: 1, max: 3 }),
      code: fc.constantFrom('rate_limit_exceeded', 'budget_exceeded'),
      after: fc.nat(3 * 3_600_000),
    });
    const step = fc.oneof(refusal, fc.constantFrom('written' as const, 'failed' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const tally = new RefusalTally(100);
        const expected = new Map<string, number>();
        const found = new Map<string, number>();
        const add = (sums: Map<string, number>, name: string, count: number): void =>
          void sums.set(name, (sums.get(name) ?? 0) + count);
        const write = (): void => {
          for (const { keyId, code, hour, count } of tally.take(noon))
            add(found, `${keyId} ${code} ${hour}`, count);
        };
        for (const one of steps) {
          if (one === 'written') write();
          else if (one === 'failed') expect(tally.restore(tally.take(noon))).toBe(0);
          else {
            const { keyId, code, after } = one;
            tally.add(keyId, code, noon + after);
            add(expected, `${keyId} ${code} ${noon + Math.floor(after / 3_600_000) * 3_600_000}`, 1);
          }
        }
        write();
        expect(found).toEqual(expected);
      }),
    );
  });
});
