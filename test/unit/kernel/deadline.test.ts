import { withDeadline } from '../../../src/kernel';

const never = new Promise<never>(() => undefined);

test('work that is done in time gives its outcome, good or bad', async () => {
  await expect(withDeadline(1_000, Promise.resolve(7))).resolves.toBe(7);
  await expect(withDeadline(1_000, Promise.reject(new Error('of its own')))).rejects.toThrow('of its own');
});

test('work that is not done in time fails, with the error asked for', async () => {
  await expect(withDeadline(5, never)).rejects.toThrow('no answer within 5 ms');
  await expect(withDeadline(5, never, () => new RangeError('late'))).rejects.toThrow(RangeError);
});

test('an answer that arrived while the process was busy is in time', async () => {
  const answer = new Promise<string>((resolve) => setTimeout(() => setImmediate(() => resolve('read')), 5));
  const outcome = withDeadline(5, answer);
  const busyUntil = performance.now() + 20;
  while (performance.now() < busyUntil);
  await expect(outcome).resolves.toBe('read');
});

test('a failure after the deadline is not an unhandled one', async () => {
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise<never>((_resolve, reject) => (fail = reject));
  const unhandled = jest.fn();
  process.once('unhandledRejection', unhandled);
  await expect(withDeadline(1, work)).rejects.toThrow('no answer');
  fail(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
  process.removeListener('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});
