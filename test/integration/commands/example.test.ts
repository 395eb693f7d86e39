import { join } from 'node:path';
import { SecretBox } from '#product/platform';
import { MasterKeys } from '#inside/platform/secrets/index';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { runChild } from '../../support/child';
import { CommandFixture } from './command-fixture';

const root = join(__dirname, '..', '..', '..');
const example = join(root, 'examples', 'gateway.yaml');
const usd = parseUsdPerMillion;
let fixture: CommandFixture;

beforeAll(async () => {
  fixture = await CommandFixture.open();
  Object.assign(fixture.environment, {
    OPENAI_API_KEY: 'openai-canary-0123456789',
    ANTHROPIC_API_KEY: 'anthropic-canary-0123456789',
    MASTER_KEY: 'master-key-of-the-example-test-0123',
  });
});
afterAll(() => fixture.close());

const revision = async (): Promise<bigint> => (await fixture.snapshot()).revision;

test('a plan lists every change without secret values and changes nothing', async () => {
  const revisionBefore = await revision();
  const { code, output } = await fixture.run(['plan', example]);
  expect(code).toBe(0);
  expect(output).toContain('+ provider anthropic');
  expect(output).toContain('secret gateway.yaml: set');
  expect(output).toContain('price: input $2, output $10');
  // Defaults are omitted, so each object takes one or two lines.
  expect(output.split('\n').length).toBeLessThan(40);
  expect(output).not.toContain('canary');
  expect(output).toMatch(/8 new, 0 changed\.\n$/);
  expect(await revision()).toBe(revisionBefore);
});

test('a plan without its variables names each missing variable and no consequential error', async () => {
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, ...environment } = fixture.environment;
  Object.assign(fixture.environment, { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' });
  try {
    const { code, complaint } = await fixture.run(['plan', example]);
    expect(code).toBe(1);
    const faults = complaint.split('\n').filter((line) => line.startsWith('  '));
    expect(faults).toEqual([
      expect.stringContaining('the environment variable OPENAI_API_KEY is not set'),
      expect.stringContaining('the environment variable ANTHROPIC_API_KEY is not set'),
    ]);
  } finally {
    Object.assign(fixture.environment, { ...environment, OPENAI_API_KEY, ANTHROPIC_API_KEY });
  }
});

test('the built CLI applies the example, and a second run changes nothing', async () => {
  const args = ['apply', example, '--yes'];
  const child = runChild(join(root, 'dist', 'bundle', 'cli.js'), args, fixture.environment);
  const { code, complaint } = await child.finish();
  expect([code, complaint]).toEqual([0, expect.stringMatching(/^Installation: .*\n$/)]);
  const revisionBefore = await revision();
  const secondRun = await fixture.run(args);
  expect(secondRun).toMatchObject({ code: 0, output: 'Nothing to do.\n', complaint: '' });
  expect(await revision()).toBe(revisionBefore);
});

test('models resolve to their lanes in order at exactly the prices of the file', async () => {
  const snapshot = await fixture.snapshot();
  for (const name of ['assistant', 'default', 'claude-assistant']) {
    const resolution = snapshot.resolve(name, Date.now());
    if (resolution.kind !== 'found') throw new Error(resolution.code);
    expect(resolution.model).toMatchObject({ name: 'assistant', kind: 'chat', contextTokens: 1_050_000 });
    expect(resolution.lanes.map(({ lane }) => [lane.provider.name, lane.upstreamModel, lane.region])).toEqual(
      [
        ['openai', 'gpt-6.1-sol', 'us'],
        ['anthropic', 'claude-sonnet-5-5', 'us'],
        ['local', 'Qwen/Qwen3-32B', 'local'],
      ],
    );
    expect(resolution.lanes.map(({ price }) => price.rates)).toEqual([
      priceRates({
        input: usd('2'),
        output: usd('10'),
        cacheRead: usd('0.1'),
        cacheWrite: usd('2.5'),
        tiers: [
          {
            aboveInputTokens: 272_000,
            input: usd('4'),
            output: usd('15'),
            cacheRead: usd('0.2'),
            cacheWrite: usd('5'),
          },
        ],
      }),
      priceRates({
        input: usd('2'),
        output: usd('10'),
        cacheRead: usd('0.1'),
        cacheWrite: usd('2.5'),
        cacheWriteLong: usd('4'),
      }),
      priceRates({}),
    ]);
  }
  const europe = snapshot.resolve('assistant-eu', Date.now());
  if (europe.kind !== 'found') throw new Error(europe.code);
  expect(europe.lanes[0]?.price.rates).toEqual(
    priceRates({
      input: usd('2.2'),
      output: usd('11'),
      cacheRead: usd('0.11'),
      cacheWrite: usd('2.75'),
    }),
  );
  const embeddings = snapshot.resolve('embeddings', Date.now());
  if (embeddings.kind !== 'found') throw new Error(embeddings.code);
  expect(embeddings.lanes.map(({ lane }) => [lane.priority, lane.weight])).toEqual([
    [0, 3],
    [0, 1],
  ]);
  expect(snapshot.providers.find(({ name }) => name === 'openai')?.timeouts).toEqual({ firstToken: 8_000 });
});

test('secrets are stored encrypted and bound to their host', async () => {
  const rows = await fixture.database.query<
    Record<string, string> & Record<'wrapped_key' | 'nonce' | 'ciphertext', Buffer>
  >(`SELECT c.*, p.name FROM provider_credential c JOIN provider p ON p.id = c.provider_id ORDER BY p.name`);
  expect(rows.map(({ name, kind, host }) => [name, kind, host])).toEqual([
    ['anthropic', 'header', 'https://api.anthropic.com'],
    ['openai', 'bearer', 'https://api.openai.com'],
  ]);
  const box = new SecretBox(MasterKeys.parse(fixture.environment['MASTER_KEY'] ?? ''));
  const opened = rows.map((row) =>
    box.open(
      {
        keyId: row['key_id'] ?? '',
        wrappedKey: row.wrapped_key,
        nonce: row.nonce,
        ciphertext: row.ciphertext,
      },
      { table: 'provider_credential', row: row['id'] ?? '', field: 'secret', host: row['host'] ?? '' },
    ),
  );
  expect(opened).toEqual([
    { ok: true, value: 'anthropic-canary-0123456789' },
    { ok: true, value: 'openai-canary-0123456789' },
  ]);
});

test('a changed secret is reported and stored', async () => {
  const revisionBefore = await revision();
  fixture.environment['OPENAI_API_KEY'] = 'openai-canary-9876543210';
  const { output } = await fixture.run(['apply', example, '--yes']);
  expect(output).toBe(
    '~ provider openai\n    secret gateway.yaml: set → changed\n0 new, 1 changed.\nApplied.\n',
  );
  expect(await revision()).toBeGreaterThan(revisionBefore);
  expect((await fixture.run(['plan', example])).output).toBe('Nothing to do.\n');
});
