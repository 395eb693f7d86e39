import { startTestApp, type TestApp } from '../../support/app';
import { CommandHouse } from './command-house';

const FIRST = 'pepper-of-the-first-start-0123456789ab';
const SECOND = 'pepper-that-replaced-it-0123456789abcd';
const FOREIGN = 'KEY_PEPPER is not the one that keys were made with: none of them would be known.';

let house: CommandHouse;
beforeAll(async () => {
  house = await CommandHouse.open();
  house.environment['MASTER_KEY'] = 'one master key for commands and nodes';
});
afterAll(() => house.close());

const start = (pepper: string): Promise<TestApp> =>
  startTestApp({
    sharedDatabase: house.test,
    environment: { KEY_PEPPER: pepper, MASTER_KEY: house.environment['MASTER_KEY'] as string },
  });
const statusOf = async (node: TestApp, key: string): Promise<number> =>
  (await fetch(`${node.url}/v1/manage/keys`, { headers: { authorization: `Bearer ${key}` } })).status;
const stored = () => house.database.query('SELECT pepper_name FROM key_revision');
const doctor = async () => (await house.run(['doctor'])).output;

test('a pepper that keys were not made with is refused at the start, by doctor and by commands, until it is accepted', async () => {
  expect(await stored()).toEqual([{ pepper_name: null }]);
  const first = await start(FIRST);
  const root = first.firstKeys?.root ?? '';
  expect(await statusOf(first, root)).toBe(200);
  await first.close();
  const [named] = await stored();
  expect(named).toEqual({ pepper_name: expect.stringMatching(/^[\w-]{8}$/) });

  house.environment['KEY_PEPPER'] = FIRST;
  expect(await doctor()).toMatch(/^ok +stored secrets: MASTER_KEY and KEY_PEPPER fit/m);
  house.environment['KEY_PEPPER'] = SECOND;
  await expect(start(SECOND)).rejects.toThrow(`KEY_PEPPER: ${FOREIGN.slice('KEY_PEPPER '.length)}`);
  expect(await doctor()).toContain(`stored secrets: ${FOREIGN}\n`);
  const keys = () => house.database.query('SELECT public_id, secret_hash FROM api_key ORDER BY id');
  const before = await keys();
  for (const words of [
    ['key', 'create', '--name', 'mine'],
    ['root-key', 'rotate'],
  ]) {
    const spoken = await house.run(words);
    expect([spoken.code, spoken.output]).toEqual([78, '']);
    expect(spoken.complaint).toContain(`KEY_PEPPER: ${FOREIGN.slice('KEY_PEPPER '.length)}`);
  }
  expect(await house.run(['root-key', 'rotate', '--accept-pepper', '--grace', '1h'])).toMatchObject({
    code: 64,
  });
  expect(await keys()).toEqual(before);
  expect(await stored()).toEqual([named]);

  const accepted = await house.run(['root-key', 'rotate', '--accept-pepper']);
  expect(accepted.code).toBe(0);
  expect(await doctor()).toMatch(/^ok +stored secrets/m);
  const second = await start(SECOND);
  expect(await statusOf(second, accepted.output.trim())).toBe(200);
  expect(await statusOf(second, root)).toBe(401);
  await second.close();
  await expect(start(FIRST)).rejects.toThrow('KEY_PEPPER');
});
