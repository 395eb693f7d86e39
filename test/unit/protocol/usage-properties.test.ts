import * as fc from 'fast-check';
import {
  completionTokens,
  isPlausible,
  mergeLatest,
  NO_USAGE,
  promptTokens,
  totalTokens,
  type Usage,
  type UsageCounts,
  usageOf,
  type UsageReading,
} from '../../../src/kernel';
import { speechUsageByCharacters } from '../../../src/protocol/audio/usage';
import { normaliseChatUsage, renderChatUsage } from '../../../src/protocol/chat/usage';
import { normaliseEmbeddingsUsage, renderEmbeddingsUsage } from '../../../src/protocol/embeddings/usage';
import { normaliseGeminiUsage } from '../../../src/protocol/gemini/usage';
import {
  findMessagesUsage,
  mergeMessagesUsage,
  normaliseMessagesUsage,
  renderMessagesUsage,
} from '../../../src/protocol/messages/usage';
import { normaliseRerankUsage } from '../../../src/protocol/rerank/usage';
import { normaliseResponsesUsage, renderResponsesUsage } from '../../../src/protocol/responses/usage';

const count = fc.integer({ min: 0, max: 1_000_000 });
const anyCount = fc.integer({ min: 1, max: 1_000_000 });

const normalisers: Record<string, (raw: unknown) => UsageReading> = {
  normaliseChatUsage,
  normaliseMessagesUsage,
  normaliseResponsesUsage,
  normaliseEmbeddingsUsage,
  normaliseRerankUsage,
  normaliseGeminiUsage,
};

function usageIn(reading: UsageReading): Usage {
  if (reading.kind !== 'ok') throw new Error(`expected a usage, got ${JSON.stringify(reading)}`);
  return reading.usage;
}

describe('Hostile usage reports', () => {
  const field = fc.constantFrom(
    'prompt_tokens',
    'completion_tokens',
    'total_tokens',
    'prompt_tokens_details',
    'completion_tokens_details',
    'input_tokens',
    'output_tokens',
    'cached_tokens',
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
    'cache_creation',
    'ephemeral_1h_input_tokens',
    'reasoning_tokens',
    'audio_tokens',
    'search_units',
    'promptTokenCount',
    'candidatesTokenCount',
    'thoughtsTokenCount',
    'cachedContentTokenCount',
  );
  const value = fc.oneof(
    count,
    fc.constantFrom<unknown>(null, -1, 0.5, NaN, Infinity, -0, '7', true, [], 1e300, Number.MAX_SAFE_INTEGER),
  );
  const { report } = fc.letrec((tie) => ({
    report: fc.oneof({ maxDepth: 3 }, value, fc.dictionary(field, tie('report'), { maxKeys: 10 })),
  }));

  test.each(Object.entries(normalisers))('%s returns non-negative integer counts or none', (_name, read) => {
    fc.assert(
      fc.property(report, (raw) => {
        const reading = read(raw);
        if (reading.kind !== 'ok') return;
        const { source, uses, images, parts, ...rest } = reading.usage;
        const {
          modes: _,
          doubt: _doubt,
          ignored: _ignored,
          missing,
          totalOfBoth: _total,
          excess: _excess,
          ...counts
        } = rest;
        expect(parts).toBeNull();
        expect(source).toBe('supplier');
        for (const [bucket, quantity] of Object.entries({ ...counts, ...uses, ...images })) {
          if (!Number.isSafeInteger(quantity) || quantity < 0) throw new Error(`${bucket} is ${quantity}`);
        }
        if (missing === undefined)
          expect(totalTokens(reading.usage) + reading.usage.calls).toBeGreaterThan(0);
      }),
    );
  });
});

test('buckets add up to the reported totals for any parts', () => {
  fc.assert(
    fc.property(
      anyCount,
      anyCount,
      count,
      count,
      count,
      count,
      (input, output, cached, audio, reasoning, spoken) => {
        const usage = usageIn(
          normaliseChatUsage({
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: input + output,
            prompt_tokens_details: {
              cached_tokens: Math.min(cached, input),
              audio_tokens: Math.min(audio, input),
            },
            completion_tokens_details: {
              reasoning_tokens: Math.min(reasoning, output),
              audio_tokens: Math.min(spoken, output - Math.min(reasoning, output)),
            },
          }),
        );
        expect(promptTokens(usage)).toBe(input);
        expect(completionTokens(usage)).toBe(output);
      },
    ),
  );
});

describe('Rendered usage', () => {
  const text = fc.record({
    inputTokens: anyCount,
    cacheReadTokens: count,
    outputTokens: anyCount,
    reasoningTokens: count,
  });

  test('Chat Completions usage is read back unchanged', () => {
    const counts = fc
      .tuple(
        text,
        fc.record({
          cacheWriteTokens: count,
          audioInputTokens: count,
          audioOutputTokens: count,
          imageTokens: count,
        }),
      )
      .map(([left, right]) => usageOf({ ...left, ...right }));
    fc.assert(
      fc.property(counts, (usage) => {
        const { untimedWrites: _, ...read } = usageIn(normaliseChatUsage(renderChatUsage(usage)));
        expect(read).toEqual(usage);
      }),
    );
  });

  test('Messages usage is read back unchanged', () => {
    const counts = fc
      .tuple(anyCount, count, count, count, anyCount)
      .map(([inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens]) =>
        usageOf({ inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens }),
      );
    fc.assert(
      fc.property(counts, (usage) =>
        expect(usageIn(normaliseMessagesUsage(renderMessagesUsage(usage)))).toEqual(usage),
      ),
    );
  });

  test('Responses usage is read back unchanged', () => {
    fc.assert(
      fc.property(
        text.map((counts) => usageOf(counts)),
        (usage) => expect(usageIn(normaliseResponsesUsage(renderResponsesUsage(usage)))).toEqual(usage),
      ),
    );
  });

  test('embeddings usage is read back unchanged', () => {
    expect(renderEmbeddingsUsage(usageOf({ inputTokens: 8 }))).toEqual({ prompt_tokens: 8, total_tokens: 8 });
  });
});

describe('Usage reported twice', () => {
  const start = {
    input_tokens: 30,
    cache_read_input_tokens: 500,
    cache_creation_input_tokens: 100,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 100 },
    output_tokens: 1,
  };

  function mergeReports(...reports: unknown[]): UsageCounts {
    return usageIn(normaliseMessagesUsage(reports.reduce(mergeMessagesUsage)));
  }

  test('message_delta adds the output and lowers no count', () => {
    const usage = usageOf({
      inputTokens: 30,
      cacheReadTokens: 500,
      cacheWriteLongTokens: 100,
      outputTokens: 77,
    });
    expect(mergeReports(start, { output_tokens: 77 })).toEqual(usage);
    expect(mergeReports(start, { ...start, cache_creation: null, output_tokens: 77 })).toEqual(usage);
    expect(mergeReports(start, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 77 })).toEqual(
      usage,
    );
    expect(mergeReports(start, { output_tokens: 40 }, { output_tokens: 77 })).toEqual(usage);
  });

  test('counts from the start of a stream only are partial until the end completes them', () => {
    const startUsage = findMessagesUsage({ type: 'message_start', message: { usage: start } });
    expect(mergeReports(startUsage)).toMatchObject({ inputTokens: 30, outputTokens: 1, source: 'partial' });
    expect(mergeReports(startUsage, undefined)).toMatchObject({ source: 'partial' });
    const endUsage = findMessagesUsage({ type: 'message_delta', usage: { output_tokens: 77 } });
    expect(mergeReports(startUsage, endUsage)).toMatchObject({
      inputTokens: 30,
      outputTokens: 77,
      source: 'supplier',
    });
    expect(mergeReports(findMessagesUsage({ type: 'message', usage: start }))).toMatchObject({
      source: 'supplier',
    });
  });

  test('corrected input replaces the first one', () => {
    const usage = mergeReports(
      { input_tokens: 1, output_tokens: 1 },
      { input_tokens: 900, output_tokens: 5 },
    );
    expect(usage).toEqual(usageOf({ inputTokens: 900, outputTokens: 5 }));
  });

  // "an unusable detail is ignored, the rest counts".
  test('later invalid report keeps the earlier one and is named', () => {
    expect(mergeReports(start, 'much')).toMatchObject({ inputTokens: 30, ignored: ['usage'] });
    expect(mergeReports(start, { input_tokens: '31', output_tokens: 77 })).toMatchObject({
      inputTokens: 30,
      outputTokens: 77,
      ignored: ['input_tokens'],
    });
    expect(normaliseMessagesUsage(mergeMessagesUsage(start, undefined)).kind).toBe('ok');
    expect(normaliseMessagesUsage(mergeMessagesUsage(undefined, start)).kind).toBe('ok');
  });

  test('later complete report replaces the earlier one and is not added', () => {
    fc.assert(
      fc.property(anyCount, anyCount, anyCount, anyCount, (firstIn, firstOut, lastIn, lastOut) => {
        const last = usageOf({ inputTokens: lastIn, outputTokens: lastOut });
        expect(mergeLatest(usageOf({ inputTokens: firstIn, outputTokens: firstOut }), last)).toEqual(last);
      }),
    );
  });

  test('side reported as zero keeps the earlier value', () => {
    const firstUsage = usageOf({
      inputTokens: 5,
      cacheReadTokens: 50,
      outputTokens: 9,
      audioMilliseconds: 7,
    });
    const zeroUsage = usageOf({});
    expect(mergeLatest(firstUsage, zeroUsage)).toEqual(firstUsage);
    expect(mergeLatest(zeroUsage, firstUsage)).toEqual(firstUsage);
    expect(mergeLatest(firstUsage, usageOf({ outputTokens: 10 }))).toEqual({
      ...firstUsage,
      outputTokens: 10,
    });
  });

  test('estimate is replaced by the report, and a mixture is marked as such', () => {
    const estimate = usageOf({ inputTokens: 5, outputTokens: 9 }, 'estimated');
    const reportedUsage = usageOf({ inputTokens: 6, outputTokens: 8 });
    expect(mergeLatest(estimate, reportedUsage)).toEqual(reportedUsage);
    expect(mergeLatest(usageOf({ inputTokens: 6 }), usageOf({ outputTokens: 9 }, 'estimated')).source).toBe(
      'partial',
    );
  });
});

test('usage up to the context window, or ten times the hold, is plausible', () => {
  const acceptsUsage = (tokens: number, contextTokens: number | null, heldTokens: number): boolean =>
    isPlausible(usageOf({ inputTokens: tokens }), { contextTokens, heldTokens });
  expect(acceptsUsage(1_000, 1_000, 20)).toBe(true);
  expect(acceptsUsage(1_001, 1_000, 20)).toBe(false);
  expect(acceptsUsage(30_000, 1_000, 3_000)).toBe(true);
  expect(acceptsUsage(30_001, 1_000, 3_000)).toBe(false);
  expect(acceptsUsage(2_000_000, null, 20)).toBe(true);
  expect(acceptsUsage(2_000_001, null, 20)).toBe(false);
});

test('unreported speech is counted in characters, not code units', () => {
  expect(speechUsageByCharacters('Grüße 🎧')).toEqual({
    ...NO_USAGE,
    calls: 1,
    inputTokens: 7,
    source: 'supplier',
  });
});
