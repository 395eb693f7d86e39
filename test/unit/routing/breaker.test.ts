import { Breaker } from '../../../src/routing/health/breaker';
import { RetryBudget } from '../../../src/routing/health/retry-budget';

const fail = (breaker: Breaker, times: number, now: number): void => {
  for (let call = 0; call < times; call += 1) breaker.failure(now);
};

describe('a breaker', () => {
  test('opens at the fifth failure in a row, and a success in between starts the count anew', () => {
    const breaker = new Breaker();
    fail(breaker, 4, 0);
    breaker.success(0);
    fail(breaker, 4, 0);
    expect(breaker.state(0)).toBe('closed');
    breaker.failure(0);
    expect(breaker.state(0)).toBe('open');
    expect(breaker.tryAcquire(4_999)).toBe(false);
  });

  test('opens when more than half of twenty calls within ten seconds failed', () => {
    const breaker = new Breaker();
    for (let call = 0; call < 10; call += 1) {
      breaker.success(call * 100);
      breaker.failure(call * 100);
    }
    expect(breaker.state(1_000)).toBe('closed');
    breaker.failure(1_000);
    expect(breaker.state(1_000)).toBe('open');
  });

  test('forgets calls older than ten seconds', () => {
    const breaker = new Breaker();
    for (let call = 0; call < 10; call += 1) {
      breaker.success(0);
      breaker.failure(0);
    }
    breaker.failure(11_000);
    breaker.failure(11_000);
    expect(breaker.state(11_000)).toBe('closed');
  });

  test('lets one probe through, doubles the rest when it fails, closes when it succeeds', () => {
    const breaker = new Breaker();
    fail(breaker, 5, 0);
    expect(breaker.tryAcquire(5_000)).toBe(true);
    expect(breaker.tryAcquire(5_000)).toBe(false);
    breaker.failure(5_100);
    expect(breaker.state(15_099)).toBe('open');
    expect(breaker.tryAcquire(15_100)).toBe(true);
    breaker.success(15_200);
    expect(breaker.state(15_200)).toBe('closed');
  });

  test('rests so shortly that a lane which is well again is back within half a minute', () => {
    const breaker = new Breaker();
    fail(breaker, 5, 0);
    let now = 0;
    for (let probe = 0; probe < 8; probe += 1) {
      now = breaker.nextTryAt(now);
      expect(breaker.tryAcquire(now)).toBe(true);
      breaker.failure(now);
    }
    expect(breaker.nextTryAt(now) - now).toBe(20_000);
  });

  test('lets one call a second through when there is no other lane, but not before Retry-After', () => {
    const breaker = new Breaker();
    for (let call = 0; call < 5; call += 1) breaker.failure(0);
    expect([1_000, 1_500, 2_000, 2_999].map((now) => breaker.tryAsLast(now))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    breaker.pause(10_000);
    expect(breaker.tryAsLast(9_999)).toBe(false);
    expect(breaker.tryAsLast(10_000)).toBe(true);
    breaker.success(10_000);
    expect(breaker.state(10_001)).toBe('closed');
  });

  test('gives a lost probe up after half a minute', () => {
    const breaker = new Breaker();
    fail(breaker, 5, 0);
    expect(breaker.tryAcquire(5_000)).toBe(true);
    expect(breaker.tryAcquire(34_999)).toBe(false);
    expect(breaker.tryAcquire(35_000)).toBe(true);
  });

  test('leaves a supplier alone for as long as it asked, and not a moment longer', () => {
    const breaker = new Breaker();
    breaker.pause(2_000);
    expect(breaker.tryAcquire(1_999)).toBe(false);
    expect(breaker.tryAcquire(2_000)).toBe(true);
  });
});

test('retries cost a tenth of the first tries, and five a second besides', () => {
  const budget = new RetryBudget();
  let spent = 0;
  while (budget.spend(0)) spent += 1;
  expect(spent).toBe(5);
  for (let call = 0; call < 100; call += 1) budget.firstTry();
  while (budget.spend(0)) spent += 1;
  expect(spent).toBe(15);
  while (budget.spend(1_000)) spent += 1;
  expect(spent).toBe(20);
});
