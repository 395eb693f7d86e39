import type { DialectName } from '../../../src/protocol';
import { decode } from './transcripts';

const streamOf = (events: readonly (object | '[DONE]')[]): Buffer =>
  Buffer.from(
    events
      .map((event) => {
        const type = 'type' in Object(event) ? `event: ${String(Reflect.get(Object(event), 'type'))}\n` : '';
        return `${type}data: ${event === '[DONE]' ? event : JSON.stringify(event)}\n\n`;
      })
      .join(''),
  );

const chunk = (delta: object, finish: string | null = null): object => ({
  id: 'a',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const call = (fields: object): object => chunk({ tool_calls: [{ index: 0, ...fields }] });
const messageStart = {
  type: 'message_start',
  message: { id: 'a', role: 'assistant', content: [], usage: {} },
};
const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } };
const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
const messageEnd = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];
const created = { type: 'response.created', response: { id: 'a', status: 'in_progress', output: [] } };
const textDelta = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' };

/** Each stream would seem valid to a client that only collects pieces. */
const cases: readonly (readonly [DialectName, string, readonly (object | '[DONE]')[]])[] = [
  [
    'chat',
    'the arguments of a call before its name',
    [call({ function: { arguments: '{}' } }), chunk({}, 'tool_calls'), '[DONE]'],
  ],
  ['messages', 'a piece before its block', [messageStart, text, ...messageEnd]],
  [
    'messages',
    'the end of a block that never began',
    [messageStart, { type: 'content_block_stop', index: 0 }, ...messageEnd],
  ],
  ['messages', 'an end in the middle of a block', [messageStart, block, text, { type: 'message_stop' }]],
  ['responses', 'a piece before its item', [created, textDelta]],
  ['responses', 'a piece before the beginning', [textDelta, created]],
];

test.each(cases)('%s: %s is a broken stream and never a valid response', (dialect, _what, events) => {
  const decoded = decode(dialect, [streamOf(events)]);
  expect(decoded.map(({ type }) => type)).not.toContain('message-end');
  const last = decoded.at(-1);
  expect(last?.type === 'fault' ? last.fault.code : last?.type).toBe('agentcli_incomplete_stream');
});
