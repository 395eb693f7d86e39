import * as fc from 'fast-check';
import {
  maxCostOf,
  completionTokens,
  costOf,
  maxAffordableOutput,
  priceRates,
  promptTokens,
  totalTokens,
  USAGE_BUCKETS,
  type UsageCounts,
  usageOf,
} from '../../../../src/kernel';

const perMillion = (dollars: number): bigint => BigInt(dollars) * 1_000_000_000n;

const rate = fc.bigInt({ min: 0n, max: 100_000_000_000n });
const optional = fc.option(rate);
const plainPrice = fc
  .record({
    input: rate,
    output: rate,
    cacheRead: optional,
    cacheWrite: optional,
    cacheWriteLong: optional,
    reasoning: optional,
    audioInput: optional,
    audioOutput: optional,
    image: optional,
    perCallNano: rate,
    perMinuteNano: rate,
  })
  .map((rates) => priceRates(rates));

/** Tiers that multiply every rate of the base, so that they rise monotonically. */
const tieredPrice = fc
  .tuple(plainPrice, fc.uniqueArray(fc.integer({ min: 1, max: 2_000 }), { maxLength: 3 }))
  .map(([base, thresholds]) => {
    const tiers = [...thresholds]
      .sort((a, b) => a - b)
      .map((aboveInputTokens, index) => {
        const scaled = (value: bigint | null): bigint | null => value && value * BigInt(index + 2);
        return {
          aboveInputTokens,
          input: scaled(base.input),
          output: scaled(base.output),
          cacheRead: scaled(base.cacheRead),
          cacheWrite: scaled(base.cacheWrite),
          cacheWriteLong: scaled(base.cacheWriteLong),
          reasoning: scaled(base.reasoning),
          audioInput: scaled(base.audioInput),
          audioOutput: scaled(base.audioOutput),
          image: scaled(base.image),
        };
      });
    return priceRates({ ...base, tiers });
  });

const quantity = fc.integer({ min: 0, max: 3_000 });
const counts = fc
  .array(quantity, { minLength: USAGE_BUCKETS.length, maxLength: USAGE_BUCKETS.length })
  .chain((tokens) =>
    fc.record({ calls: fc.integer({ min: 0, max: 5 }), audioMilliseconds: quantity }).map((rest) =>
      usageOf({
        ...Object.fromEntries(USAGE_BUCKETS.map((bucket, index) => [bucket, tokens[index] ?? 0])),
        ...rest,
      }),
    ),
  );

function boundAround(
  usage: UsageCounts,
): { inputTokens: number; maxOutputTokens: number } & Pick<UsageCounts, 'calls' | 'audioMilliseconds'> {
  return {
    inputTokens: promptTokens(usage),
    maxOutputTokens: completionTokens(usage),
    calls: usage.calls,
    audioMilliseconds: usage.audioMilliseconds,
  };
}

describe('Cost of usage', () => {
  test('adds up the buckets at their own rates', () => {
    const price = priceRates({
      input: perMillion(3),
      output: perMillion(15),
      cacheRead: 300_000_000n,
      cacheWrite: 3_750_000_000n,
      cacheWriteLong: perMillion(6),
      reasoning: perMillion(20),
      audioInput: perMillion(40),
      audioOutput: perMillion(80),
      image: perMillion(5),
      perCallNano: 1_000n,
      perMinuteNano: 6_000_000n,
    });
    const cost = (part: Partial<UsageCounts>): bigint => costOf({ ...usageOf({ calls: 0 }), ...part }, price);
    expect(cost({ inputTokens: 1_000 })).toBe(3_000_000n);
    expect(cost({ outputTokens: 1_000 })).toBe(15_000_000n);
    expect(cost({ cacheReadTokens: 1_000 })).toBe(300_000n);
    expect(cost({ cacheWriteTokens: 1_000 })).toBe(3_750_000n);
    expect(cost({ cacheWriteLongTokens: 1_000 })).toBe(6_000_000n);
    expect(cost({ reasoningTokens: 1_000 })).toBe(20_000_000n);
    expect(cost({ audioInputTokens: 1_000 })).toBe(40_000_000n);
    expect(cost({ audioOutputTokens: 1_000 })).toBe(80_000_000n);
    expect(cost({ imageTokens: 1_000 })).toBe(5_000_000n);
    expect(cost({ calls: 3 })).toBe(3_000n);
    expect(cost({ audioMilliseconds: 30_000 })).toBe(3_000_000n);
    expect(cost({})).toBe(0n);
  });

  test.each(USAGE_BUCKETS)('%s is stored, counted, priced and held', (bucket) => {
    const price = priceRates({ input: perMillion(1), output: perMillion(1) });
    const usage = usageOf({ [bucket]: 7 });
    expect(usage[bucket]).toBe(7);
    expect(promptTokens(usage) + completionTokens(usage)).toBe(7);
    expect(totalTokens(usage)).toBe(7);
    expect(costOf(usage, price)).toBe(7_000n);
    expect(maxCostOf(boundAround(usage), [price])).toBe(7_000n);
  });

  test('bucket without a rate is charged at the rate of the ordinary token', () => {
    const price = priceRates({ input: perMillion(2), output: perMillion(8), cacheWrite: perMillion(3) });
    const cost = (part: Partial<UsageCounts>): bigint => costOf(usageOf(part), price);
    expect(cost({ cacheReadTokens: 10 })).toBe(20_000n);
    expect(cost({ audioInputTokens: 10 })).toBe(20_000n);
    expect(cost({ imageTokens: 10 })).toBe(20_000n);
    expect(cost({ reasoningTokens: 10 })).toBe(80_000n);
    expect(cost({ audioOutputTokens: 10 })).toBe(80_000n);
    expect(cost({ cacheWriteLongTokens: 10 })).toBe(30_000n);
  });

  test('is rounded up once at the end', () => {
    const price = priceRates({ input: 400_000n, output: 400_000n });
    expect(costOf(usageOf({ inputTokens: 1 }), price)).toBe(1n);
    expect(costOf(usageOf({ inputTokens: 1, outputTokens: 1 }), price)).toBe(1n);
    expect(costOf(usageOf({ inputTokens: 2, outputTokens: 1 }), price)).toBe(2n);
    const mixedPrice = priceRates({ input: 500_000n, perMinuteNano: 30_000n });
    expect(costOf(usageOf({ inputTokens: 1, audioMilliseconds: 1 }), mixedPrice)).toBe(1n);
    expect(costOf(usageOf({ inputTokens: 1, audioMilliseconds: 2 }), mixedPrice)).toBe(2n);
  });

  test('tier prices the entire request once its threshold is exceeded', () => {
    const price = priceRates({
      input: perMillion(1),
      output: perMillion(4),
      cacheRead: 100_000_000n,
      tiers: [
        { aboveInputTokens: 200, input: perMillion(2), output: perMillion(6) },
        { aboveInputTokens: 500, input: perMillion(3) },
      ],
    });
    const cost = (inputTokens: number, cacheReadTokens: number): bigint =>
      costOf(usageOf({ inputTokens, cacheReadTokens, outputTokens: 10 }), price);
    expect(cost(100, 100)).toBe(100_000n + 10_000n + 40_000n);
    expect(cost(101, 100)).toBe(202_000n + 10_000n + 60_000n);
    expect(cost(501, 0)).toBe(1_503_000n + 60_000n);
  });

  test('never decreases when any quantity grows', () => {
    fc.assert(
      fc.property(
        tieredPrice,
        counts,
        fc.constantFrom(...USAGE_BUCKETS, 'calls', 'audioMilliseconds'),
        quantity,
        (price, usage, bucket, more) => {
          const grownUsage = { ...usage, [bucket]: usage[bucket] + more };
          expect(costOf(grownUsage, price)).toBeGreaterThanOrEqual(costOf(usage, price));
        },
      ),
    );
  });

  test('splitting a request is never cheaper below the first tier', () => {
    fc.assert(
      fc.property(plainPrice, counts, counts, (price, one, other) => {
        const combined = { ...one };
        for (const name of [...USAGE_BUCKETS, 'calls', 'audioMilliseconds'] as const) {
          Object.assign(combined, { [name]: one[name] + other[name] });
        }
        expect(costOf(one, price) + costOf(other, price)).toBeGreaterThanOrEqual(costOf(combined, price));
      }),
    );
  });

  test('is exact: a million requests of one token cost the same as their sum at a whole rate', () => {
    const price = priceRates({ input: 150_000_000n });
    expect(costOf(usageOf({ inputTokens: 1 }), price) * 1_000_000n).toBe(150_000_000n);
  });
});

describe('Worked example of docs/prices.md', () => {
  const price = priceRates({
    input: perMillion(3),
    output: perMillion(15),
    cacheRead: 300_000_000n,
    cacheWrite: 3_750_000_000n,
    cacheWriteLong: perMillion(6),
    tiers: [{ aboveInputTokens: 128_000, input: perMillion(6), output: 22_500_000_000n }],
  });
  const usage = usageOf({
    inputTokens: 2_000,
    cacheReadTokens: 9_000,
    cacheWriteTokens: 1_000,
    outputTokens: 200,
    reasoningTokens: 300,
  });

  test('costs $0.01995', () => expect(costOf(usage, price)).toBe(19_950_000n));

  test('holds $0.087', () => {
    const bound = { inputTokens: 12_000, maxOutputTokens: 1_000 };
    expect(maxCostOf(bound, [price])).toBe(87_000_000n);
  });

  test('allows 3,200 output tokens for $0.12', () => {
    expect(maxAffordableOutput(120_000_000n, { inputTokens: 12_000 }, [price])).toBe(3_200);
  });
});

describe('Cost bound', () => {
  test('is at least the cost of any usage within it, at any of the prices', () => {
    fc.assert(
      fc.property(
        fc.array(tieredPrice, { minLength: 1, maxLength: 3 }),
        counts,
        quantity,
        quantity,
        (prices, usage, in_, out) => {
          const tightBound = boundAround(usage);
          const widerBound = {
            ...tightBound,
            inputTokens: tightBound.inputTokens + in_,
            maxOutputTokens: tightBound.maxOutputTokens + out,
          };
          const bound = maxCostOf(widerBound, prices);
          for (const price of prices) expect(bound).toBeGreaterThanOrEqual(costOf(usage, price));
        },
      ),
    );
  });

  test('is reached by the most expensive usage, so holds are not excessive', () => {
    const cheapPrice = priceRates({ input: perMillion(1), output: perMillion(2), perCallNano: 5n });
    const expensivePrice = priceRates({
      input: perMillion(2),
      cacheWriteLong: perMillion(4),
      output: perMillion(3),
      perCallNano: 7n,
    });
    const worstUsage = usageOf({ cacheWriteLongTokens: 10, outputTokens: 20 });
    expect(maxCostOf({ inputTokens: 10, maxOutputTokens: 20 }, [cheapPrice, expensivePrice])).toBe(
      costOf(worstUsage, expensivePrice),
    );
  });

  test('includes everything that a supplier can charge, even if the request does not ask for it', () => {
    const price = priceRates({
      input: perMillion(1),
      output: perMillion(2),
      audioInput: perMillion(40),
      audioOutput: perMillion(80),
    });
    const bound = { inputTokens: 1_000, maxOutputTokens: 1_000 };
    expect(maxCostOf(bound, [price])).toBe(120_000_000n);
  });

  test('includes only the tiers that can be reached', () => {
    const price = priceRates({
      input: perMillion(1),
      tiers: [{ aboveInputTokens: 100, input: perMillion(5) }],
    });
    expect(maxCostOf({ inputTokens: 100, maxOutputTokens: 0 }, [price])).toBe(100_000n);
    expect(maxCostOf({ inputTokens: 101, maxOutputTokens: 0 }, [price])).toBe(505_000n);
  });
});

describe('Affordable output', () => {
  test('is the largest output whose bound is covered', () => {
    fc.assert(
      fc.property(
        fc.array(tieredPrice, { minLength: 1, maxLength: 3 }),
        quantity,
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        (prices, inputTokens, nano) => {
          const affordableTokens = maxAffordableOutput(nano, { inputTokens }, prices);
          const bound = (maxOutputTokens: number): bigint =>
            maxCostOf({ inputTokens, maxOutputTokens }, prices);
          if (affordableTokens === null) {
            expect(bound(0)).toBeGreaterThan(nano);
          } else {
            expect(bound(affordableTokens)).toBeLessThanOrEqual(nano);
            if (affordableTokens < 1_000_000_000) expect(bound(affordableTokens + 1)).toBeGreaterThan(nano);
          }
        },
      ),
    );
  });

  test('is limited even if output is free', () => {
    expect(maxAffordableOutput(0n, { inputTokens: 5 }, [priceRates({})])).toBe(1_000_000_000);
  });
});

describe('Price rates', () => {
  const refusals: [string, Parameters<typeof priceRates>[0]][] = [
    ['a negative rate', { input: -1n }],
    ['a rate beyond a dollar a token', { output: 1_000_000_000_000_001n }],
    ['a negative rate in a tier', { tiers: [{ aboveInputTokens: 5, output: -1n }] }],
    ['a tier from nothing', { tiers: [{ aboveInputTokens: 0 }] }],
    ['thresholds that do not rise', { tiers: [{ aboveInputTokens: 9 }, { aboveInputTokens: 9 }] }],
    ['a tier cheaper than the base', { input: 5n, tiers: [{ aboveInputTokens: 9, input: 4n }] }],
    ['a tier below a fallback', { output: 5n, tiers: [{ aboveInputTokens: 9, reasoning: 4n }] }],
  ];

  test.each(refusals)('reject %s', (_what, rates) => {
    expect(() => priceRates(rates)).toThrow(expect.objectContaining({ code: 'validation_error' }));
  });

  test('are immutable', () => {
    const price: { input: bigint } = priceRates({ input: 1n });
    expect(() => {
      price.input = 2n;
    }).toThrow(TypeError);
  });
});

describe('Factor on a price', () => {
  const factor = fc.integer({ min: 0, max: 10_000_000 });

  test('multiplies the exact cost, rounds up once and never exceeds the held bound', () => {
    fc.assert(
      fc.property(tieredPrice, counts, factor, (price, usage, paid) => {
        const cost = costOf(usage, price, paid);
        // Multiplying the price by a million is as exact as six more decimal places.
        const fullCost = costOf(usage, price);
        expect(cost * 1_000_000n).toBeGreaterThanOrEqual((fullCost - 1n) * BigInt(paid));
        expect(cost * 1_000_000n).toBeLessThan(fullCost * BigInt(paid) + 1_000_000n);
        const tightBound = boundAround(usage);
        expect(maxCostOf(tightBound, [price], paid)).toBeGreaterThanOrEqual(cost);
        const affordableTokens = maxAffordableOutput(cost, { ...tightBound }, [price], paid);
        if (affordableTokens !== null)
          expect(
            maxCostOf({ ...tightBound, maxOutputTokens: affordableTokens }, [price], paid),
          ).toBeLessThanOrEqual(cost);
      }),
    );
  });

  test('factor of one is the price itself', () => {
    fc.assert(
      fc.property(tieredPrice, counts, (price, usage) => {
        expect(costOf(usage, price, 1_000_000)).toBe(costOf(usage, price));
        expect(costOf(usage, price, 0)).toBe(0n);
      }),
    );
  });

  test('is rounded once: a tenth on top of a third of a nano-dollar', () => {
    const price = priceRates({ input: 333_334n, output: 0n });
    expect(costOf(usageOf({ inputTokens: 3, calls: 0 }), price)).toBe(2n);
    expect(costOf(usageOf({ inputTokens: 3, calls: 0 }), price, 1_100_000)).toBe(2n);
    expect(costOf(usageOf({ inputTokens: 30, calls: 0 }), price, 1_100_000)).toBe(12n);
  });
});
