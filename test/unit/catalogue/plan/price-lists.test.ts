import { parseExactly } from '../../../../src/catalogue/plan/price-list/exact-json';
import { litellmPrices } from '../../../../src/catalogue/plan/price-list/litellm';
import { modelsDevPrices } from '../../../../src/catalogue/plan/price-list/models-dev';
import { findNearest } from '../../../../src/catalogue/plan/nearest';
import { priceRates } from '../../../../src/kernel';

const litellm = (models: string) => litellmPrices.read(parseExactly(models));
const modelsDev = (content: string) => modelsDevPrices.read(parseExactly(content));

test('token price is read exactly from its text, including 1e-05 and more digits than a float holds', () => {
  const { offers } = litellm(`{
    "small": {"litellm_provider": "one", "mode": "chat", "input_cost_per_token": 1e-05,
              "output_cost_per_token": 0.000000123456789, "cache_read_input_token_cost": "2.5E-6"}
  }`);
  expect(offers.map(({ rates }) => rates)).toEqual([
    priceRates({ input: 10_000_000_000n, output: 123_456_789n, cacheRead: 2_500_000_000n }),
  ]);
});

test('every mapped field is read, samples are skipped and unknown keys are counted', () => {
  const list = litellm(`{
    "sample_spec": {"litellm_provider": "an explanation", "input_cost_per_token": 0},
    "fallback_generalizations": {"one/*": "small"},
    "one/large": {
      "litellm_provider": "one", "mode": "chat", "max_tokens": 1, "max_input_tokens": 200000, "max_output_tokens": 8192,
      "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
      "cache_read_input_token_cost": 3e-07, "cache_creation_input_token_cost": 3.75e-06,
      "cache_creation_input_token_cost_above_1hr": 6e-06, "output_cost_per_reasoning_token": 1.6e-05,
      "input_cost_per_audio_token": 4e-06, "output_cost_per_audio_token": 2e-05, "input_cost_per_image_token": 5e-06,
      "input_cost_per_token_above_200k_tokens": 6e-06, "output_cost_per_token_above_200k_tokens": 2.25e-05,
      "cache_read_input_token_cost_above_200k_tokens": 6e-07, "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06,
      "supports_function_calling": true, "supports_reasoning": true, "supports_prompt_caching": false,
      "supports_vision": true, "supported_regions": ["eu"], "deprecation_date": "2027-06-01",
      "search_context_cost_per_query": {"search_context_size_low": 0.01}, "supports_mind_reading": true
    },
    "voice": {"litellm_provider": "one", "mode": "audio_transcription", "input_cost_per_second": 0.0001},
    "ranks": {"litellm_provider": "one", "mode": "rerank", "input_cost_per_query": 0.002},
    "films": {"litellm_provider": "one", "mode": "video_generation", "output_cost_per_second": 0.1},
    "free": {"litellm_provider": "one", "mode": "chat", "max_tokens": 10},
    "cheaper": {"litellm_provider": "one", "input_cost_per_token": 2e-06, "output_cost_per_token": 0,
                "input_cost_per_token_above_128k_tokens": 1e-06},
    "exact": {"litellm_provider": "one", "input_cost_per_token": 1e-16},
    "half": {"litellm_provider": "one", "input_cost_per_token": 1e-06}
  }`);
  const [large, voice, ranks] = list.offers;
  expect(large).toEqual({
    id: 'one/large',
    provider: 'one',
    displayName: 'one/large',
    kind: 'chat',
    contextTokens: 200_000,
    maxOutputTokens: 8_192,
    inputModalities: ['text', 'image'],
    outputModalities: ['text'],
    capabilities: ['tools', 'reasoning'],
    regions: ['eu'],
    endOfLife: '2027-06-01',
    rates: priceRates({
      input: 3_000_000_000n,
      output: 15_000_000_000n,
      cacheRead: 300_000_000n,
      cacheWrite: 3_750_000_000n,
      cacheWriteLong: 6_000_000_000n,
      reasoning: 16_000_000_000n,
      audioInput: 4_000_000_000n,
      audioOutput: 20_000_000_000n,
      image: 5_000_000_000n,
      tiers: [
        {
          aboveInputTokens: 200_000,
          input: 6_000_000_000n,
          output: 22_500_000_000n,
          cacheRead: 600_000_000n,
          cacheWrite: 7_500_000_000n,
        },
      ],
      uses: { web_search: 10_000_000n, web_search_low: 10_000_000n },
    }),
  });
  expect(voice).toMatchObject({ kind: 'transcription', rates: { perMinuteNano: 6_000_000n } });
  expect(ranks).toMatchObject({ kind: 'rerank', rates: { perCallNano: 2_000_000n } });
  expect(list.offers).toHaveLength(3);
  expect(list.refused.map(({ id, reason }) => [id, reason])).toEqual([
    ['films', 'models of the kind "video_generation" are not served here'],
    ['free', 'it has no price of a kind that is charged here'],
    ['cheaper', expect.stringContaining('cheaper than below')],
    ['exact', expect.stringContaining('at most nine decimals')],
    ['half', 'a chat model needs a price of input and of output'],
  ]);
  // A rejected entry is reported as one entry, so its keys are not listed.
  expect(list.unknownKeys).toEqual([{ id: 'one/large', provider: 'one', key: 'supports_mind_reading' }]);
});

const DEV_MODEL = `{
  "id": "large", "name": "The Large One", "tool_call": {"parallel": true}, "reasoning": true, "attachment": true,
  "modalities": {"input": ["text", "pdf"], "output": ["text"]}, "limit": {"context": 200000, "output": 64000},
  "cost": {"input": 3, "output": 15.10, "cache_read": 0.30, "cache_write": 3.75, "input_audio": 4,
           "context_over_200k": {"input": 6, "output": 22.5, "cache_read": 0.6, "cache_write": 7.5}, "per_smile": 1},
  "status": "deprecated", "weights": "open"
}`;

test.each([
  ['at the root', `{"two": {"id": "two", "models": {"large": ${DEV_MODEL}}}}`],
  ['below "providers"', `{"providers": {"two": {"models": {"large": ${DEV_MODEL}}}}}`],
])('models.dev list is read with its providers %s', (_where, content) => {
  const { offers, unknownKeys, refused } = modelsDev(content);
  expect(refused).toEqual([]);
  expect(offers).toEqual([
    {
      id: 'large',
      provider: 'two',
      displayName: 'The Large One',
      kind: 'chat',
      contextTokens: 200_000,
      maxOutputTokens: 64_000,
      inputModalities: ['text', 'document'],
      outputModalities: ['text'],
      capabilities: ['tools', 'reasoning', 'prompt_caching'],
      regions: [],
      endOfLife: 'deprecated',
      rates: priceRates({
        input: 3_000_000_000n,
        output: 15_100_000_000n,
        cacheRead: 300_000_000n,
        cacheWrite: 3_750_000_000n,
        audioInput: 4_000_000_000n,
        tiers: [
          {
            aboveInputTokens: 200_000,
            input: 6_000_000_000n,
            output: 22_500_000_000n,
            cacheRead: 600_000_000n,
            cacheWrite: 7_500_000_000n,
          },
        ],
      }),
    },
  ]);
  expect(unknownKeys.map(({ key }) => key)).toEqual(['weights', 'cost.per_smile']);
});

test.each(['[]', '{"a": 5}', '{"a": null}', '{"a": {"models": [1]}}', '7'])(
  'content of another shape (%s) yields no offers and no exception',
  (content) => {
    expect(litellm(content).offers).toEqual([]);
    expect(modelsDev(content).offers).toEqual([]);
  },
);

test('closest name is suggested only when it is close', () => {
  expect(findNearest('base_ulr', ['base_url', 'style'])).toBe('base_url');
  expect(findNearest('zzz', ['base_url', 'style'])).toBeUndefined();
});
