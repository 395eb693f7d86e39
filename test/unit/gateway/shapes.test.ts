import { completionBytes, countCompletions } from '../../../src/gateway/operations/answer-shapes/completions';
import { toRequestedEncoding } from '../../../src/gateway/operations/answer-shapes/embeddings-encoding';
import {
  normaliseRanking,
  searchUnitsBound,
} from '../../../src/gateway/operations/answer-shapes/rerank-order';

describe('Embeddings', () => {
  const floats = { data: [{ index: 0, embedding: [1, -2.5] }], usage: {} };
  const packed = { data: [{ index: 0, embedding: 'AACAPwAAIMA=' }], usage: {} };

  test('are encoded as little-endian base64 when requested, and decoded otherwise', () => {
    expect(toRequestedEncoding(floats, { encoding_format: 'base64' })).toEqual(packed);
    expect(toRequestedEncoding(packed, { encoding_format: 'float' })).toEqual(floats);
    expect(toRequestedEncoding(packed, {})).toEqual(floats);
  });

  test('are returned unchanged when they already match the requested encoding', () => {
    expect(toRequestedEncoding(floats, {})).toBe(floats);
    expect(toRequestedEncoding(packed, { encoding_format: 'base64' })).toBe(packed);
    const oddEmbedding = { data: [{ embedding: { int8: [1] } }, null] };
    expect(toRequestedEncoding(oddEmbedding, { encoding_format: 'base64' })).toBe(oddEmbedding);
    const errorBody = { error: 'x' };
    expect(toRequestedEncoding(errorBody, { encoding_format: 'base64' })).toBe(errorBody);
  });
});

describe('Rerank result', () => {
  const result = (index: number, score: number) => ({ index, relevance_score: score });
  const answer = { model: 'm', results: [result(0, 0.1), result(1, 0.9), result(2, 0.5)] };

  test('is sorted by score and cut to the requested number', () => {
    expect(normaliseRanking(answer, { model: 'm' }).results).toEqual([
      result(1, 0.9),
      result(2, 0.5),
      result(0, 0.1),
    ]);
    expect(normaliseRanking(answer, { model: 'm', top_n: 1 }).results).toEqual([result(1, 0.9)]);
  });

  test('is returned unchanged when it already matches the request', () => {
    const sortedResult = { model: 'm', results: [result(1, 0.9), result(0, 0.9)] };
    expect(normaliseRanking(sortedResult, { model: 'm', top_n: 2 })).toBe(sortedResult);
    const errorBody = { error: 'x' };
    expect(normaliseRanking(errorBody, {})).toBe(errorBody);
  });

  test('names its model', () => {
    expect(normaliseRanking({ results: [] }, { model: 'm' })).toEqual({ model: 'm', results: [] });
  });

  test('hold covers the chunks that its documents can be split into', () => {
    expect(searchUnitsBound({ documents: ['a'] }, 100)).toBe(1);
    expect(searchUnitsBound({ documents: Array(101).fill('a') }, 500)).toBe(2);
    expect(searchUnitsBound({ documents: ['long'] }, 1_000_000)).toBeGreaterThan(20);
  });
});

describe('Legacy completions', () => {
  test.each([
    [{ prompt: 'a' }, 1],
    [{ prompt: ['a', 'b'], n: 3 }, 6],
    [{ prompt: [1, 2, 3], n: 2, best_of: 5 }, 5],
    [{ prompt: [[1], [2]] }, 2],
  ])('%j requests %d choices', (body, count) => expect(countCompletions(body)).toBe(count));

  test('count the bytes of their texts', () => {
    expect(completionBytes({ choices: [{ text: 'äb' }, {}, null] })).toBe(3);
    expect(completionBytes({})).toBe(0);
  });
});
