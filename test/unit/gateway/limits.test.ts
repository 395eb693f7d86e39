import { checkFields } from '../../../src/gateway/operations/field-rules';
import { operations } from '../../../src/gateway/operations/operation';

type BoundedBody = Record<string, unknown>;
type OperationKey = keyof typeof operations;

const longInput = 'x'.repeat(4_097);
const rejectedBodies: [OperationKey, BoundedBody, string][] = [
  ['chat', { temperature: 2.1 }, 'temperature'],
  ['chat', { temperature: '1' }, 'temperature'],
  ['chat', { top_p: -0.1 }, 'top_p'],
  ['chat', { presence_penalty: 3 }, 'presence_penalty'],
  ['chat', { stream_options: { include_usage: true } }, 'stream_options'],
  ['chat', { stream: true, stream_options: 'yes' }, 'stream_options'],
  ['messages', { temperature: 1.1 }, 'temperature'],
  ['responses', { top_p: 2 }, 'top_p'],
  ['completions', { prompt: ['a', ''] }, 'prompt[1]'],
  ['completions', { prompt: 'a', best_of: 21 }, 'best_of'],
  ['embeddings', { input: ['one', ''] }, 'input[1]'],
  ['embeddings', { input: [[1, 2], []] }, 'input[1]'],
  ['embeddings', { input: [1, 2.5] }, 'input[0]'],
  ['embeddings', { input: [[1, -2]] }, 'input[0]'],
  ['embeddings', { input: Array(2_049).fill('x') }, 'input'],
  ['embeddings', { input: 'x', dimensions: 0 }, 'dimensions'],
  ['embeddings', { input: 'x', dimensions: 1.5 }, 'dimensions'],
  ['embeddings', { input: 'x', encoding_format: 'hex' }, 'encoding_format'],
  ['rerank', { documents: ['a'] }, 'query'],
  ['rerank', { query: '', documents: ['a'] }, 'query'],
  ['rerank', { query: 'q', documents: ['a', 1] }, 'documents[1]'],
  ['rerank', { query: 'q', documents: ['a'], top_n: 0 }, 'top_n'],
  ['speech', { input: longInput }, 'input'],
  ['speech', { input: ['a'] }, 'input'],
  ['speech', { input: 'a', speed: 0.2 }, 'speed'],
  ['speech', { input: 'a', speed: 4.1 }, 'speed'],
  ['speech', { input: 'a', response_format: 'midi' }, 'response_format'],
  ['speech', { input: 'a', stream_format: 'sse' }, 'stream_format'],
  ['speech', { input: 'a', voice: 7 }, 'voice'],
  ['speech', { input: 'a', voice: {} }, 'voice'],
  ['image', { prompt: 'a', n: 11 }, 'n'],
  ['image', { prompt: 'a', n: 0 }, 'n'],
  ['image', { prompt: 'x'.repeat(32_001) }, 'prompt'],
  ['image', { prompt: ['a'] }, 'prompt'],
  ['image', { prompt: 'a', stream: true }, 'stream'],
  ['moderation', { input: ['a', 1] }, 'input[1]'],
  ['transcription', { response_format: 'xml' }, 'response_format'],
  ['transcription', { temperature: 'warm' }, 'temperature'],
  ['transcription', { temperature: '' }, 'temperature'],
  ['transcription', { stream: 'true' }, 'stream'],
];

test.each(rejectedBodies)('%s: %j is rejected for %s', (name, body, param) => {
  expect(() => checkFields(operations[name].bounds, body)).toThrow(
    expect.objectContaining({ status: 400, options: expect.objectContaining({ param }) }),
  );
});

const acceptedBodies: [OperationKey, BoundedBody][] = [
  ['chat', {}],
  ['chat', { temperature: null, top_p: null, stream_options: null }],
  ['chat', { temperature: 2, top_p: 0, stream: true, stream_options: { include_usage: true } }],
  ['messages', { temperature: 1 }],
  ['completions', { prompt: [1, 2, 3] }],
  ['completions', { prompt: [[1, 2], [3]] }],
  ['embeddings', { input: Array(2_048).fill('x'), dimensions: 256, encoding_format: 'base64' }],
  ['embeddings', { input: Array(8_000).fill(7) }],
  ['rerank', { query: 'q', documents: ['a', { text: 'b' }], top_n: 9 }],
  ['speech', { input: '👋'.repeat(4_096), voice: { id: 'v' }, speed: 4, response_format: 'pcm' }],
  ['image', { prompt: 'a', n: 10 }],
  ['moderation', { input: [{ type: 'text', text: 'a' }] }],
  ['transcription', { temperature: '0.2', stream: 'false', response_format: 'srt' }],
];

test.each(acceptedBodies)('%s: %j is accepted', (name, body) => {
  expect(() => checkFields(operations[name].bounds, body)).not.toThrow();
});
