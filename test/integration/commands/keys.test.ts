import { createHmac } from 'node:crypto';
import { CommandHouse } from './command-house';

const PEPPER = 'pepper-of-the-command-test-0123456789';
let house: CommandHouse;
beforeAll(async () => {
  house = await CommandHouse.open();
  house.environment['KEY_PEPPER'] = PEPPER;
  await house.database.query("INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme')");
  await house.database.query(`
    INSERT INTO user_account (email, display_name, role, status, organisation_id)
    SELECT email, email, role, 'active', id FROM organisation,
      (VALUES ('owner@acme.example', 'platform_owner'), ('Ann@acme.example', 'user')) AS people (email, role)`);
  await house.apply(`version: 1
providers: { a: { style: sandbox, base_url: "https://a.example", regions: [eu, us] } }
models: { m: { lanes: [{ provider: a, model: m, region: eu }], price: { input: 1, output: 0 }, aliases: [short] } }
`);
});
afterAll(() => house.close());

interface KeyRow {
  readonly [column: string]: unknown;
  readonly secret_hash: Buffer;
}
const rowOf = async (text: string): Promise<KeyRow> => {
  const [row] = await house.database.query<KeyRow>(
    'SELECT k.*, u.email, o.slug FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id ' +
      'LEFT JOIN organisation o ON o.id = k.organisation_id WHERE public_id = $1',
    [text.slice(4, 12)],
  );
  if (row === undefined) throw new Error('no such key');
  return row;
};
const opens = (row: KeyRow, text: string): boolean =>
  row.secret_hash.equals(createHmac('sha256', PEPPER).update(text).digest());

test('a key is made with every limit, and only the key goes to standard output', async () => {
  const made = await house.run(
    'key create --name ci --user ann@acme.example --models short --regions eu,us --budget 20.5/daily --rpm 30 --tpm 5000 --parallel 3 --model-budget short=2/weekly --expires 2090-01-01'.split(
      ' ',
    ),
  );
  expect(made.code).toBe(0);
  expect(made.output).toMatch(/^svc_[0-9A-Za-z]{57}\n$/);
  const text = made.output.trim();
  const row = await rowOf(text);
  expect(opens(row, text)).toBe(true);
  expect(row).toMatchObject({
    name: 'ci',
    kind: 'client',
    email: 'Ann@acme.example',
    allowed_models: ['m'],
    allowed_regions: ['eu', 'us'],
    rate_limit_rpm: 30,
    rate_limit_tpm: 5_000,
    max_parallel: 3,
    expires_at: new Date('2090-01-01T00:00:00Z'),
    created_by: 'command line',
  });
  const budgets = () =>
    house.database.query(
      `SELECT m.model, r.period, r.limit_nano FROM key_model m JOIN spending_rule r
          ON r.kind = 'key_model' AND r.owner_id = m.id AND r.limit_nano IS NOT NULL WHERE m.key_id = $1`,
      [row['id']],
    );
  expect(await budgets()).toEqual([{ model: 'm', period: 'weekly', limit_nano: '2000000000' }]);
  for (const [given, left] of [
    ['m=3/total', [{ model: 'm', period: 'total', limit_nano: '3000000000' }]],
    ['none', []],
  ] as const) {
    const changed = await house.run(['key', 'change', text.slice(4, 12), '--model-budget', given]);
    expect(changed.code).toBe(0);
    expect(await budgets()).toEqual(left);
  }
  const listed = await house.run(['key', 'list', '--name', 'ci']);
  expect(listed.output).toBe(
    `${text.slice(4, 12)}  active    "ci"  $0 of $20.5 daily  models m  regions eu,us  until 2090-01-01T00:00:00.000Z\n`,
  );
  expect(listed.output + made.complaint).not.toContain(text);
});

test('a key belongs to an organisation, or without a word to the platform owner', async () => {
  const theirs = await house.run(['key', 'create', '--name', 'shared', '--organisation', 'acme']);
  expect(await rowOf(theirs.output)).toMatchObject({ slug: 'acme', user_id: null });
  const own = await house.run(['key', 'create', '--name', 'own']);
  expect(await rowOf(own.output)).toMatchObject({ email: 'owner@acme.example' });
});

// Issue: "key create --models x,auto is refused though the API takes it".
test('a key can be limited to named models and auto', async () => {
  const { code, output } = await house.run(['key', 'create', '--name', 'two', '--models', 'auto,short']);
  expect(code).toBe(0);
  expect(await rowOf(output)).toMatchObject({ allowed_models: ['m', 'auto'] });
  await house.run(['key', 'change', output.slice(4, 12), '--models', 'auto']);
  expect(await rowOf(output)).toMatchObject({ allowed_models: ['auto'] });
});

test.each([
  [['--name', 'x', '--model-budget', 'auto=1/daily'], 1, 'There is no model called "auto".'],
  [['--name', 'x', '--budget', '20/yearly'], 64, '--budget takes dollars and a period'],
  [['--name', 'x', '--rpm', '0'], 64, '--rpm takes a whole number above zero'],
  [['--name', 'x', '--expires', '2001-01-01'], 64, '--expires lies in the past'],
  [['--name', 'x', '--user', 'a', '--project', '1'], 64, 'A key has one owner'],
  [['--nmae', 'x'], 64, "Unknown option '--nmae'"],
  [[], 64, '--name is missing'],
  [['--name', 'x', '--models', 'nothing'], 1, 'There is no model called "nothing".'],
  [
    ['--name', 'x', '--regions', 'mars'],
    1,
    'Unknown region "mars" in allowed_regions. Known regions: eu, us.',
  ],
  [['--name', 'x', '--user', 'nobody@acme.example'], 1, 'There is no user "nobody@acme.example".'],
  [['--name', 'x', '--organisation', 'none'], 1, 'There is no organisation "none".'],
  [['--name', 'x', '--project', '4711'], 1, 'There is no project with this id.'],
])('key create %j is refused', async (words, code, message) => {
  const refused = await house.run(['key', 'create', ...words]);
  expect(refused).toMatchObject({ code, output: '', complaint: expect.stringContaining(message) });
});

test('a revoked key is listed as such; revoking it again is no fault, an unknown one is', async () => {
  const { output } = await house.run(['key', 'create', '--name', 'doomed']);
  const id = output.slice(4, 12);
  expect(await house.run(['key', 'revoke', id])).toMatchObject({
    code: 0,
    output: `${id} is revoked.\n`,
    complaint: '',
  });
  expect(await house.run(['key', 'revoke', `svc_${id}…`])).toMatchObject({ code: 0 });
  expect((await house.run(['key', 'list', '--status', 'revoked'])).output).toContain(
    `${id}  revoked   "doomed"`,
  );
  expect(await house.run(['key', 'revoke', 'AAAAAAAA'])).toMatchObject({ code: 1 });
});

test('the root key is rotated; the old one lives on for the grace only', async () => {
  const first = (await house.run(['root-key', 'rotate'])).output.trim();
  const second = (await house.run(['root-key', 'rotate', '--grace', '1h'])).output.trim();
  const row = await rowOf(second);
  expect(row).toMatchObject({ kind: 'root' });
  expect(opens(row, second)).toBe(true);
  expect(opens(row, first)).toBe(false);
  const left = (row['previous_until'] as Date).getTime() - Date.now();
  expect(left).toBeGreaterThan(3_500_000);
  expect(left).toBeLessThanOrEqual(3_600_000);
  expect(await house.run(['root-key', 'rotate', '--grace', 'soon'])).toMatchObject({ code: 64 });
});

describe('a key that is there', () => {
  const made = async (name: string) =>
    (await house.run(['key', 'create', '--name', name, '--budget', '5/daily', '--rpm', '9'])).output.trim();

  test('is changed in what is named, and in nothing else', async () => {
    const text = await made('changing');
    const id = text.slice(4, 12);
    const changed = await house.run(
      `key change ${id} --name changed --status disabled --budget 7.5/monthly --models short --regions eu`.split(
        ' ',
      ),
    );
    expect(changed).toMatchObject({ code: 0, output: `${id} is changed.\n`, complaint: '' });
    expect(changed.installation).toMatch(/^Installation: PostgreSQL at 127\.0\.0\.1:\d+\/\w+\n$/);
    expect(await rowOf(text)).toMatchObject({
      name: 'changed',
      status: 'disabled',
      allowed_models: ['m'],
      allowed_regions: ['eu'],
      rate_limit_rpm: 9,
      expires_at: null,
    });
    expect((await house.run(['key', 'list', '--name', 'changed'])).output).toContain('$0 of $7.5 monthly');
    const freed = 'key change ID --budget none --rpm none --models none --regions none --status active';
    expect((await house.run(freed.replace('ID', text).split(' '))).code).toBe(0);
    expect(await rowOf(text)).toMatchObject({ status: 'active', allowed_models: null, rate_limit_rpm: null });
    expect((await house.run(['key', 'list', '--name', 'changed'])).output).not.toContain('monthly');
  });

  test('gets a new secret, and keeps the old one for the grace', async () => {
    const text = await made('rotating');
    const rotated = await house.run(['key', 'rotate', text.slice(4, 12), '--grace', '1h']);
    const next = rotated.output.trim();
    expect([next.slice(0, 12), next === text]).toEqual([text.slice(0, 12), false]);
    expect(rotated.complaint).toMatch(/the old one works until \d{4}-/);
    const row = await rowOf(text);
    expect([opens(row, next), row['previous_until'] instanceof Date]).toEqual([true, true]);
  });

  test('shows what was done with it', async () => {
    const text = await made('audited');
    const { id } = (await rowOf(text)) as unknown as { id: number };
    await house.database.query(
      `INSERT INTO request_record (request_id, created_at, key_id, surface, model, status, usage_source, input_tokens,
         output_tokens, cost_nano, stream, failover, latency_ms)
       VALUES (gen_random_uuid(), now(), $1, 'chat', 'm', 200, 'supplier', 7, 2, 1500, false, false, 5)`,
      [id],
    );
    const table = (await house.run(['key', 'audit', text.slice(4, 12)])).output.split('\r\n');
    expect(table[0]).toMatch(/^timestamp,key_id,model/);
    expect(table[1]).toContain(`${text.slice(4, 12)},m`);
    const line = (await house.run(['key', 'audit', text.slice(4, 12), '--format', 'json'])).output;
    expect(JSON.parse(line)).toMatchObject({
      model: 'm',
      input_tokens: 7,
      output_tokens: 2,
      cost_usd: 0.0000015,
    });
    expect((await house.run(['key', 'audit', text.slice(4, 12), '--model', 'other'])).output).toBe(
      `${table[0]}\r\n`,
    );
  });

  test.each([
    [['change', 'x'], 64, 'Name at least one thing to change.'],
    [['change', '--rpm', '9'], 64, 'Name the id of one key.'],
    [['change', 'nothing1', '--rpm', '9'], 1, 'There is no key with this id.'],
    [['change', 'x', '--status', 'revoked'], 64, '"key revoke" ends a key for good'],
    [['rotate', 'nothing1'], 1, 'There is no key with this id.'],
    [['rotate', 'x', '--grace', 'soon'], 64, '--grace takes a duration'],
    [['audit', 'nothing1'], 1, 'There is no key with this id.'],
    [['audit', 'x', '--format', 'xml'], 64, '--format takes csv or json'],
  ])('%j is refused', async (words, code, complaint) => {
    const spoken = await house.run(['key', ...words]);
    expect([spoken.code, spoken.output]).toEqual([code, '']);
    expect(spoken.complaint).toContain(complaint);
  });
});

test('before the first start a key without an owner says what to do', async () => {
  const fresh = await CommandHouse.open();
  try {
    const { code, complaint } = await fresh.run(['key', 'create', '--name', 'x']);
    expect(code).toBe(1);
    expect(complaint).toContain('Start the service once (npm start)');
  } finally {
    await fresh.close();
  }
});
