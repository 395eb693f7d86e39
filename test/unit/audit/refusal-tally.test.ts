import fc from 'fast-check';
import { RefusalTally } from '../../../src/audit/refusal-tally';

const noon = Date.UTC(2026, 0, 5, 12);

describe('Refusal sampling', () => {
  test('records the first refusal per key, code and minute, and every nth of the others', () => {
    const tally = new RefusalTally(10);
    const recordedFlags = Array.from({ length: 35 }, () => tally.add(1, 'rate_limit_exceeded', noon));
    expect(recordedFlags.flatMap((isKept, place) => (isKept ? [place] : []))).toEqual([0, 10, 20, 30]);
    expect(tally.add(1, 'invalid_request', noon)).toBe(true);
    expect(tally.add(2, 'rate_limit_exceeded', noon)).toBe(true);
    expect(tally.add(1, 'rate_limit_exceeded', noon + 59_999)).toBe(false);
    expect(tally.add(1, 'rate_limit_exceeded', noon + 60_000)).toBe(true);
  });

  test('records every refusal when the sample rate is one', () => {
    const tally = new RefusalTally(1);
    expect([1, 2, 3].map(() => tally.add(1, 'not_found', noon))).toEqual([true, true, true]);
  });

  test('taking the counts keeps the state of the current minute', () => {
    const tally = new RefusalTally(10);
    tally.add(1, 'not_found', noon);
    tally.take(noon + 30_000);
    expect(tally.add(1, 'not_found', noon + 31_000)).toBe(false);
    tally.take(noon + 60_000);
    expect(tally.add(1, 'not_found', noon + 60_001)).toBe(true);
  });

  test('every refusal is counted once in its hour, even when writes fail', () => {
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
        const totals = new Map<string, number>();
        const add = (sums: Map<string, number>, name: string, count: number): void =>
          void sums.set(name, (sums.get(name) ?? 0) + count);
        const write = (): void => {
          for (const { keyId, code, hour, count } of tally.take(noon))
            add(totals, `${keyId} ${code} ${hour}`, count);
        };
        for (const action of steps) {
          if (action === 'written') write();
          else if (action === 'failed') expect(tally.restore(tally.take(noon))).toBe(0);
          else {
            const { keyId, code, after } = action;
            tally.add(keyId, code, noon + after);
            add(expected, `${keyId} ${code} ${noon + Math.floor(after / 3_600_000) * 3_600_000}`, 1);
          }
        }
        write();
        expect(totals).toEqual(expected);
      }),
    );
  });
});
