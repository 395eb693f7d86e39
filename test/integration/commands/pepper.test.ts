import { startTestApp, type TestApp } from '../../support/app';
import { CommandFixture } from './command-fixture';

const FIRST = 'pepper-of-the-first-start-0123456789ab';
const SECOND = 'pepper-that-replaced-it-0123456789abcd';
const MISMATCH_MESSAGE = 'KEY_PEPPER is not the one that keys were made with: none of them would be known.';

let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
  fixture.environment['MASTER_KEY'] = 'one master key for commands and nodes';
});
afterAll(() => fixture.close());

const start = (pepper: string): Promise<TestApp> =>
  startTestApp({
    sharedDatabase: fixture.test,
    environment: { KEY_PEPPER: pepper, MASTER_KEY: fixture.environment['MASTER_KEY'] as string },
  });
const statusOf = async (node: TestApp, key: string): Promise<number> =>
  (await fetch(`${node.url}/v1/manage/keys`, { headers: { authorization: `Bearer ${key}` } })).status;
const storedPeppers = () => fixture.database.query('SELECT pepper_name FROM key_revision');
const runDoctor = async () => (await fixture.run(['doctor'])).output;

test('a changed pepper is refused at the start, by doctor and by commands until it is accepted', async () => {
  expect(await storedPeppers()).toEqual([{ pepper_name: null }]);
  const firstNode = await start(FIRST);
  const rootKey = firstNode.firstKeys?.root ?? '';
  expect(await statusOf(firstNode, rootKey)).toBe(200);
  await firstNode.close();
  const [named] = await storedPeppers();
  expect(named).toEqual({ pepper_name: expect.stringMatching(/^[\w-]{8}$/) });

  fixture.environment['KEY_PEPPER'] = FIRST;
  expect(await runDoctor()).toMatch(/^ok +stored secrets: MASTER_KEY and KEY_PEPPER fit/m);
  fixture.environment['KEY_PEPPER'] = SECOND;
  await expect(start(SECOND)).rejects.toThrow(`KEY_PEPPER: ${MISMATCH_MESSAGE.slice('KEY_PEPPER '.length)}`);
  expect(await runDoctor()).toContain(`stored secrets: ${MISMATCH_MESSAGE}\n`);
  const keys = () => fixture.database.query('SELECT public_id, secret_hash FROM api_key ORDER BY id');
  const keysBefore = await keys();
  for (const args of [
    ['key', 'create', '--name', 'mine'],
    ['root-key', 'rotate'],
  ]) {
    const result = await fixture.run(args);
    expect([result.code, result.output]).toEqual([78, '']);
    expect(result.complaint).toContain(`KEY_PEPPER: ${MISMATCH_MESSAGE.slice('KEY_PEPPER '.length)}`);
  }
  expect(await fixture.run(['root-key', 'rotate', '--accept-pepper', '--grace', '1h'])).toMatchObject({
    code: 64,
  });
  expect(await keys()).toEqual(keysBefore);
  expect(await storedPeppers()).toEqual([named]);

  const acceptResult = await fixture.run(['root-key', 'rotate', '--accept-pepper']);
  expect(acceptResult.code).toBe(0);
  expect(await runDoctor()).toMatch(/^ok +stored secrets/m);
  const secondNode = await start(SECOND);
  expect(await statusOf(secondNode, acceptResult.output.trim())).toBe(200);
  expect(await statusOf(secondNode, rootKey)).toBe(401);
  await secondNode.close();
  await expect(start(FIRST)).rejects.toThrow('KEY_PEPPER');
});
