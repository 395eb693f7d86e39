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

/** Order in which locks apply: an administrator's lock of a key takes precedence over the user's own. */
const locks: readonly AutoLevel[] = ['platform', 'organisation', 'key', 'user'];

test('levels below a lock are ignored, and limits are never looser than those of any level', () => {
  fc.assert(
    fc.property(levels, (settingsByLevel) => {
      const policy = effectivePolicy(settingsByLevel);
      const lock = locks.find((level) => settingsByLevel[level]?.locked === true) ?? null;
      expect(policy.lockedBy).toBe(lock);
      const effectiveLevels = order
        .slice(0, lock === null ? 4 : order.indexOf(lock) + 1)
        .map((level) => settingsByLevel[level] ?? {});
      const expected = <Name extends keyof AutoSettings>(name: Name): AutoSettings[Name] =>
        effectiveLevels.findLast((each) => each[name] !== undefined)?.[name];
      expect(policy.mode).toBe(expected('mode') ?? 'shadow');
      expect(policy.dial).toBe(expected('dial') ?? 5);
      for (const { min_quality: least, max_cost_per_request: most, exclude, include } of order.map(
        (level): AutoSettings => settingsByLevel[level] ?? {},
      )) {
        if (least !== undefined) expect(policy.min_quality).toBeGreaterThanOrEqual(least);
        if (most !== undefined) expect(Number(policy.max_cost_per_request)).toBeLessThanOrEqual(Number(most));
        for (const name of exclude ?? []) expect(policy.excludes).toContain(name);
        if (include !== undefined && include.length > 0) expect(policy.includes).toContain(include);
      }
    }),
  );
});
