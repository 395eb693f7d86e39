import { Breaker, defaultBreakerOptions } from '../../../src/routing/health/breaker';
import { RetryBudget } from '../../../src/routing/health/retry-budget';

/** Creates a breaker without jitter, which stays open exactly as long as configured. */
const breakerWithoutJitter = (): Breaker => new Breaker(defaultBreakerOptions, () => 0.5);

const fail = (breaker: Breaker, times: number, now: number): void => {
  for (let call = 0; call < times; call += 1) breaker.failure(now, 0);
};

describe('Circuit breaker', () => {
  test('opens at the fifth consecutive failure, and a success resets the count', () => {
    const breaker = breakerWithoutJitter();
    fail(breaker, 4, 0);
    breaker.success(0);
    fail(breaker, 4, 0);
    expect(breaker.state(0)).toBe('closed');
    breaker.failure(0, 0);
    expect(breaker.state(0)).toBe('open');
    expect(breaker.tryAcquire(4_999)).toBeNull();
  });

  test('opens when more than half of twenty calls within ten seconds fail', () => {
    const breaker = breakerWithoutJitter();
    for (let call = 0; call < 10; call += 1) {
      breaker.success(call * 100);
      breaker.failure(call * 100, 0);
    }
    expect(breaker.state(1_000)).toBe('closed');
    breaker.failure(1_000, 0);
    expect(breaker.state(1_000)).toBe('open');
  });

  test('ignores calls older than ten seconds', () => {
    const breaker = breakerWithoutJitter();
    for (let call = 0; call < 10; call += 1) {
      breaker.success(0);
      breaker.failure(0, 0);
    }
    breaker.failure(11_000, 0);
    breaker.failure(11_000, 0);
    expect(breaker.state(11_000)).toBe('closed');
  });

  test('allows a single probe, doubles its open time when the probe fails and closes when it succeeds', () => {
    const breaker = breakerWithoutJitter();
    fail(breaker, 5, 0);
    const firstProbe = breaker.tryAcquire(5_000)!;
    expect(breaker.tryAcquire(5_000)).toBeNull();
    breaker.failure(5_100, firstProbe);
    expect(breaker.state(15_099)).toBe('open');
    const secondProbe = breaker.tryAcquire(15_100)!;
    breaker.responseStarted(secondProbe);
    expect(breaker.state(15_200)).toBe('closed');
    // Until the probe's response is complete, the next failure opens the breaker again.
    breaker.failure(15_300, secondProbe);
    expect(breaker.state(15_300)).toBe('open');
  });

  test("ignores results other than the probe's while open", () => {
    const breaker = breakerWithoutJitter();
    fail(breaker, 5, 0);
    const probe = breaker.tryAcquire(5_000)!;
    breaker.failure(5_050, 0);
    breaker.neutral(0);
    breaker.responseStarted(0);
    expect(breaker.state(5_060)).toBe('open');
    breaker.responseStarted(probe);
    expect(breaker.state(5_070)).toBe('closed');
  });

  test('caps its open time so that a recovered lane is back within half a minute', () => {
    const breaker = breakerWithoutJitter();
    fail(breaker, 5, 0);
    let now = 0;
    for (const openMs of [5_000, 10_000, 20_000, 20_000, 20_000]) {
      expect(breaker.state(now + openMs - 1)).toBe('open');
      now += openMs;
      breaker.failure(now, breaker.tryAcquire(now)!);
    }
    // If there is no other lane, a call can be retried immediately.
    expect(breaker.nextTryAt(now)).toBe(now);
  });

  test('allows a call per second on the last lane, but not before Retry-After', () => {
    const breaker = breakerWithoutJitter();
    for (let call = 0; call < 5; call += 1) breaker.failure(0, 0);
    const attempts = [1_000, 1_500, 2_000, 2_999].map((now) => breaker.tryAsLast(now) !== null);
    expect(attempts).toEqual([true, false, true, false]);
    breaker.pause(10_000);
    expect(breaker.tryAsLast(9_999)).toBeNull();
    breaker.responseStarted(breaker.tryAsLast(10_000)!);
    expect(breaker.state(10_001)).toBe('closed');
  });

  test('is closed by a slow probe although another probe followed', () => {
    const breaker = breakerWithoutJitter();
    fail(breaker, 5, 0);
    const slowProbe = breaker.tryAcquire(5_000)!;
    expect(breaker.tryAsLast(6_000)).not.toBeNull();
    breaker.responseStarted(slowProbe);
    expect(breaker.state(6_100)).toBe('closed');
  });

  test("wakes at most a hundred calls waiting for its probe, whatever the probe's result", () => {
    const breaker = breakerWithoutJitter();
    fail(breaker, 5, 0);
    let wokenCount = 0;
    const waitForProbe = (now: number) => breaker.waitForProbe(now, () => (wokenCount += 1));
    expect(waitForProbe(4_000)).toBeNull();
    const firstProbe = breaker.tryAcquire(5_000)!;
    const cancelWait = waitForProbe(5_001)!;
    waitForProbe(5_001);
    cancelWait();
    breaker.failure(5_010, firstProbe);
    expect(wokenCount).toBe(1);
    const secondProbe = breaker.tryAcquire(20_000)!;
    const waiters = Array.from({ length: 101 }, () => waitForProbe(20_001));
    expect(waiters.filter((each) => each === null)).toHaveLength(1);
    breaker.responseStarted(secondProbe);
    expect(wokenCount).toBe(101);
  });

  test('probe is not waited for if the last failure was slow, until enough time has passed', () => {
    const breaker = breakerWithoutJitter();
    const isWorthWaiting = (now: number) => breaker.waitForProbe(now, () => undefined) !== null;
    for (let call = 0; call < 5; call += 1) breaker.failure(0, 0, 10_000);
    const firstProbe = breaker.tryAcquire(5_000)!;
    expect(isWorthWaiting(5_001)).toBe(false);
    breaker.failure(15_000, firstProbe, 10_000);
    const secondProbe = breaker.tryAsLast(34_999)!;
    expect([34_999, 35_000].map(isWorthWaiting)).toEqual([false, true]);
    // Quick failures make waiting worthwhile again.
    breaker.failure(35_100, secondProbe, 101);
    breaker.tryAsLast(36_100);
    expect(isWorthWaiting(36_101)).toBe(true);
  });

  test('follows the settings of its provider, with jitter on its open time', () => {
    const states = [0, 1].map((chance) => {
      const breaker = new Breaker({ ...defaultBreakerOptions, failures: 2, openMs: 1_000 }, () => chance);
      fail(breaker, 2, 0);
      return [800, 1_199, 1_200].map((now) => breaker.state(now));
    });
    expect(states).toEqual([
      ['half-open', 'half-open', 'half-open'],
      ['open', 'open', 'half-open'],
    ]);
    const breaker = breakerWithoutJitter();
    fail(breaker, 1, 0);
    breaker.reconfigure({ ...defaultBreakerOptions, failures: 2, openMs: 500 });
    fail(breaker, 1, 0);
    expect(breaker.state(0)).toBe('open');
  });

  test('gives up a lost probe after half a minute', () => {
    const breaker = breakerWithoutJitter();
    fail(breaker, 5, 0);
    expect(breaker.tryAcquire(5_000)).not.toBeNull();
    expect(breaker.tryAcquire(34_999)).toBeNull();
    expect(breaker.tryAcquire(35_000)).not.toBeNull();
  });

  test('pauses a supplier for exactly as long as it requested', () => {
    const breaker = breakerWithoutJitter();
    breaker.pause(2_000);
    expect(breaker.isPaused(1_999)).toBe(true);
    expect(breaker.tryAcquire(1_999)).toBeNull();
    expect(breaker.tryAcquire(2_000)).toBe(0);
    fail(breaker, 5, 2_000);
    breaker.pause(60_000);
    expect([breaker.state(59_999), breaker.isPaused(59_999)]).toEqual(['open', false]);
  });
});

test('retry budget allows a tenth of the first attempts plus five per second, up to a hundred', () => {
  const budget = new RetryBudget();
  const spendAll = (now: number): number => {
    let spentCount = 0;
    while (budget.spend(now)) spentCount += 1;
    return spentCount;
  };
  // A supplier that fails under load can cost that many retries before its breaker opens.
  expect(spendAll(0)).toBe(100);
  for (let call = 0; call < 100; call += 1) budget.firstTry();
  expect(spendAll(0)).toBe(10);
  expect(spendAll(1_000)).toBe(5);
  // Frequent checks neither earn nor lose retries.
  let frequentCount = 0;
  for (let now = 1_000; now <= 11_000; now += 39) frequentCount += spendAll(now);
  expect(frequentCount).toBeGreaterThanOrEqual(48);
  expect(frequentCount).toBeLessThanOrEqual(50);
  expect(spendAll(10_000_000)).toBe(100);
});
