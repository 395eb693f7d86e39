import { ScriptedSupplier } from '../../support/scripted-supplier';
import { startSimulator, type Simulator } from '../../support/simulator';
import { CommandFixture, type CommandResult } from './command-fixture';

/** Compares the catalogue with the model lists that vendors publish. */
let fixture: CommandFixture;
let vendor: Simulator;
let other: ScriptedSupplier;

const VENDOR_SECRET = 'sim-1234567890';
const price = 'price: { input: 1, output: 1 }';

beforeAll(async () => {
  fixture = await CommandFixture.open();
  vendor = await startSimulator();
  other = await ScriptedSupplier.start();
  fixture.environment['A_KEY'] = VENDOR_SECRET;
});
afterAll(async () => {
  await vendor.stop();
  await other.stop();
  await fixture.close();
});

/** Applies a file with these providers and these models. */
async function applyCatalogue(
  providers: Readonly<Record<string, string>>,
  models: Readonly<Record<string, string>>,
) {
  const formatEntries = (all: Readonly<Record<string, string>>, more: string): string =>
    Object.entries(all)
      .map(([name, text]) => `  ${name}: { ${text}, ${more} }\n`)
      .join('');
  const { complaint } = await fixture.apply(
    `version: 1\nproviders:\n${formatEntries(providers, 'api_key: "${A_KEY}"')}models:\n${formatEntries(models, price)}`,
    '--prune',
  );
  expect(complaint).toBe('');
}
const lane = (provider: string, model: string, more = ''): string =>
  `{ provider: ${provider}, model: ${model}, region: eu${more} }`;
const lanesOf = (...lanes: string[]): string => `lanes: [${lanes.join(', ')}]`;
const compare = (...words: string[]): Promise<CommandResult> => fixture.run(['models', 'compare', ...words]);
const factsOf = async (name: string): Promise<object | undefined> =>
  (await fixture.database.query<{ facts: object }>('SELECT facts FROM model WHERE name = $1', [name]))[0]
    ?.facts;
const vendorProviders = (): Record<string, string> => ({
  claude: `style: messages-style, base_url: "${vendor.url}"`,
  gpt: `style: openai-style, base_url: "${vendor.url}/v1"`,
});

test('models that a vendor lists differently or not at all are reported, except aliases and deployments', async () => {
  await applyCatalogue(
    {
      ...vendorProviders(),
      closed: 'style: openai-style, base_url: "http://127.0.0.1:9/v1"',
      deployments: `style: openai-style, base_url: "${vendor.url}", settings: { profile: azure }`,
    },
    {
      alias: lanesOf(lane('claude', 'claude-sonnet-4-5')),
      away: lanesOf(lane('closed', 'gpt-5.5')),
      ended: lanesOf(lane('claude', 'claude-2')),
      gone: lanesOf(lane('gpt', 'gpt-3')),
      house: lanesOf(lane('deployments', 'mine')),
      known: lanesOf(lane('claude', 'claude-opus-5-5'), lane('gpt', 'gpt-5.5')),
      mixed: lanesOf(lane('claude', 'claude-opus-5', ', facts: claude-opus-4-5'), lane('gpt', 'gpt-5.5')),
      narrow: `${lanesOf(lane('claude', 'claude-opus-5'))}, facts: { window: 400000 }`,
      own: lanesOf(lane('claude', 'sim-large')),
      wide: `${lanesOf(lane('claude', 'claude-opus-4-8'))}, facts: { window: 2000000, schema: none, thinking: { efforts: [low], usual: low, unasked: false, can_stop: true } }`,
    },
  );
  const { code, output } = await compare();
  expect(output.split('\n')).toEqual([
    expect.stringMatching(/^claude: \d+ models listed, differences:$/),
    '  ended (claude-2): the vendor has no model of this name',
    // The other lane of this model has a larger window.
    '  mixed (claude-opus-5): window 200000 here, 1000000 at the vendor (sets less aside)',
    '  mixed (claude-opus-5): max_output 64000 here, 128000 at the vendor',
    '  mixed (claude-opus-5): thinking enabled; low, medium, high here, adaptive; low, medium, high, xhigh, max at the vendor',
    '  narrow (claude-opus-5): window 400000 here, 1000000 at the vendor',
    '  own (sim-large): window – here, 200000 at the vendor (sets less aside)',
    '  own (sim-large): max_output – here, 128000 at the vendor (sets less aside)',
    '  wide (claude-opus-4-8): window 2000000 here, 1000000 at the vendor (sets less aside)',
    '  wide (claude-opus-4-8): thinking –; low here, adaptive; low, medium, high, xhigh, max at the vendor',
    '  wide (claude-opus-4-8): schema none here, anthropic at the vendor',
    'closed: could not be asked: connect ECONNREFUSED 127.0.0.1:9',
    expect.stringMatching(/^gpt: \d+ models listed, differences:$/),
    '  gone (gpt-3): the vendor has no model of this name',
    '',
  ]);
  expect(code).toBe(1);
  const doctorResult = await fixture.run(['doctor', '--vendors']);
  expect(doctorResult.output).toContain(
    'warn  models of claude: ended (claude-2): the vendor has no model of this name; ',
  );
  expect(doctorResult.output).toContain('warn  models of closed: could not be asked: connect ECONNREFUSED');
  expect((await fixture.run(['doctor'])).output).not.toContain('models of claude');
});

test('--take applies and logs vendor values, and applies values that lower the hold only with --lower', async () => {
  const models = {
    narrow: `${lanesOf(lane('claude', 'claude-opus-5'))}, facts: { window: 400000, sampling: free }`,
    wide: `${lanesOf(lane('claude', 'claude-opus-4-8'))}, facts: { window: 2000000, schema: none }`,
  };
  await applyCatalogue(vendorProviders(), models);
  const managedResult = await compare('--take', 'narrow');
  expect([managedResult.code, managedResult.output]).toEqual([
    1,
    expect.stringContaining(
      'narrow: not taken over, it is kept by a gateway file: put "facts: {"window":1000000}" there and apply it\n',
    ),
  ]);
  await fixture.database.query('UPDATE model SET managed = false');
  const { code, output } = await compare('--provider', 'claude', '--take', 'narrow,wide,absent');
  expect(code).toBe(1);
  expect(output).toContain(
    'narrow: taken over, {"window":1000000}\nwide: taken over, {"schema":"anthropic"}\n',
  );
  expect(output).toContain('absent: not taken over, no vendor that was asked serves it\n');
  expect(await factsOf('narrow')).toEqual({ window: 1_000_000, sampling: 'free' });
  expect(await factsOf('wide')).toEqual({ window: 2_000_000, schema: 'anthropic' });
  expect((await compare('--take', 'wide')).output).toContain('there is nothing to take over without --lower');
  expect((await compare('--take', 'wide', '--lower')).output).toContain(
    'wide: taken over, {"window":1000000}',
  );
  expect(await factsOf('wide')).toEqual({ window: 1_000_000, schema: 'anthropic' });
  const entries = await fixture.database.query(
    `SELECT object_label, actor_label, changes->'facts'->1 AS facts, reason FROM activity
      WHERE action = 'model.changed' AND reason LIKE 'as the list%' ORDER BY id`,
  );
  expect(entries).toEqual(
    [
      ['narrow', { window: 1_000_000, sampling: 'free' }],
      ['wide', { schema: 'anthropic', window: 2_000_000 }],
      ['wide', { schema: 'anthropic', window: 1_000_000 }],
    ].map(([model, facts]) => ({
      object_label: model,
      actor_label: 'command line',
      facts: JSON.stringify(facts),
      reason: 'as the list of models of claude says',
    })),
  );
  const secondCompare = await compare();
  expect([secondCompare.code, secondCompare.output]).toEqual([
    0,
    expect.stringMatching(/^claude: \d+ models listed, nothing differs\n$/),
  ]);
  expect((await compare('--provider', 'nobody')).code).toBe(64);
});

describe('A long, malformed or refused model list', () => {
  const page = (ids: string[], more = false): object => ({
    data: ids.map((id) => ({ type: 'model', id })),
    has_more: more,
    last_id: ids.at(-1),
  });
  const compareOther = async (style: string): Promise<string> => {
    await applyCatalogue(
      { other: `style: ${style}, base_url: "${other.url}"` },
      { m: lanesOf(lane('other', 'm-7')) },
    );
    other.requests.length = 0;
    return (await compare()).output.trim();
  };

  test('is read page by page, up to ten pages', async () => {
    const pages = new Map([
      ['/v1/models?limit=1000', page(['m-1', 'm-2'], true)],
      ['/v1/models?limit=1000&after_id=m-2', page(['m-7'])],
    ]);
    other.answer = ({ path }) => ({ body: pages.get(path) ?? {} });
    expect(await compareOther('messages-style')).toBe('other: 3 models listed, nothing differs');
    expect(other.requests[0]?.headers).toMatchObject({
      'x-api-key': VENDOR_SECRET,
      'anthropic-version': '2023-06-01',
    });
    let servedPages = 0;
    other.answer = ({ path }) =>
      path.endsWith('/m-7') ? { status: 404, body: {} } : { body: page([`n-${(servedPages += 1)}`], true) };
    expect(await compareOther('messages-style')).toContain('m (m-7): the vendor has no model of this name');
    expect(other.requests).toHaveLength(11);
  });

  test('prints no secret, and redirects are not followed', async () => {
    other.answer = { status: 401, body: { error: { message: `no\n\u001b[31m${VENDOR_SECRET}` } } };
    expect(await compareOther('openai-style')).toBe(
      'other: could not be asked: it answered 401: no [31m[redacted]',
    );
    expect(other.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/v1/models', `Bearer ${VENDOR_SECRET}`],
    ]);
    other.answer = { status: 302, headers: { location: vendor.url }, body: '' };
    expect(await compareOther('openai-style')).toBe(
      'other: could not be asked: it answered 302 without a list of models',
    );
    other.answer = { body: '<html>' };
    expect(await compareOther('openai-style')).toContain('it answered 200 without a list of models');
    other.answer = { body: { data: [], more: 'x'.repeat(5 * 1024 * 1024) } };
    expect(await compareOther('openai-style')).toContain('other: could not be asked: ');
  });

  test('can be a bare array, and entries that are not models are ignored', async () => {
    other.answer = { body: [{ id: 'm-7', max_input_tokens: '9' }, { id: 7 }, null, 'm-8'] };
    expect(await compareOther('openai-style')).toBe('other: 1 models listed, nothing differs');
  });
});
