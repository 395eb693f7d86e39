import * as limits from '../../../src/gateway/operations/request-checks/limits';

type Body = Record<string, unknown>;
type Check = Exclude<keyof typeof limits, 'default'>;

const long = 'x'.repeat(4_097);
const refused: [Check, Body, string][] = [
  ['checkChat', { temperature: 2.1 }, 'temperature'],
  ['checkChat', { temperature: '1' }, 'temperature'],
  ['checkChat', { top_p: -0.1 }, 'top_p'],
  ['checkChat', { presence_penalty: 3 }, 'presence_penalty'],
  ['checkChat', { stream_options: { include_usage: true } }, 'stream_options'],
  ['checkChat', { stream: true, stream_options: 'yes' }, 'stream_options'],
  ['checkMessages', { temperature: 1.1 }, 'temperature'],
  ['checkResponses', { top_p: 2 }, 'top_p'],
  ['checkCompletions', { prompt: ['a', ''] }, 'prompt[1]'],
  ['checkCompletions', { prompt: 'a', best_of: 21 }, 'best_of'],
  ['checkEmbeddings', { input: ['one', ''] }, 'input[1]'],
  ['checkEmbeddings', { input: [[1, 2], []] }, 'input[1]'],
  ['checkEmbeddings', { input: [1, 2.5] }, 'input[0]'],
  ['checkEmbeddings', { input: [[1, -2]] }, 'input[0]'],
  ['checkEmbeddings', { input: Array(2_049).fill('x') }, 'input'],
  ['checkEmbeddings', { input: 'x', dimensions: 0 }, 'dimensions'],
  ['checkEmbeddings', { input: 'x', dimensions: 1.5 }, 'dimensions'],
  ['checkEmbeddings', { input: 'x', encoding_format: 'hex' }, 'encoding_format'],
  ['checkRerank', { documents: ['a'] }, 'query'],
  ['checkRerank', { query: '', documents: ['a'] }, 'query'],
  ['checkRerank', { query: 'q', documents: ['a', 1] }, 'documents[1]'],
  ['checkRerank', { query: 'q', documents: ['a'], top_n: 0 }, 'top_n'],
  ['checkSpeech', { input: long }, 'input'],
  ['checkSpeech', { input: ['a'] }, 'input'],
  ['checkSpeech', { input: 'a', speed: 0.2 }, 'speed'],
  ['checkSpeech', { input: 'a', speed: 4.1 }, 'speed'],
  ['checkSpeech', { input: 'a', response_format: 'midi' }, 'response_format'],
  ['checkSpeech', { input: 'a', stream_format: 'sse' }, 'stream_format'],
  ['checkSpeech', { input: 'a', voice: 7 }, 'voice'],
  ['checkSpeech', { input: 'a', voice: {} }, 'voice'],
  ['checkImage', { prompt: 'a', n: 11 }, 'n'],
  ['checkImage', { prompt: 'a', n: 0 }, 'n'],
  ['checkImage', { prompt: 'x'.repeat(32_001) }, 'prompt'],
  ['checkImage', { prompt: ['a'] }, 'prompt'],
  ['checkImage', { prompt: 'a', stream: true }, 'stream'],
  ['checkModeration', { input: ['a', 1] }, 'input[1]'],
  ['checkTranscription', { response_format: 'xml' }, 'response_format'],
  ['checkTranscription', { temperature: 'warm' }, 'temperature'],
  ['checkTranscription', { temperature: '' }, 'temperature'],
  ['checkTranscription', { stream: 'true' }, 'stream'],
];

test.each(refused)('%s: %j is refused for %s', (check, body, param) => {
  expect(() => limits[check](body)).toThrow(
    expect.objectContaining({ status: 400, options: expect.objectContaining({ param }) }),
  );
});

const taken: [Check, Body][] = [
  ['checkChat', {}],
  ['checkChat', { temperature: null, top_p: null, stream_options: null }],
  ['checkChat', { temperature: 2, top_p: 0, stream: true, stream_options: { include_usage: true } }],
  ['checkMessages', { temperature: 1 }],
  ['checkCompletions', { prompt: [1, 2, 3] }],
  ['checkCompletions', { prompt: [[1, 2], [3]] }],
  ['checkEmbeddings', { input: Array(2_048).fill('x'), dimensions: 256, encoding_format: 'base64' }],
  ['checkEmbeddings', { input: Array(8_000).fill(7) }],
  ['checkRerank', { query: 'q', documents: ['a', { text: 'b' }], top_n: 9 }],
  ['checkSpeech', { input: '👋'.repeat(4_096), voice: { id: 'v' }, speed: 4, response_format: 'pcm' }],
  ['checkImage', { prompt: 'a', n: 10 }],
  ['checkModeration', { input: [{ type: 'text', text: 'a' }] }],
  ['checkTranscription', { temperature: '0.2', stream: 'false', response_format: 'srt' }],
];

test.each(taken)('%s: %j is taken', (check, body) => {
  expect(() => limits[check](body)).not.toThrow();
});
