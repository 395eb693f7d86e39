import { droppedNames } from '../../../src/gateway/reply/svc-headers';
import { type DialectName } from '../../../src/protocol';
import { laneFacts } from '../../../src/vendors';
import { convert, type TargetName } from './convert';
import { bases } from './fidelity-shapes';
import { type Json } from './transcripts';

/** Returns the value of `x-svc-dropped` for a request that is converted for a model. */
const droppedFields = (from: DialectName, to: TargetName, model: string, fields: Json): readonly string[] =>
  droppedNames(convert(from, to, { ...bases[from], ...fields }, { facts: laneFacts(model, {}) }).dropped);

const imageBody = (detail: string): Json => ({
  input: [
    {
      role: 'user',
      content: [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail }],
    },
  ],
});

// "Silent in conversion: `reasoning.mode`, `reasoning.context`".
test.each<[TargetName, string]>([
  ['chat', 'gpt-5.1'],
  ['messages', 'claude-opus-4-7'],
  ['gemini', 'gemini-4-argon'],
])('x-svc-dropped names reasoning.mode and reasoning.context for a model of %s', (to, model) => {
  const reasoning = { effort: 'high', mode: 'pro', context: 'all_turns' };
  expect(droppedFields('responses', to, model, { reasoning })).toEqual([
    'reasoning.mode',
    'reasoning.context',
  ]);
});

// "on Gemini picture `detail`, lowered `effort: max`, `thinking: between_tools`".
describe('x-svc-dropped for Gemini', () => {
  test('names the image detail unless it is automatic', () => {
    expect(droppedFields('responses', 'gemini', 'gemini-4-argon', imageBody('high'))).toEqual([
      'input.content.detail',
    ]);
    expect(droppedFields('responses', 'gemini', 'gemini-4-argon', imageBody('auto'))).toEqual([]);
  });

  test.each<[DialectName, string, Json, string[]]>([
    ['messages', 'gemini-4-argon', { output_config: { effort: 'max' } }, ['output_config.effort.max']],
    ['messages', 'gemini-2.5-flash', { output_config: { effort: 'max' } }, ['output_config.effort.max']],
    ['chat', 'gemini-4-argon', { reasoning_effort: 'max' }, ['reasoning_effort.max']],
    ['responses', 'gemini-4-argon', { reasoning: { effort: 'max' } }, ['reasoning.effort.max']],
    ['responses', 'gemini-4-argon', { reasoning: { effort: 'high' } }, []],
    ['messages', 'gemini-4-argon', { thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, []],
    ['responses', 'gemini-2.5-flash', { reasoning: { effort: 'low' } }, []],
    [
      'messages',
      'gemini-2.5-flash',
      { thinking: { type: 'enabled', budget_tokens: 60_000 } },
      ['thinking.budget_tokens.60000'],
    ],
  ])('names a lowered effort or budget, from %s for %s: %j', (from, model, fields, names) => {
    expect(droppedFields(from, 'gemini', model, fields)).toEqual(names);
  });

  test('names cache marks at every position', () => {
    const cache_control = { type: 'ephemeral' };
    const markedText = (text: string): Json => ({ type: 'text', text, cache_control });
    const messages = [
      { role: 'user', content: [markedText('a')] },
      {
        role: 'assistant',
        content: [markedText('b'), { type: 'tool_use', id: 'c', name: 'look', input: {} }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'd', cache_control }] },
    ];
    const names = droppedFields('messages', 'gemini', 'gemini-4-argon', {
      system: [markedText('s')],
      messages,
    });
    expect(names).toEqual(['system.cache_control', 'messages.content.cache_control']);
  });

  test.each(['gemini-4-argon', 'gemini-2.5-flash'])('names thinking between tool calls for %s', (model) => {
    expect(droppedFields('messages', 'gemini', model, { thinking: { type: 'between_tools' } })).toEqual([
      'thinking.type',
    ]);
    expect(droppedFields('messages', 'gemini', model, { thinking: { type: 'adaptive' } })).toEqual([]);
  });
});

test.each<[TargetName, string]>([
  ['chat', 'grok-4'],
  ['responses', 'gpt-5.1'],
])('x-svc-dropped names an effort that the model of %s does not support', (to, model) => {
  expect(droppedFields('messages', to, model, { output_config: { effort: 'max' } })).toEqual([
    'output_config.effort.max',
  ]);
});

test('x-svc-dropped names an output limit above the maximum of the model', () => {
  const names = droppedFields('messages', 'chat', 'gpt-5.1', { max_tokens: 9_000_000 });
  expect(names).toEqual(['max_tokens.9000000']);
});

test('x-svc-dropped names inner thinking fields that the target does not support', () => {
  const thinking = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
  expect(droppedFields('messages', 'gemini', 'gemini-4-argon', { thinking })).toEqual([
    'thinking.block_binding',
  ]);
});
