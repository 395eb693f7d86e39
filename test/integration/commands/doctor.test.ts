import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { administer } from '../../support/postgres';
import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
let server: Server;
let port: number;
beforeAll(async () => {
  fixture = await CommandFixture.open();
  server = createServer((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.close();
  await fixture.close();
});

const doctor = async () => {
  const { code, output } = await fixture.run(['doctor']);
  const findings = new Map<string, string>();
  for (const line of output.split('\n')) {
    const [, verdict, what, words] = /^(ok|warn|fail) +([^:]+): (.*)$/.exec(line) ?? [];
    if (what !== undefined) findings.set(what, `${verdict} ${words}`);
  }
  return { code, output, found: findings };
};
const catalogue = (address: string): string => `version: 1
providers: { a: { style: openai-style, base_url: "${address}", settings: { anonymous: true } } }
models: { m: { lanes: [{ provider: a, model: m, region: eu }], price: { input: 1, output: 0 } } }
`;

test('an installation without models fails with advice', async () => {
  const { code, output, found } = await doctor();
  expect([code, found.get('catalogue')]).toEqual([1, 'fail no active model has a lane and a price']);
  expect(output).toContain('      Describe suppliers, models and prices in a gateway.yaml');
  expect(output).toMatch(/doctor: \d+ ok, 3 to look at, 1 failed\n$/);
});

test('a healthy installation passes every check', async () => {
  expect((await fixture.apply(catalogue(`http://127.0.0.1:${port}`))).complaint).toBe('');
  const { code, found } = await doctor();
  expect(Object.fromEntries(found)).toEqual({
    engine: expect.stringMatching(/^ok Node\.js [\d.]+; its JSON\.parse (mis)?reads escaped names/),
    'setting names': 'ok no misspelt variable',
    'audit seal': 'ok entries are sealed as they come',
    backups: 'ok the database is a server of your own: its backups are not seen from here',
    'legal texts': expect.stringMatching(/^warn placeholders .*(\/legal\/[a-z]+(, |$)){7}$/),
    quarantine: 'ok none is open',
    'audit chain': 'ok not checked yet: the first night does',
    'base URL': 'ok http://localhost:3000',
    secrets: expect.stringMatching(/^warn .*MASTER_KEY must be set in production/),
    'data folder': expect.stringMatching(/GiB free in /),
    mail: 'ok no server: mails are written to the outbox in the data folder',
    redis: expect.stringMatching(/^ok not used: right for one node/),
    database: expect.stringMatching(/^ok external PostgreSQL \d+.* answers$/),
    migrations: expect.stringMatching(/^ok all \d+ tables are as this version expects$/),
    'database role': 'ok switchboard_app may do its work and no more',
    'extension logins': 'ok none',
    'unknown request fields': expect.stringMatching(/^ok left out .*; 0 keys and 0 organisations choose/),
    'stored secrets': 'ok MASTER_KEY and KEY_PEPPER fit what is stored',
    models: 'warn not in the table of known models: m',
    'mail addresses': 'ok no two accounts have one in two spellings',
    'reseller hosts': 'ok none',
    clock: expect.stringMatching(/^ok \d+ ms from the database's$/),
    'repeating jobs': 'ok none yet: the first start makes them',
    partitions: 'ok this month and the next are ready',
    'job runners': 'ok no node has run for five minutes yet',
    nodes: 'ok 0 are running',
    safeguards: 'ok no model reviews tool calls (SAFEGUARDS_MODEL)',
    'supplier keys': 'ok every provider that needs one has one',
    catalogue: 'ok 1 active models with lanes and prices',
    'supplier a': `ok 127.0.0.1:${port} answers`,
  });
  expect(code).toBe(0);
});

test('a SAFEGUARDS_MODEL that is missing from the catalogue is reported', async () => {
  fixture.environment['SAFEGUARDS_MODEL'] = 'nobody';
  const { found } = await doctor();
  delete fixture.environment['SAFEGUARDS_MODEL'];
  expect(found.get('safeguards')).toMatch(/^warn nobody cannot review tool calls: no active model/);
});

test('ending models, unknown models and missing long-context rates are reported', async () => {
  const file = `version: 1
providers: { a: { style: openai-style, base_url: "http://127.0.0.1:${port}", settings: { anonymous: true } }, o: { style: openai-style, base_url: "http://127.0.0.1:${port}", settings: { anonymous: true, profile: openai } } }
models:
  newer: { lanes: [{ provider: o, model: gpt-7-nova, region: eu }], price: { input: 1, output: 0 } }
  ended: { lanes: [{ provider: a, model: x, region: eu }], price: { input: 1, output: 0 }, facts: { ends: 2026-01-31, replaced_by: y } }
  long: { lanes: [{ provider: a, model: house-5, region: eu, facts: gpt-5.5 }], price: { input: 1, output: 0 } }
  tiered: { lanes: [{ provider: a, model: gpt-5.5, region: eu }], price: { input: 1, output: 1, tiers: [{ above_input_tokens: 272000, input: 2, output: 2 }] } }
  strange: { lanes: [{ provider: a, model: gpt-5.5-of-the-house, region: eu }], price: { input: 1, output: 0 } }
`;
  expect((await fixture.apply(file)).complaint).toBe('');
  const { found } = await doctor();
  expect(found.get('model ended')).toBe(
    'warn the last day of x (a) is 2026-01-31, then y answers at its own rates',
  );
  expect(found.get('models')).toMatch(/^warn not in the table of known models: .*gpt-5\.5-of-the-house$/);
  expect(found.get('assumed models')).toMatch(
    /^warn facts are assumed.*: gpt-7-nova \(like gpt-6.2-astra\)$/,
  );
  expect(found.get('price long')).toMatch(/^warn its vendor takes 2 times the input and 1\.5 times/);
  expect([found.get('price tiered'), found.get('model long')]).toEqual([undefined, undefined]);
});

test('an API format that the supplier does not support is reported at every place it is set', async () => {
  const baseUrl = `http://127.0.0.1:${port}`;
  const anonymous = 'anonymous: true';
  const [price, lane] = [
    'price: { input: 1, output: 1 }',
    (more: string) => `lanes: [{ model: x, region: eu, ${more} }]`,
  ];
  expect(
    (
      await fixture.apply(`version: 1
providers:
  plain: { style: openai-style, base_url: "${baseUrl}", settings: { ${anonymous} } }
  says: { style: openai-style, base_url: "${baseUrl}", settings: { ${anonymous}, wire: responses } }
  both: { style: openai-style, base_url: "${baseUrl}", settings: { ${anonymous}, profile: openai, wire: responses } }
  messages: { style: messages-style, base_url: "${baseUrl}", settings: { ${anonymous} } }
models:
  by-lane: { ${lane('provider: plain, wire: responses')}, ${price} }
  by-model: { ${lane('provider: plain')}, ${price}, facts: { wire: responses } }
  by-provider: { ${lane('provider: says')}, ${price} }
  overridden: { ${lane('provider: says, wire: chat')}, ${price} }
  served: { ${lane('provider: both')}, ${price} }
  other: { ${lane('provider: messages, wire: chat')}, ${price} }
`)
    ).complaint,
  ).toBe('');
  const { output } = await doctor();
  expect(output.match(/^warn {2}wire of .*$/gm)).toEqual([
    'warn  wire of by-lane: plain does not speak responses, so it is asked in chat',
    'warn  wire of by-model: plain does not speak responses, so it is asked in chat',
    'warn  wire of by-provider: says does not speak responses, so it is asked in chat',
    'warn  wire of other: messages does not speak chat, so it is asked in messages',
  ]);
});

test('a public address fails without NODE_ENV=production and without a mail server', async () => {
  const originalEnvironment = { ...fixture.environment };
  Object.assign(fixture.environment, {
    BASE_URL: 'https://models.example.com',
    SESSION_SECRET: 'k3Jx9vQm2Lr8Tz5Wn7Yb4Hc6Pd1Sg0Fa',
    KEY_PEPPER: 'b8Rw2Xc7Vn4Mq1Zk6Ty9Jh3Gf5Dp0LsE',
    MASTER_KEY: '1:q0v7m1Z3p5s8u2w4y6A9C1E3G5I7K9M1O3Q5S7U9W0Y=',
  });
  try {
    const { code, found, output } = await doctor();
    expect([code, found.get('base URL'), found.get('mail')]).toEqual([
      1,
      'fail https://models.example.com is public, which is production, and NODE_ENV is test',
      expect.stringMatching(/^fail no server/),
    ]);
    expect(output).toContain('Set NODE_ENV=production.');
    fixture.environment['NODE_ENV'] = 'production';
    fixture.environment['SMTP_URL'] = `smtp://127.0.0.1:${port}`;
    const fixed = await doctor();
    expect(fixed.found.get('base URL')).toBe('ok https://models.example.com');
    expect(fixed.found.get('mail')).not.toMatch(/^fail no server/);
  } finally {
    for (const name of Object.keys(fixture.environment)) delete fixture.environment[name];
    Object.assign(fixture.environment, originalEnvironment);
  }
});

test('a provider without its required key fails by name', async () => {
  await fixture.apply(`version: 1
providers:
  a: { style: sandbox, base_url: "http://127.0.0.1:${port}" }
  keyless: { style: openai-style, base_url: "http://127.0.0.1:${port}/v1" }
models: { m: { lanes: [{ provider: a, model: m, region: eu }], price: { input: 1, output: 0 } } }
`);
  const { code, found } = await doctor();
  expect([code, found.get('supplier keys')]).toEqual([1, 'fail missing for keyless']);
});

test('a repeating job with an overdue success fails by name', async () => {
  const insertJob = (name: string, succeedBy: string): Promise<unknown> =>
    fixture.database.query(
      `INSERT INTO repeating_job (name, cron, due_at, failures, succeeded_at, succeed_by)
       VALUES ($1, '* * * * *', now(), 3, '2026-05-06T07:08:09Z', now() + $2::interval)`,
      [name, succeedBy],
    );
  const jobFinding = async (): Promise<unknown> => (await doctor()).found.get('repeating jobs');
  await insertJob('sweep', '1 hour');
  expect(await jobFinding()).toBe('ok all 1 succeeded when they had to');
  await insertJob('partitions', '-1 second');
  expect(await jobFinding()).toBe(
    'fail without the success that was due: partitions (last success: 2026-05-06T07:08:09.000Z, failures since: 3)',
  );
});

test('running nodes that execute no jobs are reported', async () => {
  const runnerFinding = async (): Promise<unknown> => (await doctor()).found.get('job runners');
  await administer(
    fixture.test.ownerUrl,
    `INSERT INTO escrow_lease (id, node, last_operation, started_at, expires_at)
     VALUES ('00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002', 0,
       now() - interval '6 minutes', now() + interval '1 hour')`,
  );
  expect(await runnerFinding()).toBe('fail nodes are running, and none has run a job for five minutes');
  await fixture.database.query(
    `INSERT INTO repeating_job (name, cron, due_at, failures, succeeded_at, succeed_by)
     VALUES ('often', '* * * * *', now(), 0, now() - interval '1 minute', now() + interval '1 hour')`,
  );
  expect(await runnerFinding()).toBe('ok jobs were run within the last five minutes');
  await fixture.database.query(`DELETE FROM repeating_job WHERE name = 'often'`);
  await administer(
    fixture.test.ownerUrl,
    `DELETE FROM escrow_lease WHERE node = '00000000-0000-7000-8000-000000000002'`,
  );
});

test('accounts whose email addresses differ only in spelling are listed', async () => {
  await fixture.database.query(
    `INSERT INTO user_account (email, display_name, shares_address)
     VALUES ('iris@example.com', 'Iris', true), ('ırıs@example.com', 'Irıs', true)`,
  );
  expect((await doctor()).found.get('mail addresses')).toMatch(
    /^warn .*\d+ iris@example.com, \d+ ırıs@example.com$/,
  );
});

test('unverified reseller hosts are listed', async () => {
  const addHost = (proven: string) =>
    fixture.database.query(
      `WITH made AS (INSERT INTO organisation (name, slug) VALUES ($1, $1) RETURNING id)
       INSERT INTO reseller_domain (host, organisation_id, name, proven_at, seen_at)
       SELECT $1 || '.example', id, $1, now(), now() - $2::interval FROM made`,
      [proven, proven === 'seen' ? '6 days' : '8 days'],
    );
  await addHost('seen');
  expect((await doctor()).found.get('reseller hosts')).toBe('ok all 1 are proven');
  await addHost('lapsed');
  expect((await doctor()).found.get('reseller hosts')).toBe('warn 1 of 2 are not proven: lapsed.example');
});

test('several nodes without Redis fail', async () => {
  for (const node of ['one', 'other'])
    await fixture.database.query('SELECT * FROM escrow_beat($1, $2, true)', [randomUUID(), node]);
  const { code, found } = await doctor();
  expect([code, found.get('nodes')]).toEqual([
    1,
    expect.stringMatching(/^fail 2 are running without REDIS_URL/),
  ]);
});

test('an unreachable supplier, mail server or Redis is named', async () => {
  const closedServer = createServer().listen(0, '127.0.0.1');
  await once(closedServer, 'listening');
  const closedPort = (closedServer.address() as AddressInfo).port;
  closedServer.close();
  await once(closedServer, 'close');
  await fixture.apply(catalogue(`http://127.0.0.1:${closedPort}`));
  Object.assign(fixture.environment, {
    SMTP_URL: `smtp://user:canary@127.0.0.1:${closedPort}`,
    REDIS_URL: `redis://127.0.0.1:${closedPort}`,
  });
  const { code, output, found } = await doctor();
  expect(code).toBe(1);
  for (const check of ['supplier a', 'mail', 'redis']) expect(found.get(check)).toMatch(/^fail /);
  expect(output).not.toContain('canary');
});

test('doctor does not connect to a supplier in a network that is no longer allowed', async () => {
  let connections = 0;
  server.on('connection', () => (connections += 1));
  await fixture.apply(catalogue(`http://127.0.0.1:${port}`));
  fixture.environment['SUPPLIER_ALLOW'] = '';
  const { found } = await doctor();
  expect(found.get('supplier a')).toMatch(/^fail .*is not an address of the public internet/);
  expect(connections).toBe(0);
});

test('an unreachable database is one failure among the other findings', async () => {
  const environment = { ...fixture.environment };
  Object.assign(fixture.environment, { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
  delete fixture.environment['MIGRATION_DATABASE_URL'];
  const { code, found } = await doctor();
  Object.assign(fixture.environment, environment);
  expect(code).toBe(1);
  expect(found.get('database')).toMatch(/^fail .*ECONNREFUSED/);
  expect(found.has('data folder')).toBe(true);
});

test('config check prints the effective settings with secrets masked and warns of misspelt names', async () => {
  Object.assign(fixture.environment, { KEY_PEPPER: 'pepper-canary', KEY_PEPER: 'x' });
  const { code, output } = await fixture.run(['config', 'check']);
  expect(code).toBe(0);
  expect(output).toMatch(/^General\n {2}NODE_ENV +test\n/);
  expect(output).toMatch(/KEY_PEPPER +••••\n/);
  expect(output).toContain('! KEY_PEPER is not a setting; did you mean KEY_PEPPER?');
  expect(output).not.toContain('canary');
});

describe('Outgoing connections', () => {
  const tlsFile = (name: string): string => join(__dirname, '../../fixtures/tls', name);
  const runWith = async (environment: Record<string, string>, words: string[]): Promise<string> => {
    Object.assign(fixture.environment, environment);
    try {
      return (await fixture.run(words)).output;
    } finally {
      for (const name of Object.keys(environment)) Reflect.deleteProperty(fixture.environment, name);
    }
  };
  const runDoctor = async (environment: Record<string, string>) =>
    (await runWith(environment, ['doctor'])).split('\n');

  test('doctor reports reachable proxies, unreachable proxies and invalid NO_PROXY entries', async () => {
    const lines = await runDoctor({
      EGRESS_PROXY: `http://user:secret@127.0.0.1:${port}`,
      EGRESS_PROXIES: 'gone=http://127.0.0.1:1',
      NO_PROXY: 'example.com,10.0.0.0/33',
    });
    expect(lines).toContain(`ok    proxy: 127.0.0.1:${port} answers`);
    expect(lines).toContainEqual(
      expect.stringMatching(/^fail {2}proxy gone: 127\.0\.0\.1:1: .*ECONNREFUSED/),
    );
    expect(lines).toContain('warn  NO_PROXY: stands for nothing: 10.0.0.0/33');
    expect(lines.join()).not.toContain('secret@');
  });

  test('doctor reports when certificates expire', async () => {
    const lines = await runDoctor({
      EGRESS_CA_FILE: tlsFile('supplier.cert.pem'),
      EGRESS_CLIENT_CERTIFICATE_FILE: tlsFile('client.cert.pem'),
      EGRESS_CLIENT_KEY_FILE: tlsFile('client.key.pem'),
    });
    expect(lines).toContain('ok    authorities: good until 2126-10-28');
    expect(lines).toContainEqual(expect.stringMatching(/^ok {4}client certificate: good until 2126-/));
  });

  test('doctor reports when certificates of single providers expire', async () => {
    const yaml = catalogue('https://models.example/v1').replace(
      'settings: { anonymous: true }',
      `settings: { anonymous: true, egress: { ca: "\${file:${tlsFile('supplier.cert.pem')}}" } }, credentials: { mtls: { kind: client-certificate, certificate: "\${file:${tlsFile('client.cert.pem')}}", key: "\${file:${tlsFile('client.key.pem')}}" } }`,
    );
    expect((await fixture.apply(yaml)).complaint).toBe('');
    const lines = await runDoctor({});
    expect(lines).toContain('ok    ca of a: good until 2126-10-28');
    expect(lines).toContainEqual(expect.stringMatching(/^ok {4}client-certificate of a: good until 2126-/));
    await fixture.database.query(`UPDATE provider SET base_url = 'https://other.example'`);
    expect(await runDoctor({})).toContain('fail  client-certificate of a: cannot be read');
  });

  test('doctor reports a supplier whose proxy is unreachable or not configured', async () => {
    const catalogueWithProxy = (proxy: string): string =>
      catalogue(`http://127.0.0.1:${port}`).replace(
        'anonymous: true',
        `anonymous: true, egress: { proxy: ${proxy} }`,
      );
    fixture.environment['SUPPLIER_ALLOW'] = '127.0.0.1';
    const refusal = await fixture.apply(catalogueWithProxy('eu'));
    expect(refusal.output + refusal.complaint).toContain(
      'providers.a.settings: its "egress" names "eu" as proxy, but EGRESS_PROXIES has none',
    );
    fixture.environment['EGRESS_PROXIES'] = 'eu=http://127.0.0.1:1';
    expect((await fixture.apply(catalogueWithProxy('eu'))).complaint).toBe('');
    Reflect.deleteProperty(fixture.environment, 'EGRESS_PROXIES');
    expect(await runDoctor({ EGRESS_PROXIES: `eu=http://127.0.0.1:${port}` })).toContain(
      `ok    supplier a: 127.0.0.1:${port} answers, by a way of docs/egress.md`,
    );
    expect(await runDoctor({ EGRESS_PROXIES: 'eu=http://127.0.0.1:1' })).toContainEqual(
      expect.stringMatching(/^fail {2}supplier a: .*the proxy 127\.0\.0\.1:1 /),
    );
    expect(await runDoctor({})).toContainEqual(expect.stringMatching(/^fail {2}supplier a: /));
  });

  test('config check prints the subject of certificates', async () => {
    const settings = {
      EGRESS_CA_FILE: tlsFile('supplier.cert.pem'),
      NO_PROXY: 'a^b',
      EGRESS_PROXY: 'http://u:p@proxy.lan:3128',
    };
    const output = await runWith(settings, ['config', 'check']);
    expect(output).toMatch(/EGRESS_CA +CN=supplier\.example until 2126-10-28/);
    expect(output).toMatch(/EGRESS_PROXY +http:\/\/••••@proxy\.lan:3128/);
    expect(output).toContain('! NO_PROXY: "a^b" stands for no host, address or network');
  });
});

test('invalid settings exit with 78, an unknown command with 64', async () => {
  fixture.environment['PORT'] = 'http';
  expect(await fixture.run(['config', 'check'])).toMatchObject({
    code: 78,
    complaint: expect.stringContaining('PORT: expected a whole number'),
  });
  expect(await fixture.run(['conifg', 'check'])).toMatchObject({ code: 64 });
  expect(await fixture.run([])).toMatchObject({ code: 0, output: expect.stringContaining('apply FILE') });
  expect(await fixture.run(['key', 'create', '--help'])).toMatchObject({ code: 0 });
});
