import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  configurationPage,
  describeEffective,
  environmentExample,
  EXIT_CONFIGURATION,
  loadSettings,
  Settings,
  SettingsError,
} from '../../../src/platform/config';
import { declaredSettings } from '../../../src/platform/config/setting.decorator';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'switchboard-config-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const strongSecret = (letter: string): string => `${letter}k3JxQ9vT7mZ2bW8nR5cY1dF6gH4sL0pA`;
const externalUrl = 'postgres://app:w3ll-chosen@db.internal/switchboard';

function load(env: Record<string, string> = {}, terminal = false): Settings {
  return loadSettings({ DATA_FOLDER: folder, ...env }, { terminal });
}

function issuesOf(env: Record<string, string>): Record<string, string> {
  try {
    load(env);
  } catch (error) {
    if (error instanceof SettingsError) {
      return Object.fromEntries(error.issues.map(({ name, problem }) => [name, problem]));
    }
    throw error;
  }
  return {};
}

test('GitHub identity provider needs no issuer and rejects rules that it cannot enforce', () => {
  const github = { IDP1_KIND: 'github', IDP1_CLIENT_ID: 'Iv1', IDP1_CLIENT_SECRET: 'secret' };
  expect(load(github).idp1Issuer).toBe('https://github.com');
  expect(load({ ...github, IDP1_ISSUER: 'https://git.acme.example' }).idp1Issuer).toBe(
    'https://git.acme.example',
  );
  expect(load({ IDP1_KIND: 'github' }).idp1Issuer).toBeUndefined();
  expect(issuesOf({ ...github, IDP1_ROLES: 'staff=user' })).toHaveProperty('IDP1_ROLES');
  expect(issuesOf({ IDP2_API_URL: 'https://git.acme.example/api/v3' })).toHaveProperty('IDP2_API_URL');
});

test('directory role rules name a directory, a group and a role, but not the owner role', () => {
  const roleRules = 'ldap/staff:admins=platform_admin, ldap/staff:a:b=user,other/people:all=user';
  expect(load({ EXTENSION_ROLES: roleRules }).extensionRoles).toEqual({
    'ldap/staff': [
      ['admins', 'platform_admin'],
      ['a:b', 'user'],
    ],
    'other/people': [['all', 'user']],
  });
  for (const invalidRule of [
    'admins=user',
    'ldap/staff:admins=platform_owner',
    'ldap:admins=user',
    'ldap/staff:a',
  ])
    expect(issuesOf({ EXTENSION_ROLES: invalidRule })).toHaveProperty('EXTENSION_ROLES');
});

test('empty environment yields the defaults', () => {
  expect(load()).toMatchObject({
    environment: 'development',
    host: '127.0.0.1',
    port: 3000,
    baseUrl: 'http://localhost:3000',
    trustProxy: 'loopback',
    bodyLimitBytes: 32 * 1024 ** 2,
    portalBodyLimitBytes: 1024 ** 2,
    drainTimeoutMs: 60_000,
    supplierConnectTimeoutMs: 3_000,
    supplierFirstByteTimeoutMs: 300_000,
    supplierStreamFirstByteTimeoutMs: 60_000,
    supplierFirstTokenTimeoutMs: 10_000,
    supplierIdleTimeoutMs: 30_000,
    supplierTotalTimeoutMs: 1_200_000,
    supplierAllow: [],
    leanAdapter: true,
    metricsPort: 9464,
    auditExportMaxRows: 50_000,
    databaseUrl: undefined,
    redisUrl: undefined,
  });
});

test('every setting has a value or documents what happens when it is unset', () => {
  for (const setting of declaredSettings) {
    expect([setting.name, setting.default ?? setting.unset]).toEqual([setting.name, expect.any(String)]);
  }
  expect(new Set(declaredSettings.map(({ name }) => name)).size).toBe(declaredSettings.length);
});

test('values are parsed to their types', () => {
  const settings = load({
    PORT: '0',
    DRAIN_TIMEOUT: '5m',
    BODY_LIMIT: '512KiB',
    LEAN_ADAPTER: 'No',
    TRUST_PROXY: '2',
    BASE_URL: 'https://Models.Example.com/',
    SUPPLIER_ALLOW: '10.0.0.0/8, models.lan:8000=192.168.1.20,fd00::/8',
    DNS_SERVERS: '10.0.0.2, 10.0.0.3:5353,::1,[2001:db8::1]:53',
    BRAND_NAME: '',
  });
  expect(settings).toMatchObject({
    port: 0,
    drainTimeoutMs: 300_000,
    bodyLimitBytes: 524_288,
    leanAdapter: false,
    trustProxy: 2,
    baseUrl: 'https://models.example.com',
    dnsServers: ['10.0.0.2', '10.0.0.3:5353', '::1', '[2001:db8::1]:53'],
    brandName: 'Switchboard',
    supplierAllow: [
      { address: '10.0.0.0', prefix: 8, family: 'ipv4' },
      { address: '192.168.1.20', prefix: 32, family: 'ipv4', host: 'models.lan', port: 8000 },
      { address: 'fd00::', prefix: 8, family: 'ipv6' },
    ],
  });
});

test('settings are deeply frozen', () => {
  const settings = load({ SUPPLIER_ALLOW: '10.0.0.0/8' });
  expect(settings).toBeInstanceOf(Settings);
  expect(Object.isFrozen(settings)).toBe(true);
  expect(Object.isFrozen(settings.supplierAllow)).toBe(true);
  expect(Object.isFrozen(settings.supplierAllow[0])).toBe(true);
});

test('all issues are reported at once, in class order, each with the expected value', () => {
  const invalidEnvironment = {
    PORT: 'eighty',
    LOG_LEVEL: 'loud',
    REDIS_URL: 'http://x',
    NODE_ENV: 'staging',
  };
  expect(Object.keys(issuesOf(invalidEnvironment))).toEqual(['NODE_ENV', 'PORT', 'REDIS_URL', 'LOG_LEVEL']);
  expect(issuesOf(invalidEnvironment)['PORT']).toBe('expected a whole number from 0 to 65535');
  expect(() => load(invalidEnvironment)).toThrow(
    /4 faults[^]*NODE_ENV: expected development \| production \| test/,
  );
  expect(EXIT_CONFIGURATION).toBe(78);
});

test.each([
  ['PORT', ['-1', '65536', '3000.5', '0x10', '1e3', ' 80', '80 ']],
  ['LEAN_ADAPTER', ['on', 'maybe', '2', 'y']],
  ['DRAIN_TIMEOUT', ['60', '-5s', '1d', '2h', '1.5s', 's']],
  ['BODY_LIMIT', ['32', '32MB', '2GiB', '0B', '-1KiB']],
  ['BASE_URL', ['example.com', 'ftp://x', 'https://x/path', 'https://u@x', 'https://x?a', 'https://x#a']],
  ['TRUST_PROXY', ['true', '0.5', '11', 'everybody', '10.0.0.0/33', '1.2.3.4/']],
  [
    'SUPPLIER_ALLOW',
    ['localhost', '10.0.0.0/33', 'a=b', 'a=1.2.3.4=5', 'u@h=1.2.3.4', 'h/p=1.2.3.4', '::1/129'],
  ],
  [
    'DNS_SERVERS',
    ['localhost', 'dns.example:53', '10.0.0.2:0', '10.0.0.2:65536', '[10.0.0.2]:53', '[::1', '::1]:5'],
  ],
  ['DATABASE_URL', ['mysql://x/y', 'postgres:', 'db']],
  ['BOOTSTRAP_OWNER_EMAIL', ['owner', 'a@b@c', 'a b@c', '<a@b>']],
  ['MAIL_FROM', ['nobody', 'A <b>', 'A <a@b> <c@d>', 'A <a@b>\r\nBcc: x@y']],
  ['METRICS_PORT', ['off', '70000']],
  ['HOST', ['a b', 'http://x', 'a/b']],
])('%s rejects invalid values', (name, values) => {
  expect(values.filter((value) => issuesOf({ [name]: value })[name] === undefined)).toEqual([]);
});

test('issue never contains a secret', () => {
  const message = ((): string => {
    try {
      load({ DATABASE_URL: 'mysql://app:hunter22@db', NODE_ENV: 'production', MASTER_KEY: 'hunter22' });
    } catch (error) {
      return String(error);
    }
    return '';
  })();
  expect(message).toContain('DATABASE_URL');
  expect(message).toContain('MASTER_KEY');
  expect(message).not.toContain('hunter22');
});

test('value is read from a file without its trailing line break', () => {
  const path = join(folder, 'redis');
  writeFileSync(path, 'redis://:word@cache:6379\n');
  expect(load({ REDIS_URL_FILE: path }).redisUrl).toBe('redis://:word@cache:6379');
  expect(issuesOf({ REDIS_URL_FILE: path, REDIS_URL: 'redis://x' })['REDIS_URL']).toMatch(/given twice/);
  expect(issuesOf({ REDIS_URL_FILE: join(folder, 'absent') })['REDIS_URL_FILE']).toMatch(/ENOENT/);
  writeFileSync(path, '\n');
  expect(issuesOf({ REDIS_URL_FILE: path })['REDIS_URL_FILE']).toBe('the file is empty');
  writeFileSync(path, 'http://word');
  expect(issuesOf({ REDIS_URL_FILE: path })['REDIS_URL']).toMatch(/expected an address/);
});

describe('Production settings', () => {
  const production = { NODE_ENV: 'production', DATABASE_URL: externalUrl };
  const secrets = {
    SESSION_SECRET: strongSecret('a'),
    KEY_PEPPER: strongSecret('b'),
    MASTER_KEY: strongSecret('c'),
  };

  test('accept strong secrets', () => {
    expect(load({ ...production, ...secrets })).toMatchObject({ masterKey: strongSecret('c') });
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    'short-but-random-9fK2',
    'changeme'.repeat(5),
    'please-change-me-please-change-me-1234',
    'this_is_my_SECRET_which_is_long_enough',
    'Example-0123456789-0123456789-abcdef',
    'pass-word-0123456789-abcdefghijklmnop',
    'a'.repeat(64),
    'abcabcabcabcabcabcabcabcabcabcabcabc',
  ])('reject %s', (placeholder) => {
    expect(Object.keys(issuesOf({ ...production, ...secrets, KEY_PEPPER: placeholder }))).toEqual([
      'KEY_PEPPER',
    ]);
    expect(
      load({ ...production, ...secrets, KEY_PEPPER: placeholder, NODE_ENV: 'development' }).keyPepper,
    ).toBe(placeholder);
  });

  test('reject a placeholder password in a URL', () => {
    const env = { ...production, ...secrets, DATABASE_URL: 'postgres://app:change-me@db/x' };
    expect(Object.keys(issuesOf(env))).toEqual(['DATABASE_URL']);
  });

  test('report every unset secret with an external database and generate none', () => {
    expect(Object.keys(issuesOf(production))).toEqual(['SESSION_SECRET', 'KEY_PEPPER', 'MASTER_KEY']);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('generate the secrets with the embedded database', () => {
    expect(load({ NODE_ENV: 'production' }).masterKey).toHaveLength(43);
  });
});

describe('Generated secrets', () => {
  test('are stored privately and differ from one another', () => {
    const first = load();
    const second = load();
    const values = [first.sessionSecret, first.keyPepper, first.masterKey];
    expect(new Set(values).size).toBe(3);
    expect([second.sessionSecret, second.keyPepper, second.masterKey]).toEqual(values);
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['secrets.json']);
  });

  test('are overridden by configured secrets', () => {
    const first = load();
    expect(load({ KEY_PEPPER: 'mine' })).toMatchObject({ keyPepper: 'mine', masterKey: first.masterKey });
  });

  test.each(['', '{', '{}', 'null', '{"sessionSecret":"a","keyPepper":"b"}', '[1]'])(
    'are not replaced when their file is damaged (%s), and startup fails',
    (content) => {
      const path = join(folder, 'secrets.json');
      writeFileSync(path, content);
      expect(issuesOf({})['DATA_FOLDER']).toMatch(/damaged; restore it/);
      expect(readFileSync(path, 'utf8')).toBe(content);
    },
  );

  test('are never generated for a database that was used with configured secrets', () => {
    mkdirSync(join(folder, 'postgres'));
    const configuredSecrets = { SESSION_SECRET: 'one', KEY_PEPPER: 'two', MASTER_KEY: 'three' };
    expect(issuesOf({ KEY_PEPPER: 'two' })).toEqual({
      SESSION_SECRET: expect.stringMatching(/has a database and no secrets\.json/),
      MASTER_KEY: expect.stringMatching(/give the same here$/),
    });
    expect(load(configuredSecrets).keyPepper).toBe('two');
    expect(readdirSync(folder)).toEqual(['postgres']);
    // A half-restored installation is refused with its own error, because of its database.
    writeFileSync(join(folder, 'restore-unfinished'), '');
    expect(issuesOf({})).toEqual({});
  });

  test('invalid data folder is an issue', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(issuesOf({ DATA_FOLDER: join(folder, 'file', 'below') })).toHaveProperty('DATA_FOLDER');
  });

  test('are the same for processes that start at the same time', async () => {
    const childScript = `
      const { transformFileSync } = require('@swc/core');
      require.extensions['.ts'] = (module, path) => module._compile(transformFileSync(path).code, path);
      const { readOrCreateSecrets } = require(process.argv[1]);
      process.stdin.once('data', () => {
        process.stdout.write(JSON.stringify(readOrCreateSecrets(process.argv[2])));
        process.exit(0);
      });
      process.stderr.write('ready');`;
    const source = join(__dirname, '../../../src/platform/config/secrets.ts');
    const children = Array.from({ length: 3 }, () =>
      spawn(process.execPath, ['-e', childScript, source, folder], { timeout: 20_000 }),
    );
    await Promise.all(children.map((child) => once(child.stderr, 'data')));
    const exits = children.map((child) => once(child, 'exit'));
    const answers = children.map(async (child) => String((await once(child.stdout, 'data'))[0]));
    for (const child of children) child.stdin.write('go\n');
    expect(new Set(await Promise.all(answers)).size).toBe(1);
    await Promise.all(exits);
    expect(readdirSync(folder)).toEqual(['secrets.json']);
  }, 25_000);
});

test('log lines are pretty only on a terminal in development', () => {
  expect(load({}, true).logFormat).toBe('pretty');
  expect(load({}, false).logFormat).toBe('json');
  expect(load({ NODE_ENV: 'production' }, true).logFormat).toBe('json');
  expect(load({ LOG_FORMAT: 'pretty' }, false).logFormat).toBe('pretty');
});

test('table of effective settings hides secrets and keeps the rest', () => {
  const rows = describeEffective(
    load({
      DATABASE_URL: 'postgres://app:hunter22@db.lan:5432/board?password=hunter22',
      MASTER_KEY: 'hunter22',
    }),
  );
  const value = (name: string): string | undefined => rows.find((row) => row.name === name)?.value;
  expect(value('DATABASE_URL')).toBe('postgres://••••@db.lan:5432/board');
  expect(value('MASTER_KEY')).toBe('••••');
  expect(value('PORT')).toBe('3000');
  expect(value('REDIS_URL')).toBe('');
  expect(rows).toHaveLength(declaredSettings.length);
  expect(JSON.stringify(rows)).not.toContain('hunter22');
});

test('committed files match the settings class', () => {
  const root = join(__dirname, '../../..');
  expect(readFileSync(join(root, '.env.example'), 'utf8')).toBe(environmentExample());
  expect(readFileSync(join(root, 'docs/configuration.md'), 'utf8')).toBe(configurationPage());
});

test('public base URL implies production regardless of NODE_ENV', () => {
  const environmentAt = (BASE_URL: string, NODE_ENV = 'development') =>
    load({ BASE_URL, NODE_ENV }).environment;
  for (const host of ['localhost', 'portal.localhost', '127.0.0.1', '[::1]'])
    expect(environmentAt(`http://${host}:3000`)).toBe('development');
  for (const host of ['models.example.com', '10.0.0.7', '127.example.com', 'localhost.example.com', '[::2]'])
    for (const nodeEnv of ['development', 'test', 'production'])
      expect(environmentAt(`https://${host}`, nodeEnv)).toBe('production');
});

test('payments are simulated only on localhost outside production and without account keys', () => {
  const sandbox = { PROCESSOR: 'sandbox' };
  const sandboxSettings = load(sandbox);
  expect(sandboxSettings.processorSecretKey).toMatch(/^sk_test_\w{32}$/);
  expect(sandboxSettings.processorWebhookSecret).not.toBe(load(sandbox).processorWebhookSecret);
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(issuesOf({ ...sandbox, BASE_URL: `http://${host}:3000` })).toEqual({});
  const rejectedSettings: [Record<string, string>, string][] = [
    [{ NODE_ENV: 'production' }, 'never sandbox in production'],
    [{ BASE_URL: 'https://models.example.com' }, 'BASE_URL names this machine'],
    [{ BASE_URL: 'http://localhost.example.com' }, 'BASE_URL names this machine'],
    [{ BASE_URL: 'http://127.example.com' }, 'BASE_URL names this machine'],
    [{ BASE_URL: 'http://192.168.1.5:3000' }, 'BASE_URL names this machine'],
    [{ PROCESSOR_SECRET_KEY: 'sk_live_12345678' }, 'has keys of an account'],
    [{ PROCESSOR_WEBHOOK_SECRET: 'whsec_1234567812345678' }, 'has keys of an account'],
  ];
  for (const [more, problem] of rejectedSettings)
    expect(issuesOf({ ...sandbox, ...more })['PROCESSOR']).toContain(problem);
});
