import fc from 'fast-check';
import { type TimedEntry, DeadlineTimer } from '../../../../../src/platform/supplier-http/wire/deadline-timer';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

class Guest implements TimedEntry {
  index = -1;
  dueMs = Infinity;
  readonly seenAt: number[] = [];
  /** The timer should be looked at then. */
  wanted: number | null = null;

  onDue(): void {
    this.seenAt.push(performance.now());
  }
}

type Step = { guest: number; milliseconds: number } | { guest: number; leaves: true } | { passes: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ guest: fc.nat(5), milliseconds: fc.integer({ min: 1, max: 300 }) }),
    fc.record({ guest: fc.nat(5), leaves: fc.constant(true as const) }),
    fc.record({ passes: fc.integer({ min: 1, max: 200 }) }),
  ),
  { maxLength: 40 },
);

test('whoever is expected is looked at once, when it is due, and nobody who has left', () => {
  fc.assert(
    fc.property(steps, (taken: readonly Step[]) => {
      const deadlineTimer = new DeadlineTimer();
      const guests = Array.from({ length: 6 }, () => new Guest());
      const pass = (milliseconds: number): void => {
        for (let gone = 0; gone < milliseconds; gone += 1) {
          jest.advanceTimersByTime(1);
          const now = performance.now();
          for (const guest of guests) {
            if (guest.wanted === null || guest.wanted > now) continue;
            expect(guest.seenAt).toHaveLength(1);
            expect(Math.abs(guest.seenAt[0]! - guest.wanted)).toBeLessThanOrEqual(1);
            guest.seenAt.length = 0;
            guest.wanted = null;
          }
        }
      };
      for (const step of taken) {
        if ('passes' in step) {
          pass(step.passes);
          continue;
        }
        const guest = guests[step.guest]!;
        // Seen a moment early: that was it.
        if (guest.seenAt.length > 0) pass(1);
        if ('leaves' in step) {
          deadlineTimer.cancel(guest);
          guest.wanted = null;
        } else {
          deadlineTimer.schedule(guest, step.milliseconds);
          guest.wanted = performance.now() + step.milliseconds;
        }
        expect(jest.getTimerCount()).toBeLessThanOrEqual(1);
      }
      pass(301);
      expect(guests.every(({ seenAt, wanted }) => seenAt.length === 0 && wanted === null)).toBe(true);
      jest.clearAllTimers();
    }),
  );
});

test('whoever is sent away by the one before is not looked at', () => {
  const deadlineTimer = new DeadlineTimer();
  const second = new Guest();
  const first = new Guest();
  first.onDue = () => deadlineTimer.cancel(second);
  deadlineTimer.schedule(first, 10);
  deadlineTimer.schedule(second, 10);
  jest.advanceTimersByTime(20);
  expect(second.seenAt).toEqual([]);
});

test('whoever asks to be looked at again, is', () => {
  const deadlineTimer = new DeadlineTimer();
  const guest = new Guest();
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

test('a deadline that is over by now is due at once, without a warning of Node', async () => {
  jest.useRealTimers();
  const warned = jest.fn();
  process.on('warning', warned);
  const guest = new Guest();
  const due = new Promise<void>((resolve) => (guest.onDue = resolve));
  new DeadlineTimer().schedule(guest, -5);
  // A timer of its own does not keep the test alive.
  const alive = setInterval(() => undefined, 1_000);
  await due;
  await new Promise(setImmediate);
  clearInterval(alive);
  process.off('warning', warned);
  expect(warned).not.toHaveBeenCalled();
});
