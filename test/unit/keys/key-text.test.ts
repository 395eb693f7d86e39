import fc from 'fast-check';
import { maskKey } from '../../../src/keys';
import { hashKey, generateKey, publicIdOf } from '../../../src/keys/key-text';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const generatedKeys = Array.from({ length: 2_000 }, generateKey);

test('key has the documented format and contains its public id', () => {
  for (const { publicId, text } of generatedKeys) {
    expect(text).toMatch(/^svc_[0-9A-Za-z]{57}$/);
    expect(publicIdOf(text)).toBe(publicId);
    expect(text.slice(4, 12)).toBe(publicId);
  }
  expect(new Set(generatedKeys.map(({ text }) => text)).size).toBe(generatedKeys.length);
  expect(new Set(generatedKeys.map(({ publicId }) => publicId)).size).toBe(generatedKeys.length);
});

test('every changed digit and every swapped pair of neighbours is detected', () => {
  const { text } = generateKey();
  for (let at = 4; at < text.length; at += 1) {
    for (const digit of digits) {
      if (digit === text[at]) continue;
      expect(publicIdOf(text.slice(0, at) + digit + text.slice(at + 1))).toBeNull();
    }
    const swapped = text.slice(0, at) + (text[at + 1] ?? '') + (text[at] ?? '') + text.slice(at + 2);
    if (swapped !== text) expect(publicIdOf(swapped)).toBeNull();
  }
});

test('other texts are not keys', () => {
  const { text } = generateKey();
  for (const invalidText of [
    '',
    'svc_',
    text.slice(1),
    `${text}\n`,
    `\n${text}`,
    ` ${text}`,
    text + text,
    text.replace('_', '-'),
  ]) {
    expect(publicIdOf(invalidText)).toBeNull();
  }
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (any) => publicIdOf(any) === null));
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 57 }), (any) => publicIdOf(`svc_${any}`) === null),
  );
});

test('every digit is equally likely', () => {
  const counts = new Map<string, number>();
  for (const { text } of generatedKeys) {
    for (const digit of text.slice(4, 55)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  }
  const expected = (generatedKeys.length * 51) / digits.length;
  let deviation = 0;
  for (const digit of digits) deviation += ((counts.get(digit) ?? 0) - expected) ** 2 / expected;
  // Chi-squared with 61 degrees of freedom: exceeded once in ten million runs; a biased remainder gives 450.
  expect(deviation).toBeLessThan(140);
});

test('stored hash depends on every digit and the pepper, and the displayed text does not reveal the secret', () => {
  const { publicId, text } = generateKey();
  expect(hashKey('pepper', text)).toHaveLength(32);
  expect(hashKey('pepper', text)).toEqual(hashKey('pepper', text));
  expect(hashKey('other', text)).not.toEqual(hashKey('pepper', text));
  expect(hashKey('pepper', `${text.slice(0, -1)}_`)).not.toEqual(hashKey('pepper', text));
  expect(maskKey(publicId)).toBe(`svc_${publicId}…`);
});
