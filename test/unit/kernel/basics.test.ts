import { defineTransitions, err, isUuid, monotonicMs, ok, systemClock, uuidv7 } from '../../../src/kernel';

describe('Identifiers', () => {
  test('are UUID version 7 and contain their time', () => {
    const id = uuidv7(Date.now() + 10_000_000);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Math.abs(parseInt(id.replace('-', '').slice(0, 12), 16) - Date.now() - 10_000_000)).toBeLessThan(
      5_000,
    );
  });

  test('are unique and strictly increasing, within a millisecond and when the clock steps back', () => {
    const start = Date.now() + 20_000_000;
    const ids = [
      ...Array.from({ length: 20_000 }, () => uuidv7(start)),
      ...Array.from({ length: 100 }, (_, index) => uuidv7(start - index)),
      uuidv7(start + 60_000),
    ];
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(ids.map((id) => id.slice(19))).size).toBe(ids.length);
  });

  test('contain the right time again after a clock that ran far ahead is corrected', () => {
    const now = Date.now();
    uuidv7(now + 40 * 86_400_000);
    const id = uuidv7(now);
    expect(parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(now);
  });

  test('are recognised', () => {
    for (const id of [uuidv7(), uuidv7().toUpperCase(), '00000000-0000-0000-0000-000000000000']) {
      expect(isUuid(id)).toBe(true);
    }
    for (const invalidId of [
      '',
      'x',
      uuidv7().slice(1),
      `${uuidv7()}\n`,
      uuidv7().replaceAll('-', ''),
      null,
      [uuidv7()],
    ]) {
      expect(isUuid(invalidId)).toBe(false);
    }
  });
});

describe('Clocks', () => {
  test('monotonic clock never runs backwards, and the system clock returns the current time', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
    const startMs = monotonicMs();
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(startMs);
  });
});

test('results hold a value or an error', () => {
  expect(ok(1)).toEqual({ ok: true, value: 1 });
  expect(err('no')).toEqual({ ok: false, error: 'no' });
});

describe('State transitions', () => {
  const inviteTransitions = defineTransitions({
    pending: ['accepted', 'revoked'],
    accepted: [],
    revoked: [],
  });

  test('listed transitions are allowed', () => {
    expect(inviteTransitions.can('pending', 'revoked')).toBe(true);
    expect(inviteTransitions.from('pending')).toEqual(['accepted', 'revoked']);
    expect(() => inviteTransitions.assert('pending', 'accepted')).not.toThrow();
  });

  test('unlisted transitions are a conflict', () => {
    expect(inviteTransitions.can('pending', 'pending')).toBe(false);
    expect(inviteTransitions.can('constructor' as 'pending', 'revoked')).toBe(false);
    expect(() => inviteTransitions.assert('revoked', 'accepted')).toThrow(
      expect.objectContaining({
        code: 'conflict',
        humanMessage: 'The state cannot change from "revoked" to "accepted".',
        options: expect.objectContaining({
          details: { reason: 'state', from: 'revoked', to: 'accepted', allowed: [] },
        }),
      }),
    );
  });
});
