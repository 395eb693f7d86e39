import { createHmac } from 'node:crypto';
import { CommandFixture } from './command-fixture';

const PEPPER = 'pepper-of-the-command-test-0123456789';
let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
  fixture.environment['KEY_PEPPER'] = PEPPER;
  await fixture.database.query("INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme')");
  await fixture.database.query(`
    INSERT INTO user_account (email, display_name, role, status, organisation_id)
    SELECT email, email, role, 'active', id FROM organisation,
      (VALUES ('owner@acme.example', 'platform_owner'), ('Ann@acme.example', 'user')) AS people (email, role)`);
  await fixture.apply(`version: 1
providers: { a: { style: sandbox, base_url: "https://a.example", regions: [eu, us] } }
models: { m: { lanes: [{ provider: a, model: m, region: eu }], price: { input: 1, output: 0 }, aliases: [short] } }
`);
});
afterAll(() => fixture.close());

interface CommandKeyRow {
  readonly [column: string]: unknown;
  readonly secret_hash: Buffer;
}
const rowOf = async (text: string): Promise<CommandKeyRow> => {
  const [row] = await fixture.database.query<CommandKeyRow>(
    'SELECT k.*, u.email, o.slug FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id ' +
      'LEFT JOIN organisation o ON o.id = k.organisation_id WHERE public_id = $1',
    [text.slice(4, 12)],
  );
  if (row === undefined) throw new Error('no such key');
  return row;
};
const matchesSecret = (row: CommandKeyRow, text: string): boolean =>
  row.secret_hash.equals(createHmac('sha256', PEPPER).update(text).digest());

test('key create sets every limit and prints only the key to standard output', async () => {
  const createResult = await fixture.run(
    'key create --name ci --user ann@acme.example --models short --regions eu,us --budget 20.5/daily --rpm 30 --tpm 5000 --parallel 3 --model-budget short=2/weekly --expires 2090-01-01'.split(
      ' ',
    ),
  );
  expect(createResult.code).toBe(0);
  expect(createResult.output).toMatch(/^svc_[0-9A-Za-z]{57}\n$/);
  const text = createResult.output.trim();
  const row = await rowOf(text);
  expect(matchesSecret(row, text)).toBe(true);
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
    fixture.database.query(
      `SELECT m.model, r.period, r.limit_nano FROM key_model m JOIN spending_rule r
          ON r.kind = 'key_model' AND r.owner_id = m.id AND r.limit_nano IS NOT NULL WHERE m.key_id = $1`,
      [row['id']],
    );
  expect(await budgets()).toEqual([{ model: 'm', period: 'weekly', limit_nano: '2000000000' }]);
  for (const [given, left] of [
    ['m=3/total', [{ model: 'm', period: 'total', limit_nano: '3000000000' }]],
    ['none', []],
  ] as const) {
    const changeResult = await fixture.run(['key', 'change', text.slice(4, 12), '--model-budget', given]);
    expect(changeResult.code).toBe(0);
    expect(await budgets()).toEqual(left);
  }
  const listResult = await fixture.run(['key', 'list', '--name', 'ci']);
  expect(listResult.output).toBe(
    `${text.slice(4, 12)}  active    "ci"  $0 of $20.5 daily  models m  regions eu,us  until 2090-01-01T00:00:00.000Z\n`,
  );
  expect(listResult.output + createResult.complaint).not.toContain(text);
});

test('a key belongs to the given organisation, or to the platform owner by default', async () => {
  const organisationKey = await fixture.run(['key', 'create', '--name', 'shared', '--organisation', 'acme']);
  expect(await rowOf(organisationKey.output)).toMatchObject({ slug: 'acme', user_id: null });
  const ownerKey = await fixture.run(['key', 'create', '--name', 'own']);
  expect(await rowOf(ownerKey.output)).toMatchObject({ email: 'owner@acme.example' });
});

// Issue: "key create --models x,auto is refused though the API takes it".
test('a key can be limited to named models and auto', async () => {
  const { code, output } = await fixture.run(['key', 'create', '--name', 'two', '--models', 'auto,short']);
  expect(code).toBe(0);
  expect(await rowOf(output)).toMatchObject({ allowed_models: ['m', 'auto'] });
  await fixture.run(['key', 'change', output.slice(4, 12), '--models', 'auto']);
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
  const refusal = await fixture.run(['key', 'create', ...words]);
  expect(refusal).toMatchObject({ code, output: '', complaint: expect.stringContaining(message) });
});

test('a revoked key is listed as revoked, revoking it again succeeds, and an unknown key fails', async () => {
  const { output } = await fixture.run(['key', 'create', '--name', 'doomed']);
  const id = output.slice(4, 12);
  expect(await fixture.run(['key', 'revoke', id])).toMatchObject({
    code: 0,
    output: `${id} is revoked.\n`,
    complaint: '',
  });
  expect(await fixture.run(['key', 'revoke', `svc_${id}…`])).toMatchObject({ code: 0 });
  expect((await fixture.run(['key', 'list', '--status', 'revoked'])).output).toContain(
    `${id}  revoked   "doomed"`,
  );
  expect(await fixture.run(['key', 'revoke', 'AAAAAAAA'])).toMatchObject({ code: 1 });
});

test('the root key is rotated, and the former key stays valid only for the grace period', async () => {
  const first = (await fixture.run(['root-key', 'rotate'])).output.trim();
  const second = (await fixture.run(['root-key', 'rotate', '--grace', '1h'])).output.trim();
  const row = await rowOf(second);
  expect(row).toMatchObject({ kind: 'root' });
  expect(matchesSecret(row, second)).toBe(true);
  expect(matchesSecret(row, first)).toBe(false);
  const remainingMs = (row['previous_until'] as Date).getTime() - Date.now();
  expect(remainingMs).toBeGreaterThan(3_500_000);
  expect(remainingMs).toBeLessThanOrEqual(3_600_000);
  expect(await fixture.run(['root-key', 'rotate', '--grace', 'soon'])).toMatchObject({ code: 64 });
});

describe('An existing key', () => {
  const createKey = async (name: string) =>
    (await fixture.run(['key', 'create', '--name', name, '--budget', '5/daily', '--rpm', '9'])).output.trim();

  test('changes only in the named fields', async () => {
    const text = await createKey('changing');
    const id = text.slice(4, 12);
    const changeResult = await fixture.run(
      `key change ${id} --name changed --status disabled --budget 7.5/monthly --models short --regions eu`.split(
        ' ',
      ),
    );
    expect(changeResult).toMatchObject({ code: 0, output: `${id} is changed.\n`, complaint: '' });
    expect(changeResult.installation).toMatch(/^Installation: PostgreSQL at 127\.0\.0\.1:\d+\/\w+\n$/);
    expect(await rowOf(text)).toMatchObject({
      name: 'changed',
      status: 'disabled',
      allowed_models: ['m'],
      allowed_regions: ['eu'],
      rate_limit_rpm: 9,
      expires_at: null,
    });
    expect((await fixture.run(['key', 'list', '--name', 'changed'])).output).toContain('$0 of $7.5 monthly');
    const resetArgs = 'key change ID --budget none --rpm none --models none --regions none --status active';
    expect((await fixture.run(resetArgs.replace('ID', text).split(' '))).code).toBe(0);
    expect(await rowOf(text)).toMatchObject({ status: 'active', allowed_models: null, rate_limit_rpm: null });
    expect((await fixture.run(['key', 'list', '--name', 'changed'])).output).not.toContain('monthly');
  });

  test('gets a new secret and keeps the former one for the grace period', async () => {
    const text = await createKey('rotating');
    const rotateResult = await fixture.run(['key', 'rotate', text.slice(4, 12), '--grace', '1h']);
    const nextSecret = rotateResult.output.trim();
    expect([nextSecret.slice(0, 12), nextSecret === text]).toEqual([text.slice(0, 12), false]);
    expect(rotateResult.complaint).toMatch(/the old one works until \d{4}-/);
    const row = await rowOf(text);
    expect([matchesSecret(row, nextSecret), row['previous_until'] instanceof Date]).toEqual([true, true]);
  });

  test('has an audit history', async () => {
    const text = await createKey('audited');
    const { id } = (await rowOf(text)) as unknown as { id: number };
    await fixture.database.query(
      `INSERT INTO request_record (request_id, created_at, key_id, surface, model, status, usage_source, input_tokens,
         output_tokens, cost_nano, stream, failover, latency_ms)
       VALUES (gen_random_uuid(), now(), $1, 'chat', 'm', 200, 'supplier', 7, 2, 1500, false, false, 5)`,
      [id],
    );
    const auditTable = (await fixture.run(['key', 'audit', text.slice(4, 12)])).output.split('\r\n');
    expect(auditTable[0]).toMatch(/^timestamp,key_id,model/);
    expect(auditTable[1]).toContain(`${text.slice(4, 12)},m`);
    const line = (await fixture.run(['key', 'audit', text.slice(4, 12), '--format', 'json'])).output;
    expect(JSON.parse(line)).toMatchObject({
      model: 'm',
      input_tokens: 7,
      output_tokens: 2,
      cost_usd: 0.0000015,
    });
    expect((await fixture.run(['key', 'audit', text.slice(4, 12), '--model', 'other'])).output).toBe(
      `${auditTable[0]}\r\n`,
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
  ])('key %j is refused', async (words, code, complaint) => {
    const result = await fixture.run(['key', ...words]);
    expect([result.code, result.output]).toEqual([code, '']);
    expect(result.complaint).toContain(complaint);
  });
});

test('key create without an owner before the first start explains what to do', async () => {
  const emptyFixture = await CommandFixture.open();
  try {
    const { code, complaint } = await emptyFixture.run(['key', 'create', '--name', 'x']);
    expect(code).toBe(1);
    expect(complaint).toContain('Start the service once (npm start)');
  } finally {
    await emptyFixture.close();
  }
});
