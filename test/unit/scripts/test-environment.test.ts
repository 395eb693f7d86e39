import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface JestEnvironment {
  teardown(): Promise<void>;
}

const WorkerEnvironment = createRequire(__filename)('../../support/jest/environment.cjs') as new (config: {
  projectConfig: object;
}) => JestEnvironment;

/** All files of a worker run one after the other in the same realm. */
test('globals left by a test file are removed before the next', async () => {
  const environment = new WorkerEnvironment({ projectConfig: { fakeTimers: {} } });
  const readGlobals = () => [
    globalThis.fetch,
    globalThis.setTimeout,
    process.env.PATH,
    Reflect.get(process, 'exit'),
  ];
  const globalsBefore = readGlobals();
  const name = `left_${randomUUID()}`;

  Object.assign(globalThis, {
    [name]: true,
    [Symbol.for(name)]: true,
    fetch: undefined,
    setTimeout: undefined,
  });
  Object.assign(process.env, { [name]: 'true', PATH: join('/', name) });
  Object.assign(process, { exit: () => undefined });
  await environment.teardown();

  expect(readGlobals()).toEqual(globalsBefore);
  const remainingNames = [globalThis, process.env].flatMap((object) => Reflect.ownKeys(object)).map(String);
  expect(remainingNames.filter((each) => each.includes(name))).toEqual([]);
});
