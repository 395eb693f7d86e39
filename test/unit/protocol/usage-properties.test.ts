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
const some = fc.integer({ min: 1, max: 1_000_000 });

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

describe('hostile reports', () => {
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

  test.each(Object.entries(normalisers))(
    '%s answers counts that are whole and not negative, or none',
    (_name, read) => {
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
    },
  );
});

test('the buckets add up to the totals that were reported, whatever is inside them', () => {
  fc.assert(
    fc.property(some, some, count, count, count, count, (input, output, cached, audio, reasoning, spoken) => {
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
    }),
  );
});

describe('what is rendered reads back', () => {
  const text = fc.record({
    inputTokens: some,
    cacheReadTokens: count,
    outputTokens: some,
    reasoningTokens: count,
  });

  test('chat', () => {
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

  test('messages', () => {
    const counts = fc
      .tuple(some, count, count, count, some)
      .map(([inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens]) =>
        usageOf({ inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens }),
      );
    fc.assert(
      fc.property(counts, (usage) =>
        expect(usageIn(normaliseMessagesUsage(renderMessagesUsage(usage)))).toEqual(usage),
      ),
    );
  });

  test('responses', () => {
    fc.assert(
      fc.property(
        text.map((counts) => usageOf(counts)),
        (usage) => expect(usageIn(normaliseResponsesUsage(renderResponsesUsage(usage)))).toEqual(usage),
      ),
    );
  });

  test('embeddings', () => {
    expect(renderEmbeddingsUsage(usageOf({ inputTokens: 8 }))).toEqual({ prompt_tokens: 8, total_tokens: 8 });
  });
});

describe('usage that arrives twice', () => {
  const start = {
    input_tokens: 30,
    cache_read_input_tokens: 500,
    cache_creation_input_tokens: 100,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 100 },
    output_tokens: 1,
  };

  function joined(...reports: unknown[]): UsageCounts {
    return usageIn(normaliseMessagesUsage(reports.reduce(mergeMessagesUsage)));
  }

  test('message_delta adds the output and takes nothing back', () => {
    const usage = usageOf({
      inputTokens: 30,
      cacheReadTokens: 500,
      cacheWriteLongTokens: 100,
      outputTokens: 77,
    });
    expect(joined(start, { output_tokens: 77 })).toEqual(usage);
    expect(joined(start, { ...start, cache_creation: null, output_tokens: 77 })).toEqual(usage);
    expect(joined(start, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 77 })).toEqual(usage);
    expect(joined(start, { output_tokens: 40 }, { output_tokens: 77 })).toEqual(usage);
  });

  test('what only the beginning of a stream said is partial, until the end says more', () => {
    const begun = findMessagesUsage({ type: 'message_start', message: { usage: start } });
    expect(joined(begun)).toMatchObject({ inputTokens: 30, outputTokens: 1, source: 'partial' });
    expect(joined(begun, undefined)).toMatchObject({ source: 'partial' });
    const ended = findMessagesUsage({ type: 'message_delta', usage: { output_tokens: 77 } });
    expect(joined(begun, ended)).toMatchObject({ inputTokens: 30, outputTokens: 77, source: 'supplier' });
    expect(joined(findMessagesUsage({ type: 'message', usage: start }))).toMatchObject({
      source: 'supplier',
    });
  });

  test('a corrected input replaces the first one', () => {
    const usage = joined({ input_tokens: 1, output_tokens: 1 }, { input_tokens: 900, output_tokens: 5 });
    expect(usage).toEqual(usageOf({ inputTokens: 900, outputTokens: 5 }));
  });

  // "an unusable detail is ignored, the rest counts".
  test('a later report that is none leaves the earlier one, and is named', () => {
    expect(joined(start, 'much')).toMatchObject({ inputTokens: 30, ignored: ['usage'] });
    expect(joined(start, { input_tokens: '31', output_tokens: 77 })).toMatchObject({
      inputTokens: 30,
      outputTokens: 77,
      ignored: ['input_tokens'],
    });
    expect(normaliseMessagesUsage(mergeMessagesUsage(start, undefined)).kind).toBe('ok');
    expect(normaliseMessagesUsage(mergeMessagesUsage(undefined, start)).kind).toBe('ok');
  });

  test('the later complete report stands, never the sum', () => {
    fc.assert(
      fc.property(some, some, some, some, (firstIn, firstOut, lastIn, lastOut) => {
        const last = usageOf({ inputTokens: lastIn, outputTokens: lastOut });
        expect(mergeLatest(usageOf({ inputTokens: firstIn, outputTokens: firstOut }), last)).toEqual(last);
      }),
    );
  });

  test('a side left at zero keeps what was said before', () => {
    const first = usageOf({ inputTokens: 5, cacheReadTokens: 50, outputTokens: 9, audioMilliseconds: 7 });
    const nothing = usageOf({});
    expect(mergeLatest(first, nothing)).toEqual(first);
    expect(mergeLatest(nothing, first)).toEqual(first);
    expect(mergeLatest(first, usageOf({ outputTokens: 10 }))).toEqual({ ...first, outputTokens: 10 });
  });

  test('an estimate gives way to the report, and a mixture says so', () => {
    const estimate = usageOf({ inputTokens: 5, outputTokens: 9 }, 'estimated');
    const reported = usageOf({ inputTokens: 6, outputTokens: 8 });
    expect(mergeLatest(estimate, reported)).toEqual(reported);
    expect(mergeLatest(usageOf({ inputTokens: 6 }), usageOf({ outputTokens: 9 }, 'estimated')).source).toBe(
      'partial',
    );
  });
});

test('usage up to the window of the model, or ten times what was held, is plausible', () => {
  const isBelieved = (tokens: number, contextTokens: number | null, heldTokens: number): boolean =>
    isPlausible(usageOf({ inputTokens: tokens }), { contextTokens, heldTokens });
  expect(isBelieved(1_000, 1_000, 20)).toBe(true);
  expect(isBelieved(1_001, 1_000, 20)).toBe(false);
  expect(isBelieved(30_000, 1_000, 3_000)).toBe(true);
  expect(isBelieved(30_001, 1_000, 3_000)).toBe(false);
  expect(isBelieved(2_000_000, null, 20)).toBe(true);
  expect(isBelieved(2_000_001, null, 20)).toBe(false);
});

test('speech without a report is counted in characters, not in code units', () => {
  expect(speechUsageByCharacters('Grüße 🎧')).toEqual({
    ...NO_USAGE,
    calls: 1,
    inputTokens: 7,
    source: 'supplier',
  });
});
