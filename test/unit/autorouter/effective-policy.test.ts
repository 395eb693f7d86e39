import fc from 'fast-check';
import { effectivePolicy, type AutoLevel, type AutoSettings } from '../../../src/autorouter';

const settings: fc.Arbitrary<AutoSettings> = fc.record(
  {
    mode: fc.constantFrom('off', 'shadow', 'on'),
    dial: fc.integer({ min: 0, max: 10 }),
    include: fc.uniqueArray(fc.constantFrom('a', 'b*', '*'), { maxLength: 3 }),
    exclude: fc.uniqueArray(fc.constantFrom('a', 'c'), { maxLength: 2 }),
    min_quality: fc.double({ min: 0, max: 1, noNaN: true }),
    max_cost_per_request: fc.constantFrom('0.01', '0.5', '2'),
    locked: fc.boolean(),
  },
  { requiredKeys: [] },
);
const levels = fc.record(
  { platform: settings, organisation: settings, user: settings, key: settings },
  { requiredKeys: [] },
);
const order: readonly AutoLevel[] = ['platform', 'organisation', 'user', 'key'];

/** An administrator's lock of a key stands before a person's own. */
const locks: readonly AutoLevel[] = ['platform', 'organisation', 'key', 'user'];

test('nothing narrower than a lock chooses, and limits are never looser than those of any level', () => {
  fc.assert(
    fc.property(levels, (given) => {
      const policy = effectivePolicy(given);
      const lock = locks.find((level) => given[level]?.locked === true) ?? null;
      expect(policy.lockedBy).toBe(lock);
      const heard = order
        .slice(0, lock === null ? 4 : order.indexOf(lock) + 1)
        .map((level) => given[level] ?? {});
      const expected = <Name extends keyof AutoSettings>(name: Name): AutoSettings[Name] =>
        heard.findLast((each) => each[name] !== undefined)?.[name];
      expect(policy.mode).toBe(expected('mode') ?? 'shadow');
      expect(policy.dial).toBe(expected('dial') ?? 5);
      for (const { min_quality: least, max_cost_per_request: most, exclude, include } of order.map(
        (level): AutoSettings => given[level] ?? {},
      )) {
        if (least !== undefined) expect(policy.min_quality).toBeGreaterThanOrEqual(least);
        if (most !== undefined) expect(Number(policy.max_cost_per_request)).toBeLessThanOrEqual(Number(most));
        for (const name of exclude ?? []) expect(policy.excludes).toContain(name);
        if (include !== undefined && include.length > 0) expect(policy.includes).toContain(include);
      }
    }),
  );
});
