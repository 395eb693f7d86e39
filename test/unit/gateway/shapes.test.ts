import { completionBytes, countCompletions } from '../../../src/gateway/operations/answer-shapes/completions';
import { toRequestedEncoding } from '../../../src/gateway/operations/answer-shapes/embeddings-encoding';
import { normaliseRanking, searchUnitsBound } from '../../../src/gateway/operations/answer-shapes/rerank-order';

describe('embeddings', () => {
  const floats = { data: [{ index: 0, embedding: [1, -2.5] }], usage: {} };
  const packed = { data: [{ index: 0, embedding: 'AACAPwAAIMA=' }], usage: {} };

  test('are packed as little-endian floats for whoever asks, and unpacked for whoever does not', () => {
    expect(toRequestedEncoding(floats, { encoding_format: 'base64' })).toEqual(packed);
    expect(toRequestedEncoding(packed, { encoding_format: 'float' })).toEqual(floats);
    expect(toRequestedEncoding(packed, {})).toEqual(floats);
  });

  test('that are as asked stay the very same', () => {
    expect(toRequestedEncoding(floats, {})).toBe(floats);
    expect(toRequestedEncoding(packed, { encoding_format: 'base64' })).toBe(packed);
    const odd = { data: [{ embedding: { int8: [1] } }, null] };
    expect(toRequestedEncoding(odd, { encoding_format: 'base64' })).toBe(odd);
    const none = { error: 'x' };
    expect(toRequestedEncoding(none, { encoding_format: 'base64' })).toBe(none);
  });
});

describe('a ranking', () => {
  const result = (index: number, score: number) => ({ index, relevance_score: score });
  const answer = { model: 'm', results: [result(0, 0.1), result(1, 0.9), result(2, 0.5)] };

  test('is put in order, and cut to what was asked', () => {
    expect(normaliseRanking(answer, { model: 'm' }).results).toEqual([result(1, 0.9), result(2, 0.5), result(0, 0.1)]);
    expect(normaliseRanking(answer, { model: 'm', top_n: 1 }).results).toEqual([result(1, 0.9)]);
  });

  test('that is as asked stays the very same', () => {
    const good = { model: 'm', results: [result(1, 0.9), result(0, 0.9)] };
    expect(normaliseRanking(good, { model: 'm', top_n: 2 })).toBe(good);
    const none = { error: 'x' };
    expect(normaliseRanking(none, {})).toBe(none);
  });

  test('names its model', () => {
    expect(normaliseRanking({ results: [] }, { model: 'm' })).toEqual({ model: 'm', results: [] });
  });

  test('is held for by the pieces that its documents may be cut into', () => {
    expect(searchUnitsBound({ documents: ['a'] }, 100)).toBe(1);
    expect(searchUnitsBound({ documents: Array(101).fill('a') }, 500)).toBe(2);
    expect(searchUnitsBound({ documents: ['long'] }, 1_000_000)).toBeGreaterThan(20);
  });
});

describe('completions', () => {
  test.each([
    [{ prompt: 'a' }, 1],
    [{ prompt: ['a', 'b'], n: 3 }, 6],
    [{ prompt: [1, 2, 3], n: 2, best_of: 5 }, 5],
    [{ prompt: [[1], [2]] }, 2],
  ])('%j asks for %d answers', (body, count) => expect(countCompletions(body)).toBe(count));

  test('count the bytes that were written', () => {
    expect(completionBytes({ choices: [{ text: 'äb' }, {}, null] })).toBe(3);
    expect(completionBytes({})).toBe(0);
  });
});
