import { CommandFixture } from './command-fixture';

const former = 'the-former-master-key-0123456789abcdef';
const current = 'the-current-master-key-0123456789abcde';
let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
  Object.assign(fixture.environment, {
    MASTER_KEY: former,
    A_SECRET: 'sk-secret-of-a',
    B_SECRET: 'sk-secret-of-b',
  });
  const applyResult = await fixture.apply(`version: 1
providers:
  a: { style: openai-style, base_url: "https://a.example", credentials: { main: { kind: bearer, secret: "\${A_SECRET}" } } }
  b: { style: openai-style, base_url: "https://b.example", credentials: { main: { kind: bearer, secret: "\${B_SECRET}" } } }
`);
  expect(applyResult).toMatchObject({ code: 0, complaint: '' });
});
afterAll(() => fixture.close());

const keyIds = async (): Promise<string[]> =>
  (await fixture.database.query<{ key_id: string }>('SELECT DISTINCT key_id FROM provider_credential')).map(
    (row) => row.key_id,
  );

test('rewrap moves secrets to the current master key, so the former key can be removed', async () => {
  const [before] = await keyIds();
  fixture.environment['MASTER_KEY'] = `${current},${former}`;
  expect(await fixture.run(['credentials', 'rewrap'])).toMatchObject({
    code: 0,
    output: '2 secrets are under the current master key now.\n',
    complaint: '',
  });
  const keyIdsAfter = await keyIds();
  expect(keyIdsAfter).toHaveLength(1);
  expect(keyIdsAfter).not.toContain(before);
  // Repeated, as after an interruption: nothing is left to move.
  expect((await fixture.run(['credentials', 'rewrap'])).output).toContain('0 secrets');
  fixture.environment['MASTER_KEY'] = current;
  const doctorResult = await fixture.run(['doctor']);
  expect(doctorResult.output + doctorResult.complaint).not.toMatch(/cannot be read|unreadable/);
});

test('rewrap fails without a former key', async () => {
  fixture.environment['MASTER_KEY'] = current;
  const result = await fixture.run(['credentials', 'rewrap']);
  expect(result.code).not.toBe(0);
  expect(result.complaint).toContain('MASTER_KEY names no former key');
});

test('a command with a different master key changes nothing, and doctor reports the mismatch', async () => {
  const [before] = await keyIds();
  fixture.environment['MASTER_KEY'] = 'a-master-key-of-somebody-else-0123456';
  for (const args of [
    ['key', 'create', '--name', 'mine'],
    ['apply', fixture.file('gateway.yaml', 'version: 1'), '--yes'],
  ]) {
    const result = await fixture.run(args);
    expect([result.code, result.output]).toEqual([78, '']);
    expect(result.complaint).toMatch(
      /^MASTER_KEY cannot read 2 of 2 supplier credentials.*Give the command the secrets/,
    );
  }
  expect(await keyIds()).toEqual([before]);
  expect((await fixture.run(['doctor'])).output).toMatch(
    /^fail +stored secrets: MASTER_KEY cannot read 2 of 2/m,
  );
});
