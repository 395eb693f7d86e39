import { usageOf } from '../../../src/kernel';
import { type ResponseBlock, type CanonicalResponse, type UnifiedFinish } from '../../../src/protocol';

type ExpectedAnswer = Partial<CanonicalResponse>;

const plainUsage = usageOf({ inputTokens: 12, outputTokens: 5 });
const text = (words: string): ResponseBlock => ({ type: 'text', text: words });
const tool = (index: number, id: string, name: string, json: string): ResponseBlock => ({
  type: 'tool',
  index,
  id,
  name,
  arguments: json,
});
const calls = (prefix: string): ResponseBlock[] => [
  tool(0, `${prefix}_a`, 'get_weather', '{"city":"Bern"}'),
  tool(1, `${prefix}_b`, 'get_time', '{"zone":"CET"}'),
];
const completeAnswer = (
  blocks: ResponseBlock[],
  unified: UnifiedFinish,
  raw: string,
  usage = plainUsage,
): ExpectedAnswer => ({
  blocks,
  finish: { unified, raw },
  usage,
});

const cachedUsage = usageOf({
  inputTokens: 30,
  cacheReadTokens: 60,
  cacheWriteTokens: 10,
  outputTokens: 10,
  reasoningTokens: 20,
});
const untimedUsage = { ...cachedUsage, untimedWrites: 10 };
const greeting = [text('Grüße, "Welt" 🌍\n')];
const refusalBlocks: ResponseBlock[] = [{ type: 'refusal', text: 'I cannot help.' }];

export const answers: Readonly<Record<string, ExpectedAnswer>> = {
  'chat/text': completeAnswer(greeting, 'stop', 'stop'),
  'chat/noise': completeAnswer([text('Hi')], 'stop', 'stop'),
  'chat/parallel-tools': completeAnswer(calls('call'), 'tool-calls', 'tool_calls'),
  'chat/interleaved-tools': completeAnswer([text('Both.'), ...calls('call')], 'tool-calls', 'tool_calls'),
  'chat/thinking': completeAnswer(
    [{ type: 'reasoning', text: 'First think.' }, text('Done.')],
    'stop',
    'stop',
  ),
  'chat/empty-arguments': completeAnswer([tool(0, 'call_a', 'list_files', '')], 'tool-calls', 'tool_calls'),
  'chat/refusal': completeAnswer(refusalBlocks, 'stop', 'stop'),
  'chat/usage': completeAnswer([text('Hi')], 'stop', 'stop', untimedUsage),
  'chat/length': completeAnswer([text('Too lo')], 'length', 'length'),
  'messages/text': completeAnswer(greeting, 'stop', 'end_turn'),
  'messages/parallel-tools': completeAnswer(calls('toolu'), 'tool-calls', 'tool_use'),
  'messages/thinking': completeAnswer(
    [
      { type: 'reasoning', text: 'First think.', origin: 'messages', signature: 'c2lnbmVk' },
      { type: 'reasoning', text: '', origin: 'messages', signature: 'aGlkZGVu', redacted: true },
      text('Done.'),
    ],
    'stop',
    'end_turn',
  ),
  'messages/empty-arguments': completeAnswer(
    [tool(0, 'toolu_a', 'list_files', '')],
    'tool-calls',
    'tool_use',
  ),
  'messages/refusal': completeAnswer([text('I cannot help.')], 'content-filter', 'refusal'),
  'messages/usage': completeAnswer([text('Hi')], 'stop', 'end_turn', cachedUsage),
  'messages/length': completeAnswer([text('Too lo')], 'length', 'max_tokens'),
  'messages/stop-sequence': {
    ...completeAnswer([text('One, two')], 'stop-sequence', 'stop_sequence'),
    stopSequence: 'three',
  },
  'messages/citations': completeAnswer([text('Bern is a city.')], 'stop', 'end_turn'),
  'responses/text': completeAnswer(greeting, 'stop', 'completed'),
  'responses/parallel-tools': completeAnswer(calls('call'), 'tool-calls', 'completed'),
  'responses/interleaved-tools': completeAnswer([text('Both.'), ...calls('call')], 'tool-calls', 'completed'),
  'responses/thinking': completeAnswer(
    [
      {
        type: 'reasoning',
        text: 'First think.\n\nThen act.',
        origin: 'responses',
        signature: 'ZW5jcnlwdGVk',
      },
      text('Done.'),
    ],
    'stop',
    'completed',
  ),
  'responses/empty-arguments': completeAnswer(
    [tool(0, 'call_a', 'list_files', '{}')],
    'tool-calls',
    'completed',
  ),
  'responses/refusal': completeAnswer(refusalBlocks, 'stop', 'completed'),
  'responses/usage': completeAnswer([text('Hi')], 'stop', 'completed', untimedUsage),
  'responses/length': completeAnswer([text('Too lo')], 'length', 'max_output_tokens'),
};

/** Streams that must never be reported as a response, with the code of their error. */
export const failures: Readonly<Record<string, string>> = {
  'chat/error': 'upstream_unavailable',
  'chat/cut': 'agentcli_incomplete_stream',
  'messages/error': 'upstream_unavailable',
  'messages/cut': 'agentcli_incomplete_stream',
  'responses/error': 'upstream_unavailable',
  'responses/cut': 'agentcli_incomplete_stream',
};
