import { costOf, parseUsdPerMillion, priceRates } from '../../../src/kernel';
import { dialects } from '../../../src/protocol';

// The operator's price list of gpt-6.2-sol, per 1M tokens: cached input $0.10, cache writes $2.50 for 30 minutes and
// $5.00 for 12 hours. Details of the lifetimes: typings of openai 7.59.0, `CacheWriteTokensDetails`.
const rates = priceRates({
  input: parseUsdPerMillion('2'),
  output: parseUsdPerMillion('10'),
  cacheRead: parseUsdPerMillion('0.10'),
  cacheWrite: parseUsdPerMillion('2.50'),
  cacheWriteLong: parseUsdPerMillion('5'),
});

const cacheDetails = (written: object): object => ({
  cached_tokens: 1_000,
  cache_write_tokens: 3_000,
  ...written,
});
const costs = (written: object): bigint[] => {
  const responses = {
    usage: {
      input_tokens: 10_000,
      output_tokens: 0,
      total_tokens: 10_000,
      input_tokens_details: cacheDetails(written),
    },
  };
  const chat = {
    usage: {
      prompt_tokens: 10_000,
      completion_tokens: 0,
      total_tokens: 10_000,
      prompt_tokens_details: cacheDetails(written),
    },
  };
  return [dialects.responses.usageIn(responses), dialects.chat.usageIn(chat)].map((reading) => {
    if (reading.kind !== 'ok') throw new Error(reading.kind);
    return costOf(reading.usage, rates, null);
  });
};

// Issue: "12-hour cache writes are booked at the ordinary rate". 6,000 tokens of input cost $0.012, and 1,000 cached
// ones $0.0001.
test.each([
  [{}, 12_100_000n + 7_500_000n],
  [{ ttl_30m_tokens: 3_000, ttl_12h_tokens: 0 }, 12_100_000n + 7_500_000n],
  [{ ttl_30m_tokens: 1_000, ttl_12h_tokens: 2_000 }, 12_100_000n + 2_500_000n + 10_000_000n],
  [{ ttl_30m_tokens: 0, ttl_12h_tokens: 3_000 }, 12_100_000n + 15_000_000n],
  // An unknown lifetime costs as much as the longest known one.
  [{ ttl_30m_tokens: 1_000, ttl_7d_tokens: 2_000 }, 12_100_000n + 2_500_000n + 10_000_000n],
])('cache writes with the lifetimes %j are charged at their rates', (lifetimes, cost) => {
  const writeDetails = Object.keys(lifetimes).length === 0 ? {} : { cache_write_tokens_details: lifetimes };
  expect(costs(writeDetails)).toEqual([cost, cost]);
});
