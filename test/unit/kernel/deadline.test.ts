import { withDeadline } from '../../../src/kernel';

const neverSettles = new Promise<never>(() => undefined);

test('work that finishes in time passes on its result or error', async () => {
  await expect(withDeadline(1_000, Promise.resolve(7))).resolves.toBe(7);
  await expect(withDeadline(1_000, Promise.reject(new Error('of its own')))).rejects.toThrow('of its own');
});

test('work that exceeds the deadline fails with the given error', async () => {
  await expect(withDeadline(5, neverSettles)).rejects.toThrow('no answer within 5 ms');
  await expect(withDeadline(5, neverSettles, () => new RangeError('late'))).rejects.toThrow(RangeError);
});

test('result that arrived while the process was busy counts as in time', async () => {
  const answer = new Promise<string>((resolve) => setTimeout(() => setImmediate(() => resolve('read')), 5));
  const outcome = withDeadline(5, answer);
  const busyUntil = performance.now() + 20;
  while (performance.now() < busyUntil);
  await expect(outcome).resolves.toBe('read');
});

test('failure after the deadline is not an unhandled rejection', async () => {
  let rejectWork: (error: Error) => void = () => undefined;
  const work = new Promise<never>((_resolve, reject) => (rejectWork = reject));
  const unhandled = jest.fn();
  process.once('unhandledRejection', unhandled);
  await expect(withDeadline(1, work)).rejects.toThrow('no answer');
  rejectWork(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
  process.removeListener('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});
