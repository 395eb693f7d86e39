import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface Environment {
  teardown(): Promise<void>;
}

const WorkerEnvironment = createRequire(__filename)('../../support/jest/environment.cjs') as new (config: {
  projectConfig: object;
}) => Environment;

/** All files of a worker run in its realm, one after the other. */
test('what a test file leaves behind, the next does not find', async () => {
  const environment = new WorkerEnvironment({ projectConfig: { fakeTimers: {} } });
  const look = () => [
    globalThis.fetch,
    globalThis.setTimeout,
    process.env.PATH,
    Reflect.get(process, 'exit'),
  ];
  const found = look();
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

  expect(look()).toEqual(found);
  const left = [globalThis, process.env].flatMap((object) => Reflect.ownKeys(object)).map(String);
  expect(left.filter((each) => each.includes(name))).toEqual([]);
});
