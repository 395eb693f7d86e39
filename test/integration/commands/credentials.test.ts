import { CommandHouse } from './command-house';

const former = 'the-former-master-key-0123456789abcdef';
const current = 'the-current-master-key-0123456789abcde';
let house: CommandHouse;
beforeAll(async () => {
  house = await CommandHouse.open();
  Object.assign(house.environment, {
    MASTER_KEY: former,
    A_SECRET: 'sk-secret-of-a',
    B_SECRET: 'sk-secret-of-b',
  });
  const applied = await house.apply(`version: 1
providers:
  a: { style: openai-style, base_url: "https://a.example", credentials: { main: { kind: bearer, secret: "\${A_SECRET}" } } }
  b: { style: openai-style, base_url: "https://b.example", credentials: { main: { kind: bearer, secret: "\${B_SECRET}" } } }
`);
  expect(applied).toMatchObject({ code: 0, complaint: '' });
});
afterAll(() => house.close());

const keyIds = async (): Promise<string[]> =>
  (await house.database.query<{ key_id: string }>('SELECT DISTINCT key_id FROM provider_credential')).map(
    (row) => row.key_id,
  );

test('secrets move to the current master key, and the former one can go', async () => {
  const [before] = await keyIds();
  house.environment['MASTER_KEY'] = `${current},${former}`;
  expect(await house.run(['credentials', 'rewrap'])).toMatchObject({
    code: 0,
    output: '2 secrets are under the current master key now.\n',
    complaint: '',
  });
  const after = await keyIds();
  expect(after).toHaveLength(1);
  expect(after).not.toContain(before);
  // Again, as after an interruption: nothing is left to do.
  expect((await house.run(['credentials', 'rewrap'])).output).toContain('0 secrets');
  house.environment['MASTER_KEY'] = current;
  const doctor = await house.run(['doctor']);
  expect(doctor.output + doctor.complaint).not.toMatch(/cannot be read|unreadable/);
});

test('without a former key there is nothing to move from', async () => {
  house.environment['MASTER_KEY'] = current;
  const spoken = await house.run(['credentials', 'rewrap']);
  expect(spoken.code).not.toBe(0);
  expect(spoken.complaint).toContain('MASTER_KEY names no former key');
});

test('a command with another master key than that of the service changes nothing, and doctor says so', async () => {
  const [before] = await keyIds();
  house.environment['MASTER_KEY'] = 'a-master-key-of-somebody-else-0123456';
  for (const words of [
    ['key', 'create', '--name', 'mine'],
    ['apply', house.file('gateway.yaml', 'version: 1'), '--yes'],
  ]) {
    const spoken = await house.run(words);
    expect([spoken.code, spoken.output]).toEqual([78, '']);
    expect(spoken.complaint).toMatch(
      /^MASTER_KEY cannot read 2 of 2 supplier credentials.*Give the command the secrets/,
    );
  }
  expect(await keyIds()).toEqual([before]);
  expect((await house.run(['doctor'])).output).toMatch(
    /^fail +stored secrets: MASTER_KEY cannot read 2 of 2/m,
  );
});
