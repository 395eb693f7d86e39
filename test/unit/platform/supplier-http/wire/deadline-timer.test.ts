import fc from 'fast-check';
import {
  type TimedEntry,
  DeadlineTimer,
} from '../../../../../src/platform/supplier-http/wire/deadline-timer';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

class TimedStub implements TimedEntry {
  index = -1;
  dueMs = Infinity;
  readonly seenAt: number[] = [];
  /** Time at which the timer should call onDue. */
  expectedAt: number | null = null;

  onDue(): void {
    this.seenAt.push(performance.now());
  }
}

type TimerStep =
  { guest: number; milliseconds: number } | { guest: number; leaves: true } | { passes: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ guest: fc.nat(5), milliseconds: fc.integer({ min: 1, max: 300 }) }),
    fc.record({ guest: fc.nat(5), leaves: fc.constant(true as const) }),
    fc.record({ passes: fc.integer({ min: 1, max: 200 }) }),
  ),
  { maxLength: 40 },
);

test('every scheduled entry is called once when it is due, and cancelled entries are not called', () => {
  fc.assert(
    fc.property(steps, (sequence: readonly TimerStep[]) => {
      const deadlineTimer = new DeadlineTimer();
      const guests = Array.from({ length: 6 }, () => new TimedStub());
      const advance = (milliseconds: number): void => {
        for (let elapsed = 0; elapsed < milliseconds; elapsed += 1) {
          jest.advanceTimersByTime(1);
          const now = performance.now();
          for (const guest of guests) {
            if (guest.expectedAt === null || guest.expectedAt > now) continue;
            expect(guest.seenAt).toHaveLength(1);
            expect(Math.abs(guest.seenAt[0]! - guest.expectedAt)).toBeLessThanOrEqual(1);
            guest.seenAt.length = 0;
            guest.expectedAt = null;
          }
        }
      };
      for (const step of sequence) {
        if ('passes' in step) {
          advance(step.passes);
          continue;
        }
        const guest = guests[step.guest]!;
        // Called a moment early: the deadline is consumed.
        if (guest.seenAt.length > 0) advance(1);
        if ('leaves' in step) {
          deadlineTimer.cancel(guest);
          guest.expectedAt = null;
        } else {
          deadlineTimer.schedule(guest, step.milliseconds);
          guest.expectedAt = performance.now() + step.milliseconds;
        }
        expect(jest.getTimerCount()).toBeLessThanOrEqual(1);
      }
      advance(301);
      expect(guests.every(({ seenAt, expectedAt: wanted }) => seenAt.length === 0 && wanted === null)).toBe(
        true,
      );
      jest.clearAllTimers();
    }),
  );
});

test('entry cancelled by the previous one is not called', () => {
  const deadlineTimer = new DeadlineTimer();
  const second = new TimedStub();
  const first = new TimedStub();
  first.onDue = () => deadlineTimer.cancel(second);
  deadlineTimer.schedule(first, 10);
  deadlineTimer.schedule(second, 10);
  jest.advanceTimersByTime(20);
  expect(second.seenAt).toEqual([]);
});

test('entry can schedule itself again', () => {
  const deadlineTimer = new DeadlineTimer();
  const guest = new TimedStub();
  const seenAt: number[] = [];
  guest.onDue = () => {
    seenAt.push(performance.now());
    if (seenAt.length < 3) deadlineTimer.schedule(guest, 10);
  };
  const start = performance.now();
  deadlineTimer.schedule(guest, 10);
  jest.advanceTimersByTime(100);
  expect(seenAt).toEqual([start + 10, start + 20, start + 30]);
  expect(jest.getTimerCount()).toBe(0);
});

test('deadline in the past is due immediately without a Node warning', async () => {
  jest.useRealTimers();
  const onWarning = jest.fn();
  process.on('warning', onWarning);
  const guest = new TimedStub();
  const due = new Promise<void>((resolve) => (guest.onDue = resolve));
  new DeadlineTimer().schedule(guest, -5);
  // The deadline timer does not keep the process alive.
  const keepAlive = setInterval(() => undefined, 1_000);
  await due;
  await new Promise(setImmediate);
  clearInterval(keepAlive);
  process.off('warning', onWarning);
  expect(onWarning).not.toHaveBeenCalled();
});
