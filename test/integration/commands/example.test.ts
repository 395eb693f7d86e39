import { join } from 'node:path';
import { SecretBox } from '#product/platform';
import { MasterKeys } from '#inside/platform/secrets/index';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { runChild } from '../../support/child';
import { CommandHouse } from './command-house';

const root = join(__dirname, '..', '..', '..');
const example = join(root, 'examples', 'gateway.yaml');
const usd = parseUsdPerMillion;
let house: CommandHouse;

beforeAll(async () => {
  house = await CommandHouse.open();
  Object.assign(house.environment, {
    OPENAI_API_KEY: 'openai-canary-0123456789',
    ANTHROPIC_API_KEY: 'anthropic-canary-0123456789',
    MASTER_KEY: 'master-key-of-the-example-test-0123',
  });
});
afterAll(() => house.close());

const revision = async (): Promise<bigint> => (await house.snapshot()).revision;

test('a plan shows everything, secrets only as set, and changes nothing', async () => {
  const before = await revision();
  const { code, output } = await house.run(['plan', example]);
  expect(code).toBe(0);
  expect(output).toContain('+ provider anthropic');
  expect(output).toContain('secret gateway.yaml: set');
  expect(output).toContain('price: input $2, output $10');
  // A line or two for each thing, and what is as usual is left out.
  expect(output.split('\n').length).toBeLessThan(40);
  expect(output).not.toContain('canary');
  expect(output).toMatch(/8 new, 0 changed\.\n$/);
  expect(await revision()).toBe(before);
});

test('without its variables a plan names each of them, and nothing that only follows from that', async () => {
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, ...environment } = house.environment;
  Object.assign(house.environment, { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' });
  try {
    const { code, complaint } = await house.run(['plan', example]);
    expect(code).toBe(1);
    const faults = complaint.split('\n').filter((line) => line.startsWith('  '));
    expect(faults).toEqual([
      expect.stringContaining('the environment variable OPENAI_API_KEY is not set'),
      expect.stringContaining('the environment variable ANTHROPIC_API_KEY is not set'),
    ]);
  } finally {
    Object.assign(house.environment, { ...environment, OPENAI_API_KEY, ANTHROPIC_API_KEY });
  }
});

test('the real program applies it, and a second time there is nothing to do', async () => {
  const args = ['apply', example, '--yes'];
  const child = runChild(join(root, 'dist', 'bundle', 'cli.js'), args, house.environment);
  const { code, complaint } = await child.finish();
  expect([code, complaint]).toEqual([0, expect.stringMatching(/^Installation: .*\n$/)]);
  const before = await revision();
  const again = await house.run(args);
  expect(again).toMatchObject({ code: 0, output: 'Nothing to do.\n', complaint: '' });
  expect(await revision()).toBe(before);
});

test('the models resolve to their lanes in order, at exactly the prices of the file', async () => {
  const snapshot = await house.snapshot();
  for (const name of ['assistant', 'default', 'claude-assistant']) {
    const found = snapshot.resolve(name, Date.now());
    if (found.kind !== 'found') throw new Error(found.code);
    expect(found.model).toMatchObject({ name: 'assistant', kind: 'chat', contextTokens: 1_050_000 });
    expect(found.lanes.map(({ lane }) => [lane.provider.name, lane.upstreamModel, lane.region])).toEqual([
      ['openai', 'gpt-6.1-sol', 'us'],
      ['anthropic', 'claude-sonnet-5-5', 'us'],
      ['local', 'Qwen/Qwen3-32B', 'local'],
    ]);
    expect(found.lanes.map(({ price }) => price.rates)).toEqual([
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

test('secrets are stored encrypted, for the address they are meant for', async () => {
  const rows = await house.database.query<
    Record<string, string> & Record<'wrapped_key' | 'nonce' | 'ciphertext', Buffer>
  >(`SELECT c.*, p.name FROM provider_credential c JOIN provider p ON p.id = c.provider_id ORDER BY p.name`);
  expect(rows.map(({ name, kind, host }) => [name, kind, host])).toEqual([
    ['anthropic', 'header', 'https://api.anthropic.com'],
    ['openai', 'bearer', 'https://api.openai.com'],
  ]);
  const box = new SecretBox(MasterKeys.parse(house.environment['MASTER_KEY'] ?? ''));
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

test('a changed secret is said to be changed, and is', async () => {
  const before = await revision();
  house.environment['OPENAI_API_KEY'] = 'openai-canary-9876543210';
  const { output } = await house.run(['apply', example, '--yes']);
  expect(output).toBe(
    '~ provider openai\n    secret gateway.yaml: set → changed\n0 new, 1 changed.\nApplied.\n',
  );
  expect(await revision()).toBeGreaterThan(before);
  expect((await house.run(['plan', example])).output).toBe('Nothing to do.\n');
});
