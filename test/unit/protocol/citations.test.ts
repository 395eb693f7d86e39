import { type CanonicalEvent, collect, type DialectName, dialects } from '../../../src/protocol';
import { encode, options } from './transcripts';

const url = 'https://x.example/a';
const values: Record<DialectName, object> = {
  chat: { type: 'url_citation', url_citation: { url, title: 'A', start_index: 6, end_index: 11 } },
  responses: { type: 'url_citation', url, title: 'A', start_index: 6, end_index: 11 },
  messages: {
    type: 'web_search_result_location',
    url,
    title: 'A',
    cited_text: 'quoted',
    encrypted_index: 'e',
  },
};
const events = (origin: DialectName, value: unknown): CanonicalEvent[] => [
  { type: 'message-start', id: 'x', model: 'm' },
  { type: 'text-start' },
  { type: 'text-delta', text: 'Hello world' },
  { type: 'citation', origin, value },
  { type: 'text-end' },
  { type: 'message-end', finish: { unified: 'stop', raw: null } },
];
const encodeComplete = (to: DialectName, list: CanonicalEvent[]) => {
  const answer = collect(list);
  if (!answer.ok) throw answer.error;
  return dialects[to].encodeAnswer(answer.value, options);
};

/** Messages has no positions: the citation applies to its text block. */
const expectedPosition = (origin: DialectName) =>
  origin === 'messages' ? { start_index: 0, end_index: 11 } : { start_index: 6, end_index: 11 };

describe.each(['chat', 'responses', 'messages'] as const)('Web citation from %s', (origin) => {
  test('is an annotation in Chat Completions, streaming or not', () => {
    const note = { type: 'url_citation', url_citation: { url, title: 'A', ...expectedPosition(origin) } };
    const { body, dropped } = encodeComplete('chat', events(origin, values[origin]));
    expect(body.choices).toMatchObject([{ message: { content: 'Hello world', annotations: [note] } }]);
    expect(dropped).toEqual([]);
    const encoder = dialects.chat.streamEncoder(options);
    const text = encode(encoder, events(origin, values[origin]));
    expect(text).toContain('"delta":{"annotations":[');
    expect(encoder.dropped).toEqual([]);
  });

  test('is an annotation in Responses, streaming or not', () => {
    const note = { type: 'url_citation', url, title: 'A', ...expectedPosition(origin) };
    const { body, dropped } = encodeComplete('responses', events(origin, values[origin]));
    expect(body.output).toMatchObject([{ content: [{ text: 'Hello world', annotations: [note] }] }]);
    expect(dropped).toEqual([]);
    const encoder = dialects.responses.streamEncoder(options);
    const text = encode(encoder, events(origin, values[origin]));
    expect(text).toContain('event: response.output_text.annotation.added');
    const last = JSON.parse(/event: response\.completed\ndata: (.*)/.exec(text)![1]!) as object;
    expect(last).toMatchObject({ response: { output: [{ content: [{ annotations: [note] }] }] } });
    expect(encoder.dropped).toEqual([]);
  });

  test('is dropped in Messages, whose clients send citations back for verification, and reported', () => {
    expect(encodeComplete('messages', events(origin, values[origin])).dropped).toMatchObject([
      { path: 'citation' },
    ]);
  });
});

test('document citation is kept in its own dialect only', () => {
  const value = { type: 'char_location', document_index: 0, start_char_index: 0, end_char_index: 5 };
  for (const to of ['chat', 'responses'] as const)
    expect(encodeComplete(to, events('messages', value)).dropped).toMatchObject([{ path: 'citation' }]);
});
