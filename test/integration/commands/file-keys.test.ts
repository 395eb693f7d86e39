import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
  await fixture.database.query(
    "INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme'), ('Bolt', 'bolt')",
  );
  await fixture.database.query(
    "INSERT INTO department (organisation_id, name) SELECT id, 'Research' FROM organisation WHERE slug = 'acme'",
  );
  await fixture.database.query(
    `INSERT INTO user_account (email, display_name, role, organisation_id)
     SELECT 'anna@acme.example', 'Anna', 'user', id FROM organisation WHERE slug = 'acme'`,
  );
  await fixture.database.query(
    `INSERT INTO project (organisation_id, name, created_by)
     SELECT o.id, p.name, u.id FROM organisation o, user_account u, (VALUES ('Twin'), ('Twin'), ('Only')) p (name)
      WHERE o.slug = 'acme'`,
  );
  expect((await fixture.apply(fileWith(''))).code).toBe(0);
});
afterAll(() => fixture.close());

const CATALOGUE = `version: 1
providers:
  a: { style: openai-style, base_url: "https://a.example/v1", regions: [eu], settings: { anonymous: true } }
models:
  writer:
    aliases: [pen]
    lanes: [{ provider: a, model: up, region: eu }]
    price: { input: 1, output: 2 }
`;
const fileWith = (keys: string): string => `${CATALOGUE}${keys}`;

const FULL = `keys:
  reports:
    name: Monthly reports
    user: Anna@acme.example
    allowed_models: [pen]
    allowed_regions: [eu]
    budget_limit: 20.000000001
    budget_period: weekly
    model_budgets: [{ model: pen, limit: 5, period: total }]
    rate_limit_rpm: 120
    rate_limit_tpm: 200_000
    max_parallel: 4
    answer_model: supplier
    continue_streams: off
    metadata: { team: finance }
    expires_at: 2090-01-01
`;

interface KeyRecord extends Readonly<Record<string, unknown>> {
  readonly id: number;
  readonly public_id: string;
  readonly status: string;
}
const keyNamed = async (name: string): Promise<KeyRecord | undefined> =>
  (await fixture.database.query<KeyRecord>('SELECT * FROM api_key WHERE file_name = $1', [name]))[0];
const entries = (action: string): Promise<KeyRecord[]> =>
  fixture.database.query<KeyRecord>('SELECT * FROM activity WHERE action = $1 ORDER BY id', [action]);
const printedKey = (output: string, name: string): string =>
  new RegExp(`^${name}: (svc_\\w+)$`, 'm').exec(output)?.[1] ?? '';

test('a plan lists a key without creating it, and apply creates it with every limit and prints it once', async () => {
  const plan = await fixture.run(['plan', fixture.file('gateway.yaml', fileWith(FULL))]);
  expect(plan.output).toBe(`+ key reports
    owner: Anna@acme.example, name: Monthly reports, allowed_models: writer, allowed_regions: eu
    budget: $20.000000001 weekly, budget of writer: $5 total, rate_limit_rpm: 120, rate_limit_tpm: 200000
    max_parallel: 4, answer_model: supplier, continue_streams: off, metadata.team: finance
    expires_at: 2090-01-01T00:00:00.000Z
1 new, 0 changed.
`);
  expect(await keyNamed('reports')).toBeUndefined();

  const applyResult = await fixture.apply(fileWith(FULL));
  expect(applyResult).toMatchObject({ code: 0, complaint: '' });
  const text = printedKey(applyResult.output, 'reports');
  const row = await keyNamed('reports');
  expect(text.slice(4, 12)).toBe(row?.public_id);
  expect(row).toMatchObject({
    name: 'Monthly reports',
    kind: 'client',
    created_by: 'command line',
    allowed_models: ['writer'],
    allowed_regions: ['eu'],
    rate_limit_rpm: 120,
    rate_limit_tpm: 200_000,
    max_parallel: 4,
    answer_model: 'supplier',
    continue_streams: 'off',
    metadata: { team: 'finance' },
    expires_at: new Date('2090-01-01T00:00:00Z'),
  });
  const listed = await fixture.run(['key', 'list', '--name', 'monthly']);
  expect(listed.output).toContain('$0 of $20.000000001 weekly');
  const secondApply = await fixture.apply(fileWith(FULL));
  expect(secondApply).toMatchObject({ code: 0, output: 'Nothing to do.\n' });
  const createdEntry = (await entries('key.created')).at(-1);
  expect(createdEntry).toMatchObject({ actor_label: 'command line', object_id: String(row?.id) });
  expect(JSON.stringify(createdEntry)).not.toContain(text);
});

test('a change keeps the secret and is listed in the plan and the activity log', async () => {
  const keyBefore = await keyNamed('reports');
  const changedKeys = FULL.replace('rate_limit_rpm: 120', 'rate_limit_rpm: 90')
    .replace('    max_parallel: 4\n', '')
    .replace('limit: 5', 'limit: 6')
    .replace('budget_period: weekly', 'budget_period: daily');
  const { output } = await fixture.apply(fileWith(changedKeys));
  expect(output).toBe(`~ key reports
    budget: $20.000000001 weekly → $20.000000001 daily
    budget of writer: $5 total → $6 total
    rate_limit_rpm: 120 → 90
    max_parallel: 4 → none
0 new, 1 changed.
Applied.
`);
  const keyAfter = await keyNamed('reports');
  expect(keyAfter?.['secret_hash']).toEqual(keyBefore?.['secret_hash']);
  expect((await entries('key.changed')).at(-1)).toMatchObject({
    actor_kind: 'system',
    changes: {
      budget_period: ['weekly', 'daily'],
      rate_limit_rpm: [120, 90],
      max_parallel: [4, null],
      model_budgets: [['writer = 5 total'], ['writer = 6 total']],
    },
  });
});

test('only a file that manages keys revokes missing ones, with --prune, and frees their names', async () => {
  const { id: number, public_id: id } = (await keyNamed('reports'))!;
  const statusOf = async (): Promise<unknown> =>
    (await fixture.database.query<KeyRecord>('SELECT status FROM api_key WHERE public_id = $1', [id]))[0]
      ?.status;
  expect((await fixture.apply(fileWith(''), '--prune')).output).toBe('Nothing to do.\n');
  expect(await statusOf()).toBe('active');
  const managingFile = fileWith('manages_keys: true\n');
  expect((await fixture.apply(managingFile)).output).toContain(
    'kept as it is (--prune puts it away):\n- key reports',
  );
  expect(await statusOf()).toBe('active');
  expect((await fixture.apply(managingFile, '--prune')).output).toContain('status: active → revoked');
  expect(await statusOf()).toBe('revoked');
  expect((await entries('key.revoked')).at(-1)).toMatchObject({ object_id: String(number) });
  expect((await fixture.apply(managingFile, '--prune')).output).toBe('Nothing to do.\n');
  const recreated = await fixture.apply(fileWith('keys: { reports: { organisation: acme } }\n'));
  expect(printedKey(recreated.output, 'reports').slice(4, 12)).not.toBe(id);
});

test('a manually revoked key is not created again, and the plan reports it', async () => {
  const file = fileWith('keys: { doomed: { organisation: acme } }\n');
  const text = printedKey((await fixture.apply(file)).output, 'doomed');
  await fixture.run(['key', 'revoke', text]);
  const secondApply = await fixture.apply(file);
  expect(secondApply.output).toBe(
    '! key doomed was revoked and is not made again: take it out, or give the new one another name\nNothing to do.\n',
  );
});

test('secrets are written to a new file with mode 0600, and an existing file is refused first', async () => {
  const path = join(fixture.folder, 'secrets.yaml');
  const file = fileWith('keys: { batch: { organisation: acme, department: Research } }\n');
  const applyResult = await fixture.apply(file, '--secrets', path);
  expect(applyResult.output).toContain(`New keys are in ${path}.`);
  expect(applyResult.output).not.toContain('svc_');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(printedKey(readFileSync(path, 'utf8'), 'batch').slice(4, 12)).toBe(
    (await keyNamed('batch'))?.public_id,
  );
  const fileWithMore = fileWith('keys: { more: { organisation: acme } }\n');
  expect(await fixture.apply(fileWithMore, '--secrets', path)).toMatchObject({ code: 64 });
  expect(await keyNamed('more')).toBeUndefined();
  const unusedPath = join(fixture.folder, 'unused.yaml');
  expect((await fixture.apply(file, '--secrets', unusedPath)).output).toBe('Nothing to do.\n');
  expect(existsSync(unusedPath)).toBe(false);
});

test('an omitted status stays unchanged, and no file resumes a key that an administrator paused', async () => {
  const file = (status: string): string => fileWith(`keys: { paused: { organisation: acme${status} } }\n`);
  await fixture.apply(file(''));
  const { public_id: id } = (await keyNamed('paused'))!;
  await fixture.run(['key', 'change', id, '--status', 'disabled']);
  expect((await fixture.apply(file(''))).output).toBe('Nothing to do.\n');
  await fixture.database.query(
    `UPDATE api_key SET paused_at = now(), paused_by = (SELECT min(id) FROM user_account) WHERE public_id = $1`,
    [id],
  );
  expect((await fixture.apply(file(', status: active'))).output).toBe(
    '! key paused was paused by an administrator: it is resumed on its page\nNothing to do.\n',
  );
  await fixture.database.query('UPDATE api_key SET paused_at = NULL, paused_by = NULL WHERE public_id = $1', [
    id,
  ]);
  expect((await fixture.apply(file(', status: active'))).output).toContain('status: disabled → active');
});

test('every error of every key is reported with its line, and nothing is created', async () => {
  const { code, complaint } = await fixture.apply(
    fileWith(`keys:
  Loud: { organisation: acme }
  lost: { organisation: acmee }
  nobody: { user: nobody@acme.example }
  unowned: {}
  far: { department: Research }
  twin: { project: Twin }
  two: { organisation: acme, department: Research, project: Only }
  limits:
    organisation: acme
    budget_limit: -1
    rate_limit_rpm: 1_000_001
    max_parallel: 0
    allowed_models: [nothing]
    model_budgets: [{ model: pen, limit: 1, period: yearly }]
    expires_at: 2001-01-01
    rate_limit: 5
  half: { organisation: acme, budget_period: daily }
  strange: { id: AAAAAAAA, organisation: acme }
  reports: { organisation: bolt }
  fine: { organisation: acme }
`),
  );
  expect(code).toBe(1);
  for (const line of [
    ':10  keys.Loud: expected a name of at most 63 small letters',
    ':11  keys.lost.organisation: there is no organisation "acmee"',
    ':12  keys.nobody.user: there is no user "nobody@acme.example"',
    ':13  keys.unowned: says not whose it is',
    ':14  keys.far.department: its organisation is missing',
    ':15  keys.twin.project: there are several called project "Twin"',
    ':16  keys.two.project: a key is of a department or of a project',
    ':19  keys.limits.budget_limit: budget_limit must be an amount',
    ':20  keys.limits.rate_limit_rpm: rate_limit_rpm must be a whole number from 1 to 1,000,000',
    ':21  keys.limits.max_parallel: expected a whole number from 1',
    ':22  keys.limits.allowed_models: allowed_models.0 must be the id or an alias',
    ':23  keys.limits.model_budgets: model_budgets.0.period must be one of daily',
    ':24  keys.limits.expires_at: expires_at must be in the future',
    ':25  keys.limits.rate_limit: is not known here; did you mean "rate_limit_rpm"?',
    ':26  keys.half: budget_limit must be given together with budget_period',
    ':27  keys.strange.id: there is no key "AAAAAAAA"',
    ':28  keys.reports: has another owner',
  ])
    expect(complaint).toContain(line);
  expect(complaint).toContain('has 17 faults');
  expect(await keyNamed('fine')).toBeUndefined();
});

test('an expiry date that has passed since the first apply is not an error', async () => {
  const file = fileWith('keys: { ended: { organisation: acme, expires_at: 2090-06-01T12:00:00Z } }\n');
  await fixture.apply(file);
  await fixture.database.query(
    "UPDATE api_key SET expires_at = '2020-06-01T12:00:00Z' WHERE file_name = 'ended'",
  );
  const applyResult = await fixture.apply(file.replace('2090', '2020'));
  expect(applyResult).toMatchObject({ code: 0, output: 'Nothing to do.\n' });
});

test('an export lists every key without its secret, and applying it changes only the management of the keys', async () => {
  await fixture.run(['key', 'create', '--name', 'By hand', '--organisation', 'bolt', '--tpm', '5000']);
  await fixture.database.query(
    `INSERT INTO api_key (public_id, secret_hash, name, user_id, department_id, project_id, created_by)
     SELECT 'WithAll1', '\\x00', 'With all', u.id, d.id, (SELECT id FROM project WHERE name = 'Only'), 'test'
       FROM user_account u, department d`,
  );
  const exportResult = await fixture.run(['export']);
  expect(exportResult.code).toBe(0);
  expect(exportResult.output).not.toMatch(/svc_/);
  expect(exportResult.output).toContain('  by-hand:\n    id: ');
  expect(exportResult.output).not.toContain('doomed');
  const firstApply = await fixture.apply(exportResult.output);
  expect(firstApply).toMatchObject({ code: 0, complaint: '' });
  expect(firstApply.output).toContain('~ key by-hand\n    kept as: none → by-hand\n');
  expect(firstApply.output).not.toMatch(/budget|rate_limit|metadata|owner/);
  expect((await fixture.apply(exportResult.output)).output).toMatch(/Nothing to do\.\n$/);
  const secondExport = await fixture.run(['export']);
  expect((await fixture.apply(secondExport.output)).output).toMatch(/Nothing to do\.\n$/);
});

test('an export restores exactly the limits that a key was given', async () => {
  const money = fc
    .bigInt({ min: 0n, max: 10n ** 15n })
    .map((nano) => `${nano / 10n ** 9n}.${String(nano % 10n ** 9n).padStart(9, '0')}`);
  const period = fc.constantFrom('daily', 'weekly', 'monthly', 'rolling', 'total');
  const limits = fc.record(
    {
      budget: fc.tuple(money, period),
      rate_limit_rpm: fc.integer({ min: 1, max: 1_000_000 }),
      rate_limit_tpm: fc.integer({ min: 1, max: 1_000_000_000 }),
      max_parallel: fc.integer({ min: 1, max: 10_000 }),
      answer_model: fc.constantFrom('caller', 'supplier'),
      continue_streams: fc.constantFrom('on', 'off'),
      model: fc.tuple(money, period),
      label: fc
        .string({ minLength: 1, maxLength: 40 })
        .filter((text) => !text.includes('\0') && text.isWellFormed()),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(limits, async ({ budget, model, label, ...counts }) => {
      const fields = {
        organisation: 'acme',
        ...counts,
        ...(budget && { budget_limit: budget[0], budget_period: budget[1] }),
        ...(model && { model_budgets: [{ model: 'pen', limit: model[0], period: model[1] }] }),
        ...(label !== undefined && { metadata: { label: label.replaceAll('${', '$${') } }),
      };
      await fixture.apply(fileWith(`keys: ${JSON.stringify({ any: fields })}\n`));
      const text = (await fixture.run(['export'])).output;
      const secondApply = await fixture.apply(text);
      expect(secondApply).toMatchObject({ code: 0, complaint: '' });
      expect(secondApply.output).not.toContain('key any');
    }),
    { numRuns: 12 },
  );
});
