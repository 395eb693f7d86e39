import { type CanonicalEvent, type DialectName } from '../../../src/protocol';

export interface AnswerProbe {
  readonly feature: string;
  /** What the supplier of each dialect can say. */
  readonly dialects: readonly DialectName[];
  readonly events: (from: DialectName) => readonly CanonicalEvent[];
  readonly end?: Partial<Extract<CanonicalEvent, { type: 'message-end' }>>;
}

const all: readonly DialectName[] = ['chat', 'messages', 'responses'];

export const answerProbes: readonly AnswerProbe[] = [
  {
    feature: 'Text',
    dialects: all,
    events: () => [{ type: 'text-start' }, { type: 'text-delta', text: 'A' }, { type: 'text-end' }],
  },
  {
    feature: 'Parallel and interleaved calls',
    dialects: all,
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
    dialects: all,
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
  { feature: 'Citations', dialects: all, events: (origin) => [{ type: 'citation', origin, value: {} }] },
  {
    feature: 'Stopped by the limit',
    dialects: all,
    events: () => [],
    end: { finish: { unified: 'length', raw: null } },
  },
  {
    feature: 'Stopped by a filter',
    dialects: all,
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
