import type { ModelView } from '../../../src/catalogue';
import { familyOf, sealOf, writingFamily } from '../../../src/autorouter/choice/sealed-history';
import { dialects } from '../../../src/protocol';

const modelOf = (name: string, ownedBy: string, upstreamModel = name): ModelView =>
  ({ name, ownedBy, lanes: [{ upstreamModel }] }) as unknown as ModelView;

test.each([
  ['house-writer', 'reseller', 'anthropic/claude-sonnet-4.5', 'anthropic'],
  ['claude-haiku', 'Amazon', 'eu.anthropic.claude-haiku', 'anthropic'],
  ['gpt-5.2', 'azure', 'deployment-7', 'openai'],
  ['o3-mini', 'openrouter', 'o3-mini', 'openai'],
  ['openai/o4', 'openrouter', 'openai/o4', 'openai'],
  ['qwen3-coder', 'Alibaba', 'qwen3-coder', 'alibaba'],
  ['solo3', 'Them', 'solo3', 'them'],
])('%s of %s, upstream model %s, belongs to the family %s', (name, ownedBy, upstream, family) => {
  expect(familyOf(modelOf(name, ownedBy, upstream))).toBe(family);
});

test('writing family is null if writers disagree, and defaults to the home of the dialect', () => {
  const [claude, gpt, qwen] = [modelOf('claude', 'a'), modelOf('gpt-5', 'b'), modelOf('qwen', 'c')];
  expect(writingFamily('messages', [qwen], [claude, gpt, qwen])).toBe('c');
  expect(writingFamily('messages', [qwen, claude], [claude, gpt, qwen])).toBeNull();
  expect(writingFamily('messages', [], [claude, gpt, qwen])).toBe('anthropic');
  expect(writingFamily('responses', [], [claude, gpt, qwen])).toBe('openai');
  expect(writingFamily('chat', [], [claude, gpt])).toBeNull();
  expect(writingFamily('responses', [], [qwen])).toBe('c');
  expect(writingFamily('responses', [], [])).toBeNull();
});

describe('Conversation portability', () => {
  const seal = (dialect: 'messages' | 'responses' | 'chat', body: object) => {
    const decoded = dialects[dialect].decodeRequest({ model: 'auto', max_tokens: 9, ...body });
    if (!decoded.ok) throw decoded.error;
    return sealOf(decoded.value);
  };
  const conversationWith = (...content: object[]) => ({
    messages: [
      { role: 'user', content: 'Q' },
      { role: 'assistant', content },
      { role: 'user', content: 'Go on' },
    ],
  });

  test.each([
    ['text alone', [{ type: 'text', text: 'A' }], 'open'],
    ['a thought that is not signed', [{ type: 'thinking', thinking: 'T', signature: '' }], 'open'],
    ['a signed thought', [{ type: 'thinking', thinking: 'T', signature: 'c2ln' }], 'family'],
    ['a hidden thought', [{ type: 'redacted_thinking', data: 'c2ln' }], 'family'],
  ])('conversation with %s is limited as expected', (_name, content, expected) => {
    expect(seal('messages', conversationWith(...content))).toBe(expected);
  });

  test("conversation with a supplier's file is limited to the dialect", () => {
    const image = { type: 'image', source: { type: 'file', file_id: 'file_1' } };
    expect(seal('messages', { messages: [{ role: 'user', content: [image] }] })).toBe('dialect');
  });

  test.each([
    ['a summary', { type: 'reasoning', summary: [{ type: 'summary_text', text: 'S' }] }, 'open'],
    ['encrypted content', { type: 'reasoning', summary: [], encrypted_content: 'c2ln' }, 'family'],
    ['a compaction', { type: 'compaction', encrypted_content: 'c2ln' }, 'family'],
  ])('Responses conversation with %s is limited as expected', (_name, item, expected) => {
    expect(seal('responses', { input: [{ role: 'user', content: 'Q' }, item] })).toBe(expected);
  });
});
