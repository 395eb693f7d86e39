import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
});
afterAll(() => fixture.close());

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const WEBHOOK_URL = 'https://hooks.example/services/secret-path';

const run = (words: string[], environment: Record<string, string> = {}) => {
  for (const name of ['ALERT_CHANNEL_URL', 'ALERT_CHANNEL_KEY']) delete fixture.environment[name];
  Object.assign(fixture.environment, environment);
  return fixture.run(words);
};

// "alert channels cannot be set by file or command".
test('commands add, list and remove platform channels without showing secrets', async () => {
  expect((await run(['alert-channel:list'])).output).toBe('1  mail  Mail  from urgent\n');
  const webhook = ['alert-channel:add', 'webhook', '--name', 'Paging', '--severity', 'urgent'];
  const addResult = await run(webhook, { ALERT_CHANNEL_URL: WEBHOOK_URL, ALERT_CHANNEL_KEY: SECRET });
  expect([addResult.code, addResult.complaint]).toEqual([0, '']);
  const [, id = ''] = /^Channel (\d+) was added\.\n$/.exec(addResult.output) ?? [];
  await run(['alert-channel:add', 'mail', '--name', 'Owners', '--audience', 'owners', '--language', 'de']);

  const { output } = await run(['alert-channel:list']);
  expect(output).toContain(`${id}  webhook  Paging  hooks.example  from urgent\n`);
  expect(output).toContain('mail  Owners  from warning\n');
  expect(output).not.toContain('secret-path');
  const [row] = await fixture.database.query<{ stored: string }>(
    'SELECT alert_channel::text AS stored FROM alert_channel WHERE id = $1',
    [id],
  );
  expect(row?.stored).not.toMatch(/secret-path|whsec_/);

  expect((await run(['alert-channel:remove', id])).output).toBe(`Channel ${id} was removed.\n`);
  expect((await run(['alert-channel:list'])).output).not.toContain('Paging');
  expect(await run(['alert-channel:remove', id])).toMatchObject({ code: 1, output: '' });
});

test.each([
  [['fax', '--name', 'x'], {}, 64, 'The kind is one of'],
  [['mail'], {}, 64, '--name takes 1 to 100 characters'],
  [['mail', '--name', 'x', '--severity', 'loud'], {}, 64, '--severity is one of'],
  [['slack', '--name', 'x'], {}, 1, 'url is missing'],
  [['webhook', '--name', 'x'], { ALERT_CHANNEL_URL: WEBHOOK_URL }, 1, 'key is missing'],
  [
    ['slack', '--name', 'x'],
    { ALERT_CHANNEL_URL: 'http://127.0.0.1:9/x' },
    1,
    'an address that may be sent to',
  ],
  [['webhook', '--name', 'x'], { ALERT_CHANNEL_URL: WEBHOOK_URL, ALERT_CHANNEL_KEY: 'short' }, 1, 'whsec_'],
])(
  'alert-channel:add %j with %j exits with %i and prints the error',
  async (words, environment, code, text) => {
    const refusal = await run(['alert-channel:add', ...words], environment);
    expect([refusal.code, refusal.output]).toEqual([code, '']);
    expect(refusal.complaint).toContain(text);
    expect(refusal.complaint).not.toContain('secret-path');
  },
);
