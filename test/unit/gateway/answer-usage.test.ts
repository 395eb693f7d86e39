import { usageOfStream } from '../../../src/gateway/settle/answer-usage';
import type { RoutedCall } from '../../../src/gateway/admission/route-planner';
import { usageOf } from '../../../src/kernel';
import { findMessagesUsage, mergeMessagesUsage, normaliseMessagesUsage } from '../../../src/protocol';

describe('Usage of a stream', () => {
  const routed = {
    call: { inputEstimate: 70 },
    model: { contextTokens: 200_000 },
    held: { tokens: 600, inputBound: 550 },
  } as RoutedCall;
  const startUsage = findMessagesUsage({
    type: 'message_start',
    message: { usage: { input_tokens: 30, cache_read_input_tokens: 500, output_tokens: 1 } },
  });
  const readUsage = (raw: unknown, deliveredBytes: number) =>
    usageOfStream(normaliseMessagesUsage(raw), routed, deliveredBytes);

  test('interrupted stream is charged its reported input and the delivered output', () => {
    expect(readUsage(startUsage, 41)).toEqual(
      usageOf({ inputTokens: 30, cacheReadTokens: 500, outputTokens: 11 }, 'partial'),
    );
    expect(readUsage(startUsage, 0)).toMatchObject({ outputTokens: 1 });
  });

  test('complete stream is charged its own report only', () => {
    const completeUsage = mergeMessagesUsage(startUsage, { output_tokens: 9 });
    expect(readUsage(completeUsage, 4_000)).toEqual(
      usageOf({ inputTokens: 30, cacheReadTokens: 500, outputTokens: 9 }),
    );
  });

  test('stream without a plausible report is charged counted input and output', () => {
    const countedUsage = usageOf({ inputTokens: 70, outputTokens: 11 }, 'estimated');
    expect(readUsage(undefined, 41)).toEqual(countedUsage);
    expect(readUsage('much', 41)).toEqual({ ...countedUsage, ignored: ['usage'] });
  });

  // "an unusable detail is ignored, the rest counts".
  test('unusable count is ignored: only the input is estimated', () => {
    expect(readUsage({ input_tokens: -1, output_tokens: 3 }, 41)).toMatchObject({
      ...usageOf({ inputTokens: 70, outputTokens: 3 }, 'partial'),
      ignored: ['input_tokens'],
    });
  });
});
