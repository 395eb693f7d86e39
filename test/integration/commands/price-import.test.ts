import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
let pricesPath: string;
beforeAll(async () => {
  fixture = await CommandFixture.open();
  await fixture.apply(`version: 1
providers:
  one: { style: openai-style, base_url: "https://one.example/v1", regions: [eu], settings: { anonymous: true } }
  other: { style: openai-style, base_url: "https://other.example/v1", settings: { anonymous: true } }
models:
  bare: { lanes: [{ provider: one, model: bare-upstream, region: eu }] }
  by-hand: { lanes: [{ provider: one, model: hand-upstream, region: eu }], price: { input: 7, output: 0 } }
  chain:
    lanes:
      - { provider: one, model: chain-upstream, region: eu }
      - { provider: other, model: else, region: us, price: { input: 8, output: 0 } }
  orphan: { lanes: [{ provider: one, model: orphan-upstream, region: eu }], price: { input: 1, output: 0 } }
`);
  pricesPath = fixture.file(
    'prices.json',
    `{
      "sample_spec": {"litellm_provider": "one"},
      "bare-upstream": {"litellm_provider": "one", "input_cost_per_token": 1e-05, "output_cost_per_token": 2e-05},
      "hand-upstream": {"litellm_provider": "one", "input_cost_per_token": 9e-06, "output_cost_per_token": 0},
      "one/chain-upstream": {"litellm_provider": "one", "input_cost_per_token": 1e-06, "output_cost_per_token": 0, "secret_sauce": true, "cost_per_smile": 1},
      "one/newcomer": {"litellm_provider": "one", "input_cost_per_token": 4e-06, "output_cost_per_token": 0, "max_input_tokens": 1000},
      "films": {"litellm_provider": "one", "mode": "video_generation"},
      "foreign": {"litellm_provider": "stranger", "input_cost_per_token": 1e-06, "stranger_key": 1}
    }`,
  );
});
afterAll(() => fixture.close());

test('an import lists new, changed, missing and kept prices and changes nothing', async () => {
  const revisionBefore = (await fixture.snapshot()).revision;
  const { code, output } = await fixture.run(['import', 'litellm-prices', pricesPath]);
  expect(code).toBe(0);
  expect(output).toBe(`~ model bare
    price input: none → $10
    price output: none → $20
~ model chain
    lane one · chain-upstream · eu price input: none → $1
    lane one · chain-upstream · eu price output: none → $0
+ model newcomer
    state: paused
    lane one · newcomer · eu: priority 0, weight 1
    price: input $4, output $0
Gone from the list, left as it is:
  model orphan: one · orphan-upstream
Kept (--overwrite takes what the list says):
  model by-hand: price input is $7, in the list $9 (set by file gateway.yaml by command line)
Not taken over:
  films: models of the kind "video_generation" are not served here
Prices without a place here, not charged:
  cost_per_smile (one/chain-upstream)
Keys without a place here:
  secret_sauce (1)
1 new, 2 changed, 1 gone. Nothing was changed; --apply does it.
`);
  expect((await fixture.snapshot()).revision).toBe(revisionBefore);
});

test('--only limits the import, --apply writes it, and a manual price is kept', async () => {
  const { output } = await fixture.run([
    'import',
    'litellm-prices',
    pricesPath,
    '--only',
    'bare-upstream',
    '--apply',
  ]);
  expect(output).toContain('0 new, 1 changed, 1 gone. Applied.');
  await fixture.run(['import', 'litellm-prices', pricesPath, '--apply']);
  const snapshot = await fixture.snapshot();
  expect(snapshot.model('bare')?.prices[0]).toMatchObject({
    source: 'import litellm-prices by command line',
    laneId: null,
    rates: { input: 10_000_000_000n, output: 20_000_000_000n },
  });
  expect(snapshot.model('by-hand')?.prices[0]?.rates.input).toBe(7_000_000_000n);
  expect(snapshot.model('newcomer')).toMatchObject({ state: 'paused', contextTokens: 1_000 });
  const chain = snapshot.resolve('chain', Date.now());
  if (chain.kind !== 'found') throw new Error(chain.code);
  expect(chain.lanes.map(({ price }) => price.rates.input)).toEqual([1_000_000_000n, 8_000_000_000n]);
  const entries = await fixture.database.query<Record<string, unknown>>(
    "SELECT actor_label, object_type, changes FROM activity WHERE object_label = 'bare' ORDER BY id",
  );
  expect(entries.at(-1)).toMatchObject({
    actor_label: 'command line',
    object_type: 'model',
    changes: { 'price input': [null, '$10'] },
  });
});

test('a second import changes nothing', async () => {
  const { output } = await fixture.run(['import', 'litellm-prices', pricesPath, '--apply']);
  expect(output).toMatch(/\nNothing to do\.\n$/);
});

test('an imported price is replaced by the next import, and a manual price only with --overwrite', async () => {
  const higherPrices = fixture.file(
    'api.json',
    `{"theirs": {"models": {"bare-upstream": {"cost": {"input": 11, "output": 20}},
                            "hand-upstream": {"cost": {"input": 9.5, "output": 0}}}}}`,
  );
  const args = ['import', 'models-dev', higherPrices, '--provider', 'one=theirs', '--apply'];
  const { output } = await fixture.run(args);
  expect(output).toContain('~ model bare\n    price input: $10 → $11\n');
  expect(output).toContain('price input is $7, in the list $9.5');
  expect((await fixture.run([...args, '--overwrite'])).output).toContain('price input: $7 → $9.5');
  expect((await fixture.snapshot()).model('by-hand')?.prices.map(({ rates }) => rates.input)).toEqual([
    9_500_000_000n,
    7_000_000_000n,
  ]);
});

test.each([
  [['--provider', 'onne'], 'There is no provider "onne"; did you mean "one"?'],
  [['--provider', 'one=strange'], 'The list has no provider "strange"; did you mean "stranger"?'],
])('an unknown provider (%j) is a usage error', async (words, message) => {
  const { code, complaint } = await fixture.run(['import', 'litellm-prices', pricesPath, ...words]);
  expect(code).toBe(64);
  expect(complaint).toContain(message);
});
