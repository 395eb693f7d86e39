import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
  await fixture.database.query("INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme')");
  await fixture.database.query(
    "INSERT INTO department (organisation_id, name) SELECT id, 'Research' FROM organisation WHERE slug = 'acme'",
  );
});
afterAll(() => fixture.close());

const PROVIDERS = `version: 1
providers:
  a: { style: openai-style, base_url: "https://a.example/v1", regions: [eu], settings: { anonymous: true } }
  b: { style: messages-style, base_url: "https://b.example", settings: { anonymous: true } }
`;
const LANES = 'lanes: [{ provider: a, model: up, region: eu }, { provider: b, model: up, region: us }]';

const revision = async (): Promise<bigint> => (await fixture.snapshot()).revision;

test('a changed price becomes a new version and keeps the former one', async () => {
  const file = (price: string): string => `${PROVIDERS}models:\n  m: { ${LANES}, price: { ${price} } }\n`;
  expect((await fixture.apply(file('input: 1, output: 2'))).code).toBe(0);
  const applyResult = await fixture.apply(file('input: 0.1, output: 2, cache_read: 0.05'));
  expect(applyResult.output).toBe(
    '~ model m\n    price input: $1 → $0.1\n    price cache_read: none → $0.05\n0 new, 1 changed.\nApplied.\n',
  );
  const versions = (await fixture.snapshot())
    .model('m')
    ?.prices.map(({ rates, source }) => [rates.input, source]);
  expect(versions).toEqual([
    [100_000_000n, 'file gateway.yaml by command line'],
    [1_000_000_000n, 'file gateway.yaml by command line'],
  ]);
});

test('a file without prices and schedules keeps them and resets other fields', async () => {
  const withLimit = `${PROVIDERS}models:\n  m: { ${LANES}, context_tokens: 1000 }\n`;
  expect((await fixture.apply(withLimit)).output).toContain('context_tokens: unknown → 1000');
  const { output } = await fixture.apply(`${PROVIDERS}models:\n  m: { ${LANES} }\n`);
  expect(output).toBe('~ model m\n    context_tokens: 1000 → unknown\n0 new, 1 changed.\nApplied.\n');
  expect((await fixture.snapshot()).model('m')?.prices).toHaveLength(2);
});

test('reordered and removed lanes are listed and applied', async () => {
  const { output } = await fixture.apply(
    `${PROVIDERS}models:\n  m: { lanes: [{ provider: b, model: up, region: us }] }\n`,
  );
  expect(output).toBe(`~ model m
    owned_by: a → b
    lane b · up · us: priority 1, weight 1 → priority 0, weight 1
    lane a · up · eu: priority 0, weight 1 → none
0 new, 1 changed.
Applied.
`);
});

test('a failed apply changes nothing and reports every error', async () => {
  const revisionBefore = await revision();
  const { code, output, complaint } = await fixture.apply(`${PROVIDERS}models:
  fresh: { ${LANES}, price: { input: 1, output: 0 } }
  auto: { ${LANES} }
  lost: { lanes: [{ provider: aa, model: up, region: eu }] }
  far: { lanes: [{ provider: a, model: up, region: us }] }
  round: { owned_by: us, redirect: rund }
aliases:
  fresh: m
organisations:
  acmee: {}
  acme: { models: { nothing: allowed } }
`);
  expect(code).toBe(1);
  expect(output).toBe('');
  expect(complaint).toBe(`gateway.yaml has 7 faults:
  gateway.yaml:7  models.auto: "auto" is a name of the service itself.
  gateway.yaml:8  models.lost.lanes[0]: there is no provider "aa"; did you mean "a"?
  gateway.yaml:9  models.far.lanes[0]: Provider "a" does not serve region "us".
  gateway.yaml:10  models.round.redirect: there is no model or alias "rund"; did you mean "round"?
  gateway.yaml:12  aliases.fresh: A model has this name.
  gateway.yaml:14  organisations.acmee: there is no organisation "acmee"; did you mean "acme"?
  gateway.yaml:15  organisations.acme.models.nothing: there is no model "nothing"
Nothing was changed. docs/gateway-yaml.md describes the format.
`);
  expect(await revision()).toBe(revisionBefore);
  expect((await fixture.snapshot()).model('fresh')).toBeUndefined();
});

test('regions of an organisation are refused unless a lane or provider has them', async () => {
  const file = (lane: string): string =>
    `${PROVIDERS}models: { m: { lanes: [{ provider: b, model: up, region: ${lane} }] } }
organisations: { acme: { regions: [eu, mars] } }
`;
  const { code, complaint } = await fixture.apply(file('us'));
  expect([code, complaint]).toEqual([
    1,
    expect.stringContaining('organisations.acme: Unknown region "mars" in regions. Known regions: eu, us.'),
  ]);
  expect((await fixture.run(['plan', fixture.file('gateway.yaml', file('mars'))])).code).toBe(0);
});

test('aliases, redirects, access and regions are changed, and a second apply changes nothing', async () => {
  const file = (alias: string, from: string, to: string, access: string): string => `${PROVIDERS}models:
  m: { ${LANES} }
  ${from}: { owned_by: us, redirect: ${to} }
  ${to}: { ${LANES}, price: { input: 1, output: 0 } }
aliases: { short: ${alias} }
organisations:
  acme:
    regions: ${access === 'allowed' ? '[eu]' : 'any'}
    models: { m: ${access} }
    departments: { Research: { models: { m: ${access} } } }
`;
  expect((await fixture.apply(file('x', 'x', 'y', 'allowed'))).code).toBe(0);
  const { output } = await fixture.apply(file('y', 'y', 'x', 'blocked'));
  expect(output).toContain('    redirect: y → none\n');
  expect(output).toContain('    redirect: none → x\n');
  expect(output).toContain('~ alias short\n    model: x → y\n');
  expect(output).toContain(`~ organisation acme
    regions: eu → any
    model m: allowed → blocked
    department Research, model m: allowed → blocked
`);
  const snapshot = await fixture.snapshot();
  expect(snapshot.resolve('short', Date.now())).toMatchObject({ names: ['short', 'y', 'x'] });
  const [acme] = await fixture.database.query<{ id: number; allowed_regions: unknown; department: number }>(
    'SELECT o.*, d.id AS department FROM organisation o JOIN department d ON d.organisation_id = o.id',
  );
  expect(acme?.allowed_regions).toBeNull();
  const model = snapshot.model('m');
  expect(model && snapshot.isOpenTo(model, { organisationId: acme?.id ?? 0, departmentId: null })).toBe(
    false,
  );
  const revisionBefore = await revision();
  expect((await fixture.apply(file('y', 'y', 'x', 'blocked'))).output).toMatch(/Nothing to do\.\n$/);
  expect(await revision()).toBe(revisionBefore);
});

test('schedules are set and changed separately from the current price', async () => {
  const file = (schedules: string): string =>
    `${PROVIDERS}models:\n  m:\n    ${LANES}\n    schedules: [${schedules}]\n`;
  const nightPeriod = 'from: 2090-01-01T00:00:00Z, to: 2090-01-02T00:00:00Z';
  await fixture.apply(file(`{ ${nightPeriod}, price: { input: 0.5, output: 0 } }`));
  expect((await fixture.apply(file(`{ ${nightPeriod}, price: { input: 0.50, output: 0 } }`))).output).toMatch(
    /Nothing to do/,
  );
  const { output } = await fixture.apply(
    file(`{ from: 2090-01-01T00:00:00Z, price: { input: 0.25, output: 0 } }`),
  );
  expect(output).toContain(
    'schedule 2090-01-01T00:00:00.000Z until: 2090-01-02T00:00:00.000Z → further notice',
  );
  expect(output).toContain('price input: $0.5 → $0.25');
  const model = (await fixture.snapshot()).model('m');
  expect(model?.schedules.map(({ endsAt, price }) => [endsAt, price.rates.input])).toEqual([
    [null, 250_000_000n],
  ]);
  expect((await fixture.snapshot()).resolve('m', Date.now())).toMatchObject({
    lanes: [{ price: { rates: { input: 100_000_000n } } }, expect.anything()],
  });
});

test('objects missing from the file stay until --prune pauses or hides them', async () => {
  const shortFile = `version: 1\nproviders:\n  a: { style: openai-style, base_url: "https://a.example/v1", regions: [eu], settings: { anonymous: true } }\n`;
  const planResult = await fixture.run(['plan', fixture.file('gateway.yaml', shortFile)]);
  expect(planResult.output).toContain('No longer in the file, kept as it is (--prune puts it away):\n');
  expect(planResult.output).toContain('- model m\n    state: active → paused\n');
  expect(planResult.output).toContain('- provider b\n    visible: true → false\n');
  expect(planResult.output).toMatch(/Nothing to do\.\n$/);
  expect((await fixture.apply(shortFile, '--prune')).output).toMatch(
    /0 new, 0 changed, 5 gone\.\nApplied\.\n$/,
  );
  const snapshot = await fixture.snapshot();
  expect(snapshot.model('m')?.state).toBe('paused');
  expect(snapshot.model('short')).toBeUndefined();
  expect(snapshot.providers.find(({ name }) => name === 'b')?.visible).toBe(false);
  expect((await fixture.apply(shortFile, '--prune')).output).toBe('Nothing to do.\n');
});

test('objects taken over by the file are marked as managed by it', async () => {
  await fixture.database.query(
    "INSERT INTO provider (name, style, base_url) VALUES ('byhand', 'openai-style', 'https://h.example')",
  );
  const file = `version: 1
providers:
  byhand: { style: openai-style, base_url: "https://h.example" }
`;
  const { output } = await fixture.apply(file);
  expect(output).toContain('~ provider byhand\n    managed: false → true\n');
  expect(output).toContain('! provider byhand has no secret: its lanes are not used until it has one\n');
});

test('apply without --yes asks for confirmation and respects a refusal', async () => {
  const path = fixture.file(
    'gateway.yaml',
    `${PROVIDERS}models:\n  asked: { ${LANES}, price: { input: 1, output: 0 } }\n`,
  );
  const refusal = await fixture.run(['apply', path], false);
  expect(refusal).toMatchObject({ code: 1, output: expect.stringContaining('+ model asked') });
  expect((await fixture.snapshot()).model('asked')).toBeUndefined();
  const confirmation = await fixture.run(['apply', path], true);
  expect(confirmation).toMatchObject({ code: 0, output: expect.stringMatching(/Applied\.\n$/) });
  expect((await fixture.snapshot()).model('asked')?.state).toBe('active');
});

test('a confirmation of an outdated plan is not applied', async () => {
  const path = fixture.file(
    'gateway.yaml',
    `${PROVIDERS}models:\n  asked: { ${LANES}, price: { input: 1, output: 0 }, order: 5 }\n`,
  );
  const { code, complaint } = await fixture.run(['apply', path], async () => {
    await fixture.database.query("UPDATE model SET display_order = 9 WHERE name = 'asked'");
    return true;
  });
  expect(code).toBe(1);
  expect(complaint).toContain('has changed meanwhile');
  expect((await fixture.snapshot()).model('asked')?.displayOrder).toBe(9);
});

test('a provider with a new address needs its secret again, because secrets are bound to the former one', async () => {
  fixture.environment['MOVING'] = 'moving-canary-0123456789';
  const file = (host: string): string =>
    `version: 1\nproviders:\n  moving:\n    style: openai-style\n    base_url: https://${host}\n    api_key: \${MOVING}\n`;
  await fixture.apply(file('old.example'));
  const { output } = await fixture.apply(file('new.example'));
  expect(output).toContain('secret gateway.yaml: set → changed');
  const rows = await fixture.database.query('SELECT host FROM provider_credential WHERE disabled_at IS NULL');
  expect(rows).toEqual([{ host: 'https://new.example' }]);
  // Moved without the secret in the file: the stored one is deleted and has to be entered again, even if unchanged.
  const movedResult = await fixture.apply(file('third.example').replace(/ {4}api_key.*\n/, ''));
  expect(movedResult.output).toContain('secret gateway.yaml: set → none');
  const secondApply = await fixture.apply(file('third.example'));
  expect(secondApply.output).toContain('secret gateway.yaml: none → set');
  expect((await fixture.apply(file('third.example'))).output).toMatch(/Nothing to do\.\n$/);
  await fixture.apply(file('new.example'));
  const fileWithoutSecret = file('new.example').replace(/ {4}api_key.*\n/, '');
  expect((await fixture.apply(fileWithoutSecret, '--prune')).output).toContain(
    '- provider moving\n    secret gateway.yaml: set → none',
  );
  expect(await fixture.database.query('SELECT FROM provider_credential WHERE disabled_at IS NULL')).toEqual(
    [],
  );
});

test('apply logs an entry for each change, as the command line and without secrets', async () => {
  fixture.environment['ENTRY_KEY'] = 'upstream-secret-of-c';
  const entriesBefore = await entryCount();
  const file = `version: 1
providers:
  c: { style: openai-style, base_url: "https://c.example/v1", regions: [eu], api_key: "\${ENTRY_KEY}" }
models:
  seen: { lanes: [{ provider: c, model: up, region: eu }], price: { input: 1, output: 2 } }
organisations:
  acme: { models: { seen: allowed } }
`;
  await fixture.run(['plan', fixture.file('gateway.yaml', file)]);
  expect(await entryCount()).toBe(entriesBefore);
  expect((await fixture.apply(file)).code).toBe(0);
  const entries = await fixture.database.query<Record<string, unknown>>(
    `SELECT actor_kind, actor_label, object_type, object_label, changes FROM activity
      WHERE action = 'catalogue.imported' ORDER BY id OFFSET $1`,
    [entriesBefore],
  );
  expect(entries).toMatchObject([
    { actor_kind: 'system', actor_label: 'command line', object_type: 'provider', object_label: 'c' },
    { object_type: 'model', object_label: 'seen', changes: { 'price input': [null, '$1'] } },
    { object_type: 'organisation', object_label: 'acme', changes: { 'model seen': [null, 'allowed'] } },
  ]);
  expect(JSON.stringify(entries)).not.toContain('upstream-secret-of-c');
  expect((await fixture.apply(file)).output).toMatch(/Nothing to do\.\n$/);
  expect(await entryCount()).toBe(entriesBefore + 3);
});

async function entryCount(): Promise<number> {
  const [row] = await fixture.database.query<{ count: number }>(
    "SELECT count(*)::integer AS count FROM activity WHERE action = 'catalogue.imported'",
  );
  return row?.count ?? 0;
}
