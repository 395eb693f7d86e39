import { AnswerMasks } from '../../../../src/gateway/masks/answer-masks';
import { maskBody } from '../../../../src/gateway/masks/masked-body';
import { MaskRun } from '../../../../src/gateway/masks/mask-run';
import { operations, type GatewayOperation } from '../../../../src/gateway/operations/operation';

const mask = {
  longest: 5,
  find: (text: string) =>
    [...text.matchAll(/\d{4}/g)].map(({ index }) => ({ start: index, end: index + 4, text: '#' })),
};
const watch = { failed: () => undefined, slow: () => undefined };

const shown = (
  operation: GatewayOperation,
  body: object | string,
  contentType = 'application/json',
): unknown => {
  const run = new MaskRun({ name: 'a/b', mask, onError: 'closed', timeoutMs: 1_000, watch });
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const masked = maskBody(new AnswerMasks([run], () => undefined), operation, {
    body: bytes,
    contentType,
  }).toString();
  return contentType === 'application/json' ? JSON.parse(masked) : masked;
};

test('transcription masks its text and omits the segments that repeat it', () => {
  const transcription = {
    text: 'Pin 1234.',
    duration: 1234.5,
    words: [{ word: '12' }, { word: '34' }],
    segments: [{ text: '1234' }],
  };
  expect(shown(operations.transcription, transcription)).toEqual({
    ...transcription,
    text: 'Pin #.',
    words: [],
    segments: [],
  });
  expect(shown(operations.transcription, { ...transcription, text: 'No', segments: [] })).toEqual({
    ...transcription,
    text: 'No',
    segments: [],
  });
  expect(shown(operations.translation, 'Pin 1234.', 'text/plain')).toBe('Pin #.');
});

test('image masks its revised prompt, not its bytes', () => {
  const imageResponse = { created: 1234, data: [{ b64_json: 'ab1234cd', revised_prompt: 'The year 1234' }] };
  expect(shown(operations.image, imageResponse)).toEqual({
    created: 1234,
    data: [{ b64_json: 'ab1234cd', revised_prompt: 'The year #' }],
  });
});

test('rerank documents are masked, embeddings and speech are not', () => {
  expect(shown(operations.rerank, { results: [{ index: 0, document: { text: '1234' } }] })).toEqual({
    results: [{ index: 0, document: { text: '#' } }],
  });
  expect(shown(operations.embeddings, { data: [{ embedding: 'AAAA1234' }] })).toEqual({
    data: [{ embedding: 'AAAA1234' }],
  });
  expect(shown(operations.speech, '1234', 'audio/mpeg')).toBe('1234');
});

test('numbers and bytes keep their original spelling', () => {
  const original =
    '{"id":"c1234","object":"x","choices":[{"index":0,"message":{"content":"1234"},"odd":12345678901234567890}],"one":1.0}';
  const run = new MaskRun({ name: 'a/b', mask, onError: 'closed', timeoutMs: 1_000, watch });
  const masked = maskBody(new AnswerMasks([run], () => undefined), operations.chat, {
    body: Buffer.from(original),
    contentType: 'application/json',
  });
  expect(masked.toString()).toBe(original.replace('"content":"1234"', '"content":"#"'));
});
