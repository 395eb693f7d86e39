import { usageOf } from '../../../src/kernel';
import { type ResponseBlock, type CanonicalResponse, type UnifiedFinish } from '../../../src/protocol';

type Expected = Partial<CanonicalResponse>;

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
const ended = (blocks: ResponseBlock[], unified: UnifiedFinish, raw: string, usage = plainUsage): Expected => ({
  blocks,
  finish: { unified, raw },
  usage,
});

const cached = usageOf({
  inputTokens: 30,
  cacheReadTokens: 60,
  cacheWriteTokens: 10,
  outputTokens: 10,
  reasoningTokens: 20,
});
const untimed = { ...cached, untimedWrites: 10 };
const greeting = [text('Grüße, "Welt" 🌍\n')];
const refused: ResponseBlock[] = [{ type: 'refusal', text: 'I cannot help.' }];

export const answers: Readonly<Record<string, Expected>> = {
  'chat/text': ended(greeting, 'stop', 'stop'),
  'chat/noise': ended([text('Hi')], 'stop', 'stop'),
  'chat/parallel-tools': ended(calls('call'), 'tool-calls', 'tool_calls'),
  'chat/interleaved-tools': ended([text('Both.'), ...calls('call')], 'tool-calls', 'tool_calls'),
  'chat/thinking': ended([{ type: 'reasoning', text: 'First think.' }, text('Done.')], 'stop', 'stop'),
  'chat/empty-arguments': ended([tool(0, 'call_a', 'list_files', '')], 'tool-calls', 'tool_calls'),
  'chat/refusal': ended(refused, 'stop', 'stop'),
  'chat/usage': ended([text('Hi')], 'stop', 'stop', untimed),
  'chat/length': ended([text('Too lo')], 'length', 'length'),
  'messages/text': ended(greeting, 'stop', 'end_turn'),
  'messages/parallel-tools': ended(calls('toolu'), 'tool-calls', 'tool_use'),
  'messages/thinking': ended(
    [
      { type: 'reasoning', text: 'First think.', origin: 'messages', signature: 'c2lnbmVk' },
      { type: 'reasoning', text: '', origin: 'messages', signature: 'aGlkZGVu', redacted: true },
      text('Done.'),
    ],
    'stop',
    'end_turn',
  ),
  'messages/empty-arguments': ended([tool(0, 'toolu_a', 'list_files', '')], 'tool-calls', 'tool_use'),
  'messages/refusal': ended([text('I cannot help.')], 'content-filter', 'refusal'),
  'messages/usage': ended([text('Hi')], 'stop', 'end_turn', cached),
  'messages/length': ended([text('Too lo')], 'length', 'max_tokens'),
  'messages/stop-sequence': {
    ...ended([text('One, two')], 'stop-sequence', 'stop_sequence'),
    stopSequence: 'three',
  },
  'messages/citations': ended([text('Bern is a city.')], 'stop', 'end_turn'),
  'responses/text': ended(greeting, 'stop', 'completed'),
  'responses/parallel-tools': ended(calls('call'), 'tool-calls', 'completed'),
  'responses/interleaved-tools': ended([text('Both.'), ...calls('call')], 'tool-calls', 'completed'),
  'responses/thinking': ended(
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
  'responses/empty-arguments': ended([tool(0, 'call_a', 'list_files', '{}')], 'tool-calls', 'completed'),
  'responses/refusal': ended(refused, 'stop', 'completed'),
  'responses/usage': ended([text('Hi')], 'stop', 'completed', untimed),
  'responses/length': ended([text('Too lo')], 'length', 'max_output_tokens'),
};

/** Streams that must never look like an answer, and the code they end with. */
export const failures: Readonly<Record<string, string>> = {
  'chat/error': 'upstream_unavailable',
  'chat/cut': 'agentcli_incomplete_stream',
  'messages/error': 'upstream_unavailable',
  'messages/cut': 'agentcli_incomplete_stream',
  'responses/error': 'upstream_unavailable',
  'responses/cut': 'agentcli_incomplete_stream',
};
