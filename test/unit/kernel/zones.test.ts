import { canonicalZone, timeZones } from '../../../src/kernel';

test.each([
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Kolkata', 'Asia/Kolkata'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['Europe/Kyiv', 'Europe/Kyiv'],
  ['america/godthab', 'America/Nuuk'],
  ['US/Eastern', 'America/New_York'],
  ['Etc/UTC', 'UTC'],
  ['Europe/Atlantis', null],
  ['+01:00', null],
  ['', null],
])('legacy name of a zone is mapped to its current one: %s', (name, today) => {
  expect(canonicalZone(name)).toBe(today);
});

test('every offered zone appears once under its current name', () => {
  expect(timeZones.filter((name) => canonicalZone(name) !== name)).toEqual([]);
  expect(new Set(timeZones).size).toBe(timeZones.length);
  expect(timeZones).not.toContain('Europe/Kiev');
  expect(timeZones.length).toBeGreaterThan(400);
});
