import 'reflect-metadata';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MODEL_KINDS } from '../../../../src/catalogue';
import { readGatewayText, type FileReading } from '../../../../src/catalogue/plan/gateway-file/read-file';
import { FileFaults } from '../../../../src/catalogue/plan/gateway-file/file-fault';
import { keyFields } from '../../../../src/keys';
import { AddressGuard } from '../../../../src/platform';
import { SupplierStyles } from '../../../../src/routing';

const folder = mkdtempSync(join(tmpdir(), 'switchboard-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const environment = { KEY: 'canary-secret', HOST: 'models.example', EMPTY: '' };
const advisers = {
  guard: new AddressGuard([]),
  proxyNames: ['eu', 'asia'],
  styles: new SupplierStyles(),
  keyFields,
};

const readFileText = (text: string): FileReading => readGatewayText(text, { environment, folder }, advisers);
const issuesOf = (text: string): string[] =>
  readFileText(text).faults.map(({ line, path, problem }) => `${line} ${path}: ${problem}`);
const provider = (fields: string): string =>
  `version: 1\nproviders:\n  one:\n    style: openai-style\n    base_url: https://a.example\n${fields}`;

test('every issue is listed in one run with its line and path', () => {
  const text = `version: 2
providers:
  first:
    styel: openai-style
    base_url: http://a.example
    api_key: sk-plain
    timeouts: { connect: 3 }
  second:
    style: opnai-style
    base_url: https://\${NOWHERE}
    regions: eu
models:
  large:
    kind: chatt
    context_tokens: -5
    lanes:
      - { provider: first, model: m, region: eu, weight: 0 }
    price:
      input: 2.5x
      outptu: 3
      tiers:
        - input: 5
moddels: {}
`;
  expect(issuesOf(text)).toEqual([
    '23 moddels: is not known here; did you mean "models"?',
    '1 version: expected one of 1',
    `14 models.large.kind: expected one of ${MODEL_KINDS.join(', ')}; did you mean "chat"?`,
    '17 models.large.lanes[0].weight: expected a whole number from 1 to 2147483647',
    '15 models.large.context_tokens: expected a whole number from 1 to 100000000',
    '20 models.large.price.outptu: is not known here; did you mean "output"?',
    '18 models.large.price.output: is missing: write 0 where it is free',
    '19 models.large.price.input: "2.5x" is not a price in US dollars with at most nine decimals.',
    '22 models.large.price.tiers[0].above_input_tokens: is missing',
    '4 providers.first.styel: is not known here; did you mean "style"?',
    '3 providers.first.style: is missing',
    '7 providers.first.timeouts.connect: expected a duration such as 500ms, 10s or 5m',
    '5 providers.first.base_url: must be https on port 443, unless the operator allows it: the setting SUPPLIER_ALLOW makes exceptions',
    '6 providers.first.api_key: expected ${NAME} of an environment variable or ${file:PATH}: secrets stay out of the file',
    '10 providers.second.base_url: the environment variable NOWHERE is not set',
    '11 providers.second.regions: expected a list',
    '9 providers.second.style: there is no supplier style "opnai-style"; did you mean "openai-style"?',
  ]);
});

test.each([
  'http://127.0.0.1:80/token',
  'https://169.254.169.254',
  'file:///etc/passwd',
  'https://a@b.example',
])('tokens are not refreshed at %s either', (address) => {
  const issues = issuesOf(provider(`    settings: { oauth: { token_url: "${address}" } }\n`));
  expect(issues).toEqual([
    expect.stringMatching(/^6 providers\.one\.settings: oauth\.token_url .*SUPPLIER_ALLOW/),
  ]);
});

test('issue report is sorted by line and says that nothing was changed', () => {
  const { faults } = readFileText('version: 1\nmodels: []\nproviders: 5\n');
  expect(new FileFaults('gateway.yaml', faults).message).toBe(`gateway.yaml has 2 faults:
  gateway.yaml:2  models: expected names with values below them
  gateway.yaml:3  providers: expected names with values below them
Nothing was changed. docs/gateway-yaml.md describes the format.`);
});

test('invalid YAML is a single issue of its line', () => {
  const issues = issuesOf('version: 1\nproviders:\n  one: {\n');
  expect(issues).not.toEqual([]);
  for (const issue of issues) expect(issue).toMatch(/^\d+ : /);
  expect(issuesOf('version: 1\nversion: 1\n')).toEqual([expect.stringMatching(/^2 : .*unique/)]);
  expect(issuesOf('')).toEqual(['1 version: is missing: write "version: 1"']);
});

test.each([
  ['${KEY}', 'canary-secret'],
  ['"${file:key.txt}"', 'from-a-file'],
])('secret is read from %s', (written, parts) => {
  writeFileSync(join(folder, 'key.txt'), 'from-a-file\n');
  const { desired, faults } = readFileText(provider(`    api_key: ${written}\n`));
  expect(faults).toEqual([]);
  expect(desired.providers[0]?.credentials[0]?.secret).toEqual({ kind: 'bearer', parts });
});

test.each([
  ['${EMPTY}', 'the environment variable EMPTY is not set'],
  ['${UNSET}', 'the environment variable UNSET is not set'],
  ['"${file:nowhere}"', 'the file nowhere cannot be read (ENOENT)'],
  ['"${KEY KEY}"', '"${KEY KEY}" names no environment variable'],
  ['"x${KEY}"', expect.stringContaining('secrets stay out of the file')],
  ['[a]', expect.stringContaining('secrets stay out of the file')],
])('secret of %s is an issue that names the cause without the secret', (written, problem) => {
  const { faults } = readFileText(provider(`    api_key: ${written}\n`));
  expect(faults).toEqual([{ line: 6, path: 'providers.one.api_key', problem }]);
  expect(JSON.stringify(faults)).not.toContain('canary');
});

test('references are resolved anywhere in a text, and a doubled $ escapes one', () => {
  const { desired, faults } = readFileText(
    'version: 1\nproviders:\n  one:\n    style: openai-style\n    base_url: https://${HOST}/v1\n    settings: { note: "$${HOST}" }\n',
  );
  expect(faults).toEqual([]);
  expect(desired.providers[0]).toMatchObject({
    baseUrl: 'https://models.example/v1',
    settings: { note: '${HOST}' },
  });
});

test.each([
  ['openai-style', '', 'bearer'],
  ['messages-style', '', 'header'],
  ['gemini', '', 'header'],
  ['openai-style', '    settings: { profile: azure }\n', 'header'],
])('key of %s%s is sent as %s', (style, settings, kind) => {
  const { desired, faults } = readFileText(
    provider(`${settings}    api_key: \${KEY}\n`).replace('openai-style', style),
  );
  expect(faults).toEqual([]);
  expect(desired.providers[0]?.credentials[0]?.secret.kind).toBe(kind);
});

test('credential of several parts is read part by part', () => {
  const text = provider(
    '    credentials:\n      main:\n        kind: sigv4\n        access_key_id: ${KEY}\n        secret_access_key: ${KEY}\n',
  );
  expect(readFileText(text).desired.providers[0]?.credentials[0]).toMatchObject({
    label: 'main',
    secret: { kind: 'sigv4', parts: { accessKeyId: 'canary-secret', secretAccessKey: 'canary-secret' } },
  });
  expect(issuesOf(text.replace('        secret_access_key: ${KEY}\n', ''))).toEqual([
    '7 providers.one.credentials.main.secret_access_key: is missing',
  ]);
  const bedrockText = provider('    api_key: ${KEY}\n').replace('openai-style', 'bedrock');
  expect(issuesOf(bedrockText)).toEqual([expect.stringContaining('needs more than a key')]);
});

test('client certificate is a credential next to the key', () => {
  const parts =
    '    credentials:\n      mtls: { kind: client-certificate, certificate: "${KEY}", key: "${KEY}" }\n';
  const { desired, faults } = readFileText(provider(`    api_key: \${KEY}\n${parts}`));
  expect(faults).toEqual([]);
  expect(desired.providers[0]?.credentials.map(({ secret }) => secret)).toEqual([
    { kind: 'bearer', parts: 'canary-secret' },
    { kind: 'client-certificate', parts: { certificate: 'canary-secret', key: 'canary-secret' } },
  ]);
});

test.each([
  ['{ proxy: eu }', []],
  // HTTP/2 support was removed; a file that still has the field is valid.
  ['{ http2: true }', []],
  [
    '{ proxy: "http://10.0.0.1:3128" }',
    ['takes as proxy "direct", or the name of a proxy in EGRESS_PROXIES'],
  ],
  ['{ proxy: direct }', []],
  ['{ proxy: us }', ['names "us" as proxy, but EGRESS_PROXIES has eu, asia']],
  ['{ prxy: eu }', ['takes proxy, ca, and no "prxy"']],
])('egress settings of a provider are validated (%s)', (egress, problems) => {
  expect(issuesOf(provider(`    settings: { egress: ${egress} }\n`))).toEqual(
    problems.map((problem) => `6 providers.one.settings: its "egress" ${problem}`),
  );
});

test.each([
  ['1e-05', 10_000n],
  ['0.1', 100_000_000n],
  ['"0.123456789"', 123_456_789n],
  ['3', 3_000_000_000n],
])('price of %s is read exactly', (written, nano) => {
  const { desired, faults } = readFileText(
    `version: 1\nmodels:\n  m:\n    owned_by: us\n    price: { input: ${written}, output: 0 }\n`,
  );
  expect(faults).toEqual([]);
  expect(desired.models[0]?.price?.rates.input).toBe(nano);
});

test.each([
  ['price: { input: 0.0000000001, output: 0 }', 'models.m.price.input', /at most nine decimals/],
  ['price: { input: -1, output: 0 }', 'models.m.price.input', /not a price/],
  ['price: {}', 'models.m.price', /at least one rate/],
  [
    'price: { input: 2, output: 2, tiers: [{ above_input_tokens: 10, input: 1 }] }',
    'models.m.price',
    /cheaper/,
  ],
  [
    'schedules: [{ from: 2027-01-01, price: { input: 1, output: 0 } }]',
    'models.m.schedules[0].from',
    /with its zone/,
  ],
  [
    'schedules: [{ from: 2027-01-01T00:00:00Z, price: { input: 1, output: 0 } }, { from: 2027-02-01T00:00:00Z, price: { input: 2, output: 0 } }]',
    'models.m.schedules',
    /two schedules cover 2027-02-01/,
  ],
])('%s is rejected with its line and path', (field, path, problem) => {
  const { faults } = readFileText(`version: 1\nmodels:\n  m:\n    owned_by: us\n    ${field}\n`);
  expect(faults).toEqual([{ line: 5, path, problem: expect.stringMatching(problem) }]);
});

test('names that YAML parses as numbers or booleans stay names', () => {
  const { desired, faults } = readFileText(
    'version: 1\nmodels:\n  4.10: { owned_by: 1.0 }\n  yes: { owned_by: us }\n',
  );
  expect(faults).toEqual([]);
  expect(desired.models.map(({ name, ownedBy }) => [name, ownedBy])).toEqual([
    ['4.10', '1.0'],
    ['yes', 'us'],
  ]);
});

test('anchors are supported, and a self-referencing anchor is an issue', () => {
  const { desired, faults } = readFileText(
    'version: 1\nmodels:\n  a: { owned_by: us, price: &low { input: 1, output: 0 } }\n  b: { owned_by: us, price: *low }\n',
  );
  expect(faults).toEqual([]);
  expect(desired.models[1]?.price?.rates.input).toBe(1_000_000_000n);
  expect(issuesOf(provider('    settings: &all { more: *all }\n'))).not.toEqual([]);
});

test('documentation examples have no issues', () => {
  const page = ['gateway-yaml.md', 'prices.md']
    .map((name) => readFileSync(join(__dirname, '../../../../docs', name), 'utf8'))
    .join('\n');
  const exampleTexts = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
  expect(exampleTexts.length).toBeGreaterThan(3);
  const names = page.matchAll(/\$\{([A-Z_]+)\}/g);
  const environmentOfPage = Object.fromEntries(
    [...names].map(([, name = '']) => [name, 'something-that-is-set']),
  );
  for (const text of exampleTexts)
    expect(readGatewayText(text, { environment: environmentOfPage, folder }, advisers).faults).toEqual([]);
});

test('file without references reads nothing from the environment', () => {
  const text = provider('    api_key: ${KEY}\n    regions: ["${file:/etc/passwd}", "$${plain}"]\n');
  const { desired, faults } = readGatewayText(text, null, advisers);
  expect(faults.map(({ path, problem }) => [path, problem]).toSorted()).toEqual([
    ['providers.one.api_key', 'references are only followed on the command line'],
    ['providers.one.regions[0]', 'references are only followed on the command line'],
  ]);
  expect(desired.providers[0]).toMatchObject({ regions: ['${plain}'], credentials: [] });
});

test('issue in the declared facts of a model is reported at its own path', () => {
  const text = `${provider('')}
models:
  large:
    facts:
      sampling: never
      max_out: 20000
      thinking:
        types: [adaptive, loud]
        unasked: true
    lanes:
      - provider: one
        model: m
        region: eu
        facts: gpt-6.1-soll
        wire: messages
`;
  const knownFacts =
    'window, widened, max_output, thinking, sampling, forced_tools, prefill, chat, chat_refuses, schema, ' +
    'reasoning_history, drops_blocks, pictures, long_context, harmless_fields, rounds, thinks_outside_max_tokens, ' +
    'ends, replaced_by, wire';
  expect(issuesOf(text)).toEqual([
    '19 models.large.lanes[0].facts: nothing is known of a model "gpt-6.1-soll"; did you mean "gpt-6.1-sol"?',
    '20 models.large.lanes[0].wire: expected one of chat, responses',
    '10 models.large.facts.sampling: expected one of free, unless-thinking, refused, ignored',
    `11 models.large.facts.max_out: is not known here; there are ${knownFacts}`,
    '12 models.large.facts.thinking.can_stop: is missing',
    '13 models.large.facts.thinking.types[1]: expected one of adaptive, between_tools, enabled, disabled',
  ]);
});
