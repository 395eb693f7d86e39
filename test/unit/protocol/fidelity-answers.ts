import { type CanonicalEvent, type DialectName } from '../../../src/protocol';

export interface AnswerProbe {
  readonly feature: string;
  /** Dialects whose suppliers can send this content. */
  readonly dialects: readonly DialectName[];
  readonly events: (from: DialectName) => readonly CanonicalEvent[];
  readonly end?: Partial<Extract<CanonicalEvent, { type: 'message-end' }>>;
}

const allDialects: readonly DialectName[] = ['chat', 'messages', 'responses'];

const webCitations: Record<DialectName, object> = {
  chat: {
    type: 'url_citation',
    url_citation: { url: 'https://x.example', title: 'X', start_index: 0, end_index: 1 },
  },
  responses: { type: 'url_citation', url: 'https://x.example', title: 'X', start_index: 0, end_index: 1 },
  messages: {
    type: 'web_search_result_location',
    url: 'https://x.example',
    title: 'X',
    cited_text: 'C',
    encrypted_index: 'e',
  },
};
const citedText =
  (value: (origin: DialectName) => object) =>
  (origin: DialectName): readonly CanonicalEvent[] => [
    { type: 'text-start' },
    { type: 'text-delta', text: 'A' },
    { type: 'citation', origin, value: value(origin) },
    { type: 'text-end' },
  ];

export const answerProbes: readonly AnswerProbe[] = [
  {
    feature: 'Text',
    dialects: allDialects,
    events: () => [{ type: 'text-start' }, { type: 'text-delta', text: 'A' }, { type: 'text-end' }],
  },
  {
    feature: 'Parallel and interleaved calls',
    dialects: allDialects,
    events: () => [
      { type: 'tool-start', index: 0, id: 'call_a', name: 'look' },
      { type: 'tool-start', index: 1, id: 'call_b', name: 'look' },
      { type: 'tool-arguments-delta', index: 1, text: '{}' },
      { type: 'tool-arguments-delta', index: 0, text: '{}' },
      { type: 'tool-end', index: 0 },
      { type: 'tool-end', index: 1 },
    ],
    end: { finish: { unified: 'tool-calls', raw: null } },
  },
  {
    feature: 'Reasoning',
    dialects: allDialects,
    events: () => [
      { type: 'reasoning-start' },
      { type: 'reasoning-delta', text: 'Hm.' },
      { type: 'reasoning-end' },
    ],
  },
  {
    feature: 'Signed reasoning',
    dialects: ['messages', 'responses'],
    events: (origin) => [
      { type: 'reasoning-start' },
      { type: 'reasoning-delta', text: 'Hm.' },
      { type: 'reasoning-signature', origin, signature: 'c2ln' },
      { type: 'reasoning-end' },
    ],
  },
  {
    feature: 'Refusal in words',
    dialects: ['chat', 'responses'],
    events: () => [{ type: 'refusal', text: 'No.' }],
  },
  {
    feature: 'Citation of a source on the web',
    dialects: allDialects,
    events: citedText((origin) => webCitations[origin]),
  },
  {
    feature: 'Citation of a place in a document',
    dialects: ['messages'],
    events: citedText(() => ({
      type: 'char_location',
      document_index: 0,
      start_char_index: 0,
      end_char_index: 1,
    })),
  },
  {
    feature: 'Stopped by the limit',
    dialects: allDialects,
    events: () => [],
    end: { finish: { unified: 'length', raw: null } },
  },
  {
    feature: 'Stopped by a filter',
    dialects: allDialects,
    events: () => [],
    end: { finish: { unified: 'content-filter', raw: null } },
  },
  {
    feature: 'Stop sequence that was met',
    dialects: ['messages'],
    events: () => [],
    end: { finish: { unified: 'stop-sequence', raw: null }, stopSequence: 'END' },
  },
  {
    feature: 'Context exhausted',
    dialects: ['messages'],
    events: () => [],
    end: { finish: { unified: 'context-length', raw: null } },
  },
  {
    feature: 'Paused turn',
    dialects: ['messages'],
    events: () => [],
    end: { finish: { unified: 'pause', raw: null } },
  },
];
