/** Price list as written by an operator, in dollars per million tokens; odd figures expose wrong rounding. */

const open = {
  input: 2.513,
  output: 10.037,
  cache_read: 0.251301,
  cache_write: 3.019,
  reasoning: 11.7,
  audio_input: 40.0001,
  audio_output: 80.000003,
  image: 5.27,
  image_output: 30.01,
  per_call: 0.00000123,
  uses: {
    web_search: 0.0101,
    web_search_low: 0.0077,
    web_search_high: 0.0503,
    file_search: 0.00251,
    code_execution: 0.0301,
  },
  service_tier: {
    flex: { input: 1.2507, output: 5.019, cache_read: 0.1251 },
    priority: { multiplier: 1.750001 },
  },
  tiers: [
    {
      above_input_tokens: 3_000,
      input: 5.026,
      output: 15.0505,
      cache_read: 0.502602,
      image: 5.3,
      cache_write: 6.04,
      reasoning: 15.1,
    },
    { above_input_tokens: 4_500, input: 7.5, output: 20, cache_write: 7.5, image: 7.5, reasoning: 20.1 },
  ],
};
const claude = {
  input: 3.01,
  output: 15.13,
  cache_read: 0.301,
  cache_write: 3.7625,
  cache_write_long: 6.02003,
  uses: { web_search: 0.01, code_execution: 0.0507 },
  service_tier: { priority: { multiplier: 1.3 } },
  speed: { fast: { multiplier: 6 } },
  inference_geo: { us: { multiplier: 1.1 } },
  tiers: [
    {
      above_input_tokens: 3_500,
      input: 6.02,
      output: 22.51,
      cache_read: 0.602,
      cache_write: 7.525,
      cache_write_long: 12.04003,
    },
  ],
};
const google = {
  input: 0.3003,
  output: 2.507,
  cache_read: 0.075,
  audio_input: 1.0001,
  image: 0.31,
  image_output: 30.003,
  uses: { grounding_query: 0.014001 },
};

const styles = {
  'open-a': ['openai-style', { profile: 'openai' }],
  'open-b': ['openai-style', { profile: 'openai' }],
  compat: ['openai-style', {}],
  claude: ['messages-style', {}],
  google: ['gemini', {}],
  ranker: ['cohere-rerank', {}],
} as const;

const model = (kind: string, price: object, ...lanes: (string | readonly [string, object])[]): object => ({
  kind,
  context_tokens: 200_000,
  max_output_tokens: 8_000,
  price,
  lanes: lanes.map((lane, at) => {
    const [provider, own] = typeof lane === 'string' ? [lane, undefined] : lane;
    // If there are several lanes, some fail on purpose; an open circuit breaker would reject the other models of the
    // lane.
    const name = lanes.length > 1 ? 'failing-model' : 'vendor-model';
    const laneSettings = { model: name, region: 'here', priority: at + 1 };
    return { provider, ...laneSettings, ...(own === undefined ? {} : { price: own }) };
  }),
});

/** The path of a provider's base URL ends in its name, which tells the simulated supplier who was called. */
export function priceFile(supplierUrl: string): object {
  return {
    version: 1,
    providers: Object.fromEntries(
      Object.entries(styles).map(([name, [style, settings]]) => [
        name,
        {
          style,
          settings,
          base_url: `${supplierUrl}/${name}/v1`,
          regions: ['here'],
          api_key: '${SUPPLIER_KEY}',
        },
      ]),
    ),
    models: {
      open: model('chat', open, 'open-a'),
      claude: model('chat', claude, 'claude'),
      google: model('chat', google, 'google'),
      'google-by-prompt': model('chat', { ...google, uses: { grounded_prompt: 0.0351 } }, 'google'),
      compat: model('chat', { input: 0.153, output: 0.607, reasoning: 0.8001 }, 'compat'),
      lanes: model(
        'chat',
        open,
        'open-a',
        ['open-b', { input: 1.97, output: 7.001, per_call: 0.0000051 }],
        ['claude', claude],
      ),
      'picture-tokens': model(
        'image',
        { input: 5.03, image: 10.07, cache_read: 1.2501, output: 9.1, image_output: 40.003 },
        'open-a',
      ),
      'picture-sizes': model(
        'image',
        {
          input: 0,
          output: 0,
          images: {
            '1024x1024': 0.0401,
            '1024x1792': 0.0803,
            'hd/1024x1024': 0.0807,
            'hd/1024x1792': 0.1203,
          },
        },
        'open-a',
      ),
      embed: model('embedding', { input: 0.0207, output: 0 }, 'open-a'),
      rank: model('rerank', { input: 0, output: 0, per_call: 0.002003 }, 'ranker'),
      'rank-tokens': model('rerank', { input: 0.0503, output: 0 }, 'compat'),
      'scribe-minutes': model('transcription', { input: 0, output: 0, per_minute: 0.006001 }, 'open-a'),
      'scribe-tokens': model('transcription', { input: 2.501, output: 10.003, audio_input: 6.007 }, 'open-a'),
      speak: model('speech', { input: 15.0007, output: 0 }, 'open-a'),
      moderate: model('moderation', { input: 0, output: 0, per_call: 0.00000107 }, 'open-a'),
    },
  };
}
