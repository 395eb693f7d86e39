import fc from 'fast-check';
import { extractFeatures, wordSalt } from '../../../src/autorouter/engine';
import { featuresOf, prompts } from './traffic';

const hashesOf = (text: string): number[] => [...featuresOf(text).hashes].sort((one, other) => one - other);

describe('Request features', () => {
  test.each([
    { text: 'Why does this Python function return null?', bucket: 'code/short' },
    { text: 'Which clause of the contract limits liability for damages?', bucket: 'legal/short' },
    { text: `${'The patient takes a drug for a chronic disease. '.repeat(10)}`, bucket: 'medical/medium' },
    { text: `${'Solve the equation and prove the theorem. '.repeat(40)}`, bucket: 'maths/long' },
    { text: 'Wie spät ist es in Zürich?', bucket: 'general/short' },
    { text: '', bucket: 'general/short' },
  ])('bucket of the text is $bucket', ({ text, bucket }) => {
    expect(featuresOf(text).bucket).toBe(bucket);
  });

  test('request with tools or an image has a separate bucket', () => {
    const { counters } = featuresOf('x');
    const bucketOf = (more: Partial<typeof counters>): string =>
      extractFeatures({ ...counters, ...more, text: 'Debug this code' }, wordSalt('a')).bucket;
    expect(bucketOf({ tools: 2 })).toBe('code/short/tools');
    expect(bucketOf({ hasToolResult: true })).toBe('code/short/tools');
    expect(bucketOf({ tools: 2, hasImage: true })).toBe('code/short/image');
  });

  test('words match regardless of case, numbers by length only', () => {
    expect(hashesOf('Pay 17 Euro')).toEqual(hashesOf('pay 42 EURO'));
    expect(hashesOf('pay 17 euro')).not.toEqual(hashesOf('pay 170 euro'));
    expect(hashesOf('pay 17 euro')).not.toEqual(hashesOf('euro 17 pay'));
  });

  test('repeated word is one hash with a count', () => {
    const { hashes, counts } = featuresOf('sea sea sea');
    expect(new Set(hashes).size).toBe(2);
    expect([...counts].sort()).toEqual([2, 3]);
  });

  test('hashes depend on the salt only', () => {
    const text = 'the patient with the rare disease';
    const hashesWithSalt = (secret: string): string =>
      extractFeatures({ ...featuresOf('x').counters, text }, wordSalt(secret)).hashes.join();
    expect(hashesWithSalt('one')).toBe(hashesWithSalt('one'));
    expect(hashesWithSalt('one')).not.toBe(hashesWithSalt('other'));
  });

  test('salt permutes the hashes without collisions', () => {
    expect(new Set(wordSalt('secret').order).size).toBe(32_768);
  });

  test('only the beginning and the end of a long text are read', () => {
    const longText = (middle: string): string => `${'head '.repeat(480)}${middle}${'tail '.repeat(320)}`;
    expect(hashesOf(longText('secret '.repeat(2_000)))).toEqual(hashesOf(longText('hidden '.repeat(2_000))));
    const distinctWords = Array.from({ length: 3_000 }, (_, index) => `w${index.toString(36)}x`).join(' ');
    const features = featuresOf(distinctWords);
    expect(features.hashes.length).toBeLessThanOrEqual(600);
    expect(features.counts).toHaveLength(features.hashes.length);
  });

  test('every text yields 30 finite signals', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), prompts), (text) => {
        const { structure } = featuresOf(text);
        expect(structure).toHaveLength(30);
        expect([...structure].every(Number.isFinite)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
