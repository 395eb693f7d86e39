import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { CommandHouse } from './command-house';

let house: CommandHouse;
beforeAll(async () => {
  house = await CommandHouse.open();
  await house.database.query(
    "INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme'), ('Bolt', 'bolt')",
  );
  await house.database.query(
    "INSERT INTO department (organisation_id, name) SELECT id, 'Research' FROM organisation WHERE slug = 'acme'",
  );
  await house.database.query(
    `INSERT INTO user_account (email, display_name, role, organisation_id)
     SELECT 'anna@acme.example', 'Anna', 'user', id FROM organisation WHERE slug = 'acme'`,
  );
  await house.database.query(
    `INSERT INTO project (organisation_id, name, created_by)
     SELECT o.id, p.name, u.id FROM organisation o, user_account u, (VALUES ('Twin'), ('Twin'), ('Only')) p (name)
      WHERE o.slug = 'acme'`,
  );
  expect((await house.apply(fileWith(''))).code).toBe(0);
});
afterAll(() => house.close());

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

interface Row extends Readonly<Record<string, unknown>> {
  readonly id: number;
  readonly public_id: string;
  readonly status: string;
}
const keyNamed = async (name: string): Promise<Row | undefined> =>
  (await house.database.query<Row>('SELECT * FROM api_key WHERE file_name = $1', [name]))[0];
const entries = (action: string): Promise<Row[]> =>
  house.database.query<Row>('SELECT * FROM activity WHERE action = $1 ORDER BY id', [action]);
const keyIn = (output: string, name: string): string =>
  new RegExp(`^${name}: (svc_\\w+)$`, 'm').exec(output)?.[1] ?? '';

test('a plan shows a key and makes none; applying makes it with every limit and prints it this once', async () => {
  const plan = await house.run(['plan', house.file('gateway.yaml', fileWith(FULL))]);
  expect(plan.output).toBe(`+ key reports
    owner: Anna@acme.example, name: Monthly reports, allowed_models: writer, allowed_regions: eu
    budget: $20.000000001 weekly, budget of writer: $5 total, rate_limit_rpm: 120, rate_limit_tpm: 200000
    max_parallel: 4, answer_model: supplier, continue_streams: off, metadata.team: finance
    expires_at: 2090-01-01T00:00:00.000Z
1 new, 0 changed.
`);
  expect(await keyNamed('reports')).toBeUndefined();

  const applied = await house.apply(fileWith(FULL));
  expect(applied).toMatchObject({ code: 0, complaint: '' });
  const text = keyIn(applied.output, 'reports');
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
  const listed = await house.run(['key', 'list', '--name', 'monthly']);
  expect(listed.output).toContain('$0 of $20.000000001 weekly');
  const again = await house.apply(fileWith(FULL));
  expect(again).toMatchObject({ code: 0, output: 'Nothing to do.\n' });
  const created = (await entries('key.created')).at(-1);
  expect(created).toMatchObject({ actor_label: 'command line', object_id: String(row?.id) });
  expect(JSON.stringify(created)).not.toContain(text);
});

test('a change keeps the secret and says what it changes, in the plan and in the activity log', async () => {
  const before = await keyNamed('reports');
  const changed = FULL.replace('rate_limit_rpm: 120', 'rate_limit_rpm: 90')
    .replace('    max_parallel: 4\n', '')
    .replace('limit: 5', 'limit: 6')
    .replace('budget_period: weekly', 'budget_period: daily');
  const { output } = await house.apply(fileWith(changed));
  expect(output).toBe(`~ key reports
    budget: $20.000000001 weekly → $20.000000001 daily
    budget of writer: $5 total → $6 total
    rate_limit_rpm: 120 → 90
    max_parallel: 4 → none
0 new, 1 changed.
Applied.
`);
  const after = await keyNamed('reports');
  expect(after?.['secret_hash']).toEqual(before?.['secret_hash']);
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

test('nothing is revoked by omission; a file that manages keys revokes with --prune, and frees the name', async () => {
  const { id: number, public_id: id } = (await keyNamed('reports'))!;
  const statusOf = async (): Promise<unknown> =>
    (await house.database.query<Row>('SELECT status FROM api_key WHERE public_id = $1', [id]))[0]?.status;
  expect((await house.apply(fileWith(''), '--prune')).output).toBe('Nothing to do.\n');
  expect(await statusOf()).toBe('active');
  const managing = fileWith('manages_keys: true\n');
  expect((await house.apply(managing)).output).toContain(
    'kept as it is (--prune puts it away):\n- key reports',
  );
  expect(await statusOf()).toBe('active');
  expect((await house.apply(managing, '--prune')).output).toContain('status: active → revoked');
  expect(await statusOf()).toBe('revoked');
  expect((await entries('key.revoked')).at(-1)).toMatchObject({ object_id: String(number) });
  expect((await house.apply(managing, '--prune')).output).toBe('Nothing to do.\n');
  const anew = await house.apply(fileWith('keys: { reports: { organisation: acme } }\n'));
  expect(keyIn(anew.output, 'reports').slice(4, 12)).not.toBe(id);
});

test('a key that was revoked by hand is not made again, and the plan says so', async () => {
  const file = fileWith('keys: { doomed: { organisation: acme } }\n');
  const text = keyIn((await house.apply(file)).output, 'doomed');
  await house.run(['key', 'revoke', text]);
  const again = await house.apply(file);
  expect(again.output).toBe(
    '! key doomed was revoked and is not made again: take it out, or give the new one another name\nNothing to do.\n',
  );
});

test('secrets go into a new file that only its owner reads; an old one is refused before anything is done', async () => {
  const path = join(house.folder, 'secrets.yaml');
  const file = fileWith('keys: { batch: { organisation: acme, department: Research } }\n');
  const applied = await house.apply(file, '--secrets', path);
  expect(applied.output).toContain(`New keys are in ${path}.`);
  expect(applied.output).not.toContain('svc_');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(keyIn(readFileSync(path, 'utf8'), 'batch').slice(4, 12)).toBe((await keyNamed('batch'))?.public_id);
  const more = fileWith('keys: { more: { organisation: acme } }\n');
  expect(await house.apply(more, '--secrets', path)).toMatchObject({ code: 64 });
  expect(await keyNamed('more')).toBeUndefined();
  const unused = join(house.folder, 'unused.yaml');
  expect((await house.apply(file, '--secrets', unused)).output).toBe('Nothing to do.\n');
  expect(existsSync(unused)).toBe(false);
});

test('a status that is left out stays; no file resumes what an administrator paused', async () => {
  const file = (status: string): string => fileWith(`keys: { paused: { organisation: acme${status} } }\n`);
  await house.apply(file(''));
  const { public_id: id } = (await keyNamed('paused'))!;
  await house.run(['key', 'change', id, '--status', 'disabled']);
  expect((await house.apply(file(''))).output).toBe('Nothing to do.\n');
  await house.database.query(
    `UPDATE api_key SET paused_at = now(), paused_by = (SELECT min(id) FROM user_account) WHERE public_id = $1`,
    [id],
  );
  expect((await house.apply(file(', status: active'))).output).toBe(
    '! key paused was paused by an administrator: it is resumed on its page\nNothing to do.\n',
  );
  await house.database.query('UPDATE api_key SET paused_at = NULL, paused_by = NULL WHERE public_id = $1', [
    id,
  ]);
  expect((await house.apply(file(', status: active'))).output).toContain('status: disabled → active');
});

test('every fault of every key is told with its line, and nothing is made', async () => {
  const { code, complaint } = await house.apply(
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

test('an end that has passed since is no fault', async () => {
  const file = fileWith('keys: { ended: { organisation: acme, expires_at: 2090-06-01T12:00:00Z } }\n');
  await house.apply(file);
  await house.database.query(
    "UPDATE api_key SET expires_at = '2020-06-01T12:00:00Z' WHERE file_name = 'ended'",
  );
  const passed = await house.apply(file.replace('2090', '2020'));
  expect(passed).toMatchObject({ code: 0, output: 'Nothing to do.\n' });
});

test('an export lists every key without its secret; applied again it keeps them and changes nothing else', async () => {
  await house.run(['key', 'create', '--name', 'By hand', '--organisation', 'bolt', '--tpm', '5000']);
  await house.database.query(
    `INSERT INTO api_key (public_id, secret_hash, name, user_id, department_id, project_id, created_by)
     SELECT 'WithAll1', '\\x00', 'With all', u.id, d.id, (SELECT id FROM project WHERE name = 'Only'), 'test'
       FROM user_account u, department d`,
  );
  const exported = await house.run(['export']);
  expect(exported.code).toBe(0);
  expect(exported.output).not.toMatch(/svc_/);
  expect(exported.output).toContain('  by-hand:\n    id: ');
  expect(exported.output).not.toContain('doomed');
  const first = await house.apply(exported.output);
  expect(first).toMatchObject({ code: 0, complaint: '' });
  expect(first.output).toContain('~ key by-hand\n    kept as: none → by-hand\n');
  expect(first.output).not.toMatch(/budget|rate_limit|metadata|owner/);
  expect((await house.apply(exported.output)).output).toMatch(/Nothing to do\.\n$/);
  const second = await house.run(['export']);
  expect((await house.apply(second.output)).output).toMatch(/Nothing to do\.\n$/);
});

test('whatever limits a key is given, its export brings the same ones back', async () => {
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
      await house.apply(fileWith(`keys: ${JSON.stringify({ any: fields })}\n`));
      const text = (await house.run(['export'])).output;
      const again = await house.apply(text);
      expect(again).toMatchObject({ code: 0, complaint: '' });
      expect(again.output).not.toContain('key any');
    }),
    { numRuns: 12 },
  );
});
