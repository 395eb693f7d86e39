import { Breaker, defaultBreakerOptions } from '../../../src/routing/health/breaker';
import { RetryBudget } from '../../../src/routing/health/retry-budget';

/** Rests exactly as long as the terms say. */
const calm = (): Breaker => new Breaker(defaultBreakerOptions, () => 0.5);

const fail = (breaker: Breaker, times: number, now: number): void => {
  for (let call = 0; call < times; call += 1) breaker.failure(now, 0);
};

describe('a breaker', () => {
  test('opens at the fifth failure in a row, and a success in between starts the count anew', () => {
    const breaker = calm();
    fail(breaker, 4, 0);
    breaker.success(0);
    fail(breaker, 4, 0);
    expect(breaker.state(0)).toBe('closed');
    breaker.failure(0, 0);
    expect(breaker.state(0)).toBe('open');
    expect(breaker.tryAcquire(4_999)).toBeNull();
  });

  test('opens when more than half of twenty calls within ten seconds failed', () => {
    const breaker = calm();
    for (let call = 0; call < 10; call += 1) {
      breaker.success(call * 100);
      breaker.failure(call * 100, 0);
    }
    expect(breaker.state(1_000)).toBe('closed');
    breaker.failure(1_000, 0);
    expect(breaker.state(1_000)).toBe('open');
  });

  test('forgets calls older than ten seconds', () => {
    const breaker = calm();
    for (let call = 0; call < 10; call += 1) {
      breaker.success(0);
      breaker.failure(0, 0);
    }
    breaker.failure(11_000, 0);
    breaker.failure(11_000, 0);
    expect(breaker.state(11_000)).toBe('closed');
  });

  test('lets one probe through, doubles the rest when it fails, opens to everybody when it is answered', () => {
    const breaker = calm();
    fail(breaker, 5, 0);
    const first = breaker.tryAcquire(5_000)!;
    expect(breaker.tryAcquire(5_000)).toBeNull();
    breaker.failure(5_100, first);
    expect(breaker.state(15_099)).toBe('open');
    const second = breaker.tryAcquire(15_100)!;
    breaker.responseStarted(second);
    expect(breaker.state(15_200)).toBe('closed');
    // Until that answer is whole, the next failure is enough.
    breaker.failure(15_300, second);
    expect(breaker.state(15_300)).toBe('open');
  });

  test('hears only the probe while it is open', () => {
    const breaker = calm();
    fail(breaker, 5, 0);
    const probe = breaker.tryAcquire(5_000)!;
    breaker.failure(5_050, 0);
    breaker.neutral(0);
    breaker.responseStarted(0);
    expect(breaker.state(5_060)).toBe('open');
    breaker.responseStarted(probe);
    expect(breaker.state(5_070)).toBe('closed');
  });

  test('rests so shortly that a lane which is well again is back within half a minute', () => {
    const breaker = calm();
    fail(breaker, 5, 0);
    let now = 0;
    for (const rest of [5_000, 10_000, 20_000, 20_000, 20_000]) {
      expect(breaker.state(now + rest - 1)).toBe('open');
      now += rest;
      breaker.failure(now, breaker.tryAcquire(now)!);
    }
    // Where there is no other lane, a caller may come again at once.
    expect(breaker.nextTryAt(now)).toBe(now);
  });

  test('lets one call a second through when there is no other lane, but not before Retry-After', () => {
    const breaker = calm();
    for (let call = 0; call < 5; call += 1) breaker.failure(0, 0);
    const tries = [1_000, 1_500, 2_000, 2_999].map((now) => breaker.tryAsLast(now) !== null);
    expect(tries).toEqual([true, false, true, false]);
    breaker.pause(10_000);
    expect(breaker.tryAsLast(9_999)).toBeNull();
    breaker.responseStarted(breaker.tryAsLast(10_000)!);
    expect(breaker.state(10_001)).toBe('closed');
  });

  test('is closed by a slow probe too, although another followed it', () => {
    const breaker = calm();
    fail(breaker, 5, 0);
    const slow = breaker.tryAcquire(5_000)!;
    expect(breaker.tryAsLast(6_000)).not.toBeNull();
    breaker.responseStarted(slow);
    expect(breaker.state(6_100)).toBe('closed');
  });

  test('wakes those who wait for its probe, however the probe ends, and no more than a hundred', () => {
    const breaker = calm();
    fail(breaker, 5, 0);
    let woken = 0;
    const wait = (now: number) => breaker.waitForProbe(now, () => (woken += 1));
    expect(wait(4_000)).toBeNull();
    const first = breaker.tryAcquire(5_000)!;
    const cancel = wait(5_001)!;
    wait(5_001);
    cancel();
    breaker.failure(5_010, first);
    expect(woken).toBe(1);
    const second = breaker.tryAcquire(20_000)!;
    const waits = Array.from({ length: 101 }, () => wait(20_001));
    expect(waits.filter((each) => each === null)).toHaveLength(1);
    breaker.responseStarted(second);
    expect(woken).toBe(101);
  });

  test('a probe is not waited for where the failure before was long in coming, until that is long ago', () => {
    const breaker = calm();
    const waits = (now: number) => breaker.waitForProbe(now, () => undefined) !== null;
    for (let call = 0; call < 5; call += 1) breaker.failure(0, 0, 10_000);
    const first = breaker.tryAcquire(5_000)!;
    expect(waits(5_001)).toBe(false);
    breaker.failure(15_000, first, 10_000);
    const second = breaker.tryAsLast(34_999)!;
    expect([34_999, 35_000].map(waits)).toEqual([false, true]);
    // Quick failures let callers hope again.
    breaker.failure(35_100, second, 101);
    breaker.tryAsLast(36_100);
    expect(waits(36_101)).toBe(true);
  });

  test('follows the terms of its provider, and rests a little longer or shorter each time', () => {
    const rests = [0, 1].map((chance) => {
      const breaker = new Breaker({ ...defaultBreakerOptions, failures: 2, openMs: 1_000 }, () => chance);
      fail(breaker, 2, 0);
      return [800, 1_199, 1_200].map((now) => breaker.state(now));
    });
    expect(rests).toEqual([
      ['half-open', 'half-open', 'half-open'],
      ['open', 'open', 'half-open'],
    ]);
    const breaker = calm();
    fail(breaker, 1, 0);
    breaker.reconfigure({ ...defaultBreakerOptions, failures: 2, openMs: 500 });
    fail(breaker, 1, 0);
    expect(breaker.state(0)).toBe('open');
  });

  test('gives a lost probe up after half a minute', () => {
    const breaker = calm();
    fail(breaker, 5, 0);
    expect(breaker.tryAcquire(5_000)).not.toBeNull();
    expect(breaker.tryAcquire(34_999)).toBeNull();
    expect(breaker.tryAcquire(35_000)).not.toBeNull();
  });

  test('leaves a supplier alone for as long as it asked, and not a moment longer', () => {
    const breaker = calm();
    breaker.pause(2_000);
    expect(breaker.isPaused(1_999)).toBe(true);
    expect(breaker.tryAcquire(1_999)).toBeNull();
    expect(breaker.tryAcquire(2_000)).toBe(0);
    fail(breaker, 5, 2_000);
    breaker.pause(60_000);
    expect([breaker.state(59_999), breaker.isPaused(59_999)]).toEqual(['open', false]);
  });
});

test('retries cost a tenth of the first tries, and five a second besides, up to a hundred', () => {
  const budget = new RetryBudget();
  const spendAll = (now: number): number => {
    let spent = 0;
    while (budget.spend(now)) spent += 1;
    return spent;
  };
  // A supplier that dies under load may cost so many requests before its breaker opens.
  expect(spendAll(0)).toBe(100);
  for (let call = 0; call < 100; call += 1) budget.firstTry();
  expect(spendAll(0)).toBe(10);
  expect(spendAll(1_000)).toBe(5);
  // Asking often earns neither more nor less.
  let often = 0;
  for (let now = 1_000; now <= 11_000; now += 39) often += spendAll(now);
  expect(often).toBeGreaterThanOrEqual(48);
  expect(often).toBeLessThanOrEqual(50);
  expect(spendAll(10_000_000)).toBe(100);
});
