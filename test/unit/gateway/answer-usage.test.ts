import { usageOfStream } from '../../../src/gateway/settle/answer-usage';
import type { RoutedCall } from '../../../src/gateway/admission/route-planner';
import { usageOf } from '../../../src/kernel';
import { findMessagesUsage, mergeMessagesUsage, normaliseMessagesUsage } from '../../../src/protocol';

describe('a stream tells its usage', () => {
  const routed = {
    call: { inputEstimate: 70 },
    model: { contextTokens: 200_000 },
    held: { tokens: 600, inputBound: 550 },
  } as RoutedCall;
  const begun = findMessagesUsage({
    type: 'message_start',
    message: { usage: { input_tokens: 30, cache_read_input_tokens: 500, output_tokens: 1 } },
  });
  const read = (raw: unknown, deliveredBytes: number) =>
    usageOfStream(normaliseMessagesUsage(raw), routed, deliveredBytes);

  test('that broke off after its beginning: the input it reported, and the output that was delivered', () => {
    expect(read(begun, 41)).toEqual(
      usageOf({ inputTokens: 30, cacheReadTokens: 500, outputTokens: 11 }, 'partial'),
    );
    expect(read(begun, 0)).toMatchObject({ outputTokens: 1 });
  });

  test('that came to its end: its report and nothing else', () => {
    const whole = mergeMessagesUsage(begun, { output_tokens: 9 });
    expect(read(whole, 4_000)).toEqual(usageOf({ inputTokens: 30, cacheReadTokens: 500, outputTokens: 9 }));
  });

  test('that reported nothing, or what cannot be: input and output are counted', () => {
    const counted = usageOf({ inputTokens: 70, outputTokens: 11 }, 'estimated');
    expect(read(undefined, 41)).toEqual(counted);
    expect(read('much', 41)).toEqual({ ...counted, ignored: ['usage'] });
  });

  // "an unusable detail is ignored, the rest counts".
  test('with one unusable count: the rest counts, and only the input is estimated', () => {
    expect(read({ input_tokens: -1, output_tokens: 3 }, 41)).toMatchObject({
      ...usageOf({ inputTokens: 70, outputTokens: 3 }, 'partial'),
      ignored: ['input_tokens'],
    });
  });
});
