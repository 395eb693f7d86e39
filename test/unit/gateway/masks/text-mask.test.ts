import type { Mask, MaskedSpan } from '#extension';
import { JsonMask } from '../../../../src/gateway/masks/json-mask';
import { MaskError, MaskRun } from '../../../../src/gateway/masks/mask-run';
import { type PieceMask, TextMask } from '../../../../src/gateway/masks/text-mask';
import { SeededRandom } from '../../../system/seeded-random';

const watch = { failed: () => undefined, slow: () => undefined };

const runOf = (mask: Mask, onError: 'open' | 'closed' = 'closed'): MaskRun =>
  new MaskRun({ name: 'tried/mask', mask, onError, timeoutMs: 1_000, watch });

const finder = (pattern: RegExp, longest: number, text: string | ((match: string) => string)): Mask => ({
  longest,
  find: (given) =>
    [...given.matchAll(pattern)].map(({ index, 0: match }) => ({
      start: index,
      end: index + match.length,
      text: typeof text === 'string' ? text : text(match),
    })),
});

const replaceAllIn = (text: string, pattern: RegExp, by: string): string => text.replaceAll(pattern, by);

const maskPieces = (mask: PieceMask, pieces: readonly string[]): string =>
  pieces.map((piece) => mask.push(piece)).join('') + mask.end();

function piecesOf(text: string, random: () => number, longest: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + 1 + Math.floor(random() * longest);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

const ALPHABET = ['a', 'b', '1', '2', '3', ' ', 'é', '漢', '😀', '\n', '"', '\\', '@', '.'];
const textOf = (random: () => number, length: number): string =>
  Array.from({ length }, () => ALPHABET[Math.floor(random() * ALPHABET.length)]).join('');

const patterns: readonly [RegExp, number][] = [
  [/(?<![\p{L}\d])\d{2,4}(?!\d)/gu, 5],
  [/\d{3}/g, 3],
  [/😀[ab]?/gu, 4],
  [/[ab]{2}@[ab.]{1,6}/g, 40],
  [/\S/g, 1],
  [/\n[^"]{1,80}"/g, 82],
];

test.each(patterns)('%s masks a text the same however it is cut', (pattern, longest) => {
  const randomSource = new SeededRandom(38);
  const random = (): number => randomSource.next();
  for (let iteration = 0; iteration < 60; iteration += 1) {
    const text = textOf(random, 5 + Math.floor(random() * 900));
    const expected = replaceAllIn(text, pattern, '[-]');
    const createMask = (): TextMask => new TextMask([runOf(finder(pattern, longest, '[-]'))]);
    expect(maskPieces(createMask(), [text])).toBe(expected);
    for (const size of [1, 2, 7, 200])
      expect(maskPieces(createMask(), piecesOf(text, random, size))).toBe(expected);
  }
});

test('every position to cut a text in two gives the same result', () => {
  const text = 'Ring 😀+49 151 23456789😀 or write to jane.doe@example.com😀, 漢字 42.';
  const pattern = /\+\d[\d ]{6,14}\d|[\w.]{1,32}@[\w.]{1,32}\w/g;
  for (let at = 0; at <= text.length; at += 1) {
    const mask = new TextMask([runOf(finder(pattern, 66, '[-]'))]);
    expect(maskPieces(mask, [text.slice(0, at), text.slice(at)])).toBe(replaceAllIn(text, pattern, '[-]'));
  }
});

test('no output piece ends in half a surrogate pair', () => {
  const mask = new TextMask([runOf(finder(/x/g, 1, '-'))]);
  const outputs = [...'😀😀😀'.split('').map((half) => mask.push(half)), mask.end()];
  expect(outputs.join('')).toBe('😀😀😀');
  for (const piece of outputs) expect(piece.isWellFormed()).toBe(true);
});

test('each mask reads the output of the previous one', () => {
  const randomSource = new SeededRandom(7);
  const random = (): number => randomSource.next();
  const masks = [finder(/ab?/g, 2, '1'), finder(/1{2}/g, 2, 'b '), finder(/b (?=b|$)/g, 3, '')];
  for (let iteration = 0; iteration < 200; iteration += 1) {
    const text = textOf(random, 400);
    const expected = text.replaceAll(/ab?/g, '1').replaceAll(/1{2}/g, 'b ');
    const firstTwo = masks.slice(0, 2);
    const completeOutput = maskPieces(new TextMask(firstTwo.map((mask) => runOf(mask))), [text]);
    expect(completeOutput).toBe(expected);
    const createAll = (): TextMask => new TextMask(masks.map((mask) => runOf(mask)));
    expect(maskPieces(createAll(), piecesOf(text, random, 5))).toBe(maskPieces(createAll(), [text]));
  }
});

test('held-back text is no longer than the longest match', () => {
  const mask = new TextMask([runOf(finder(/never/g, 10, ''))]);
  let output = '';
  for (let at = 0; at < 500; at += 1) {
    output += mask.push('x');
    expect(at + 1 - output.length).toBeLessThanOrEqual(10);
  }
});

describe('Mask with invalid results', () => {
  const span = (start: unknown, end: unknown, text: unknown = ''): MaskedSpan =>
    ({ start, end, text }) as MaskedSpan;
  const invalidResults: readonly [string, () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    [
      'throws what cannot be printed',
      () => {
        throw Object.create(null);
      },
    ],
    ['returns nothing', () => undefined],
    ['returns a promise', () => Promise.reject(new Error('late'))],
    ['overlaps', () => [span(0, 3), span(2, 4)]],
    ['is out of order', () => [span(4, 5), span(0, 1)]],
    ['goes beyond the text', () => [span(0, 99)]],
    ['begins before it', () => [span(-1, 2)]],
    ['is empty', () => [span(2, 2)]],
    ['counts in halves', () => [span(0.5, 2)]],
    ['is longer than it said', () => [span(0, 9)]],
    ['has no replacement', () => [span(0, 1, null)]],
    ['has a very long one', () => [span(0, 1, 'x'.repeat(64 * 1024 + 1))]],
    ['has no span', () => [null]],
  ];

  test.each(invalidResults)('%s ends the response when onError is closed', (_what, find) => {
    const mask = new TextMask([runOf({ longest: 8, find: find as Mask['find'] })]);
    expect(() => maskPieces(mask, ['some text that is long enough'])).toThrow(MaskError);
  });

  test.each(invalidResults)('%s passes the remaining text unmasked when onError is open', (_what, find) => {
    const run = runOf({ longest: 8, find: find as Mask['find'] }, 'open');
    expect(maskPieces(new TextMask([run]), ['some text ', 'that is long', ' enough'])).toBe(
      'some text that is long enough',
    );
    expect(run.verdict).toBe('failed');
  });

  test('replacements are limited in length', () => {
    const mask = new TextMask([runOf(finder(/\S/g, 1, 'x'.repeat(60_000)))]);
    expect(() => mask.push('y'.repeat(1_000))).toThrow(MaskError);
  });
});

describe('Tool-call JSON mask', () => {
  const createJsonMask = (): JsonMask =>
    new JsonMask([runOf(finder(/\d{6,9}|jane@x\.org|😀!/gu, 10, '["-"]'))]);
  const cases: readonly [string, unknown][] = [
    [
      String.raw`{"a":"call 1234567","b":[1234567,12.5,-1e3,true,null],"jane@x.org":{}}`,
      { a: 'call ["-"]', b: ['["-"]', 12.5, -1000, true, null], '["-"]': {} },
    ],
    [String.raw`{"a":"jane\u0040x.org \ud83d\ude00! \"q\" \\ \/"}`, { a: '["-"] ["-"] "q" \\ /' }],
    ['"jane@x.org"', '["-"]'],
    ['{ "n" : 1234567 , "m":0 }', { n: '["-"]', m: 0 }],
    ['{}', {}],
  ];

  test.each(cases)('%s stays JSON however it is cut', (text, expected) => {
    for (let at = 0; at <= text.length; at += 1)
      expect(JSON.parse(maskPieces(createJsonMask(), [text.slice(0, at), text.slice(at)]))).toEqual(expected);
    expect(JSON.parse(maskPieces(createJsonMask(), text.split('')))).toEqual(expected);
  });

  test.each([
    'jane@x.org',
    '1234567',
    'call 1234567 now',
    '{"a":true@jane@x.org',
    '{"a": 12 1234567}',
    '[1234567 1]',
    '{"a":"jane@x.org',
    String.raw`{"a":"jane\u0040x.org`,
  ])('invalid JSON is masked as text: %s', (text) => {
    const completeOutput = maskPieces(createJsonMask(), [text]);
    expect(completeOutput).not.toMatch(/1234567|jane@/);
    for (let at = 0; at <= text.length; at += 1)
      expect(maskPieces(createJsonMask(), [text.slice(0, at), text.slice(at)])).toBe(completeOutput);
  });

  test('unterminated number is not treated as a number', () => {
    const text = `{"n":${'7'.repeat(20_000)}}`;
    expect(maskPieces(createJsonMask(), text.split(''))).not.toContain('7777777777');
  });

  test('JSON is unchanged when nothing matches', () => {
    const text = '{"a" : ["x", 1.50, {"b":null}],\n "c":"é😀"}';
    expect(maskPieces(createJsonMask(), text.split(''))).toBe(text);
  });
});
