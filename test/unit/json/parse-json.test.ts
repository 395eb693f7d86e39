import fc from 'fast-check';
import { parseJson, parseJsonPolitely } from '../../../src/kernel/json';

const politely = (text: string | Buffer): Promise<unknown> =>
  Promise.resolve().then(() => parseJsonPolitely(Buffer.from(text)));
const refusal = { code: 'invalid_json' };
const large = 300_000;

/** The same value in text that is long enough to be measured before it is parsed. */
const padded = (json: string): string => `${json}${' '.repeat(large)}`;
const levels = (count: number, open = '[', close = ']'): string => open.repeat(count) + close.repeat(count);

test('agrees with JSON.parse on any JSON within bounds, small or large', async () => {
  const space = fc.constantFrom(undefined, 1, '\t');
  await fc.assert(
    fc.asyncProperty(fc.json({ maxDepth: 20 }), space, async (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent);
      const expected: unknown = JSON.parse(text);
      expect(parseJson(Buffer.from(text))).toEqual(expected);
      expect(await politely(padded(text))).toEqual(expected);
    }),
    { numRuns: 150 },
  );
});

test('agrees with JSON.parse on text that is no JSON, too', async () => {
  const pieces = fc.array(
    fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', '1', 'null', ' ', 'x', '\\u12', 'é'),
  );
  await fc.assert(
    fc.asyncProperty(pieces, async (parts) => {
      const text = parts.join('');
      let expected: { value: unknown } | null;
      try {
        expected = { value: JSON.parse(text) as unknown };
      } catch {
        expected = null;
      }
      for (const read of [() => politely(text), () => politely(padded(text))]) {
        if (expected === null) await expect(read()).rejects.toMatchObject(refusal);
        else expect(await read()).toEqual(expected.value);
      }
    }),
    { numRuns: 300 },
  );
});

test.each([
  ['lists', levels(64), levels(65)],
  ['objects', '{"a":'.repeat(64) + '1' + '}'.repeat(64), '{"a":'.repeat(65) + '1' + '}'.repeat(65)],
  ['both', levels(32, '[{"a":', '}]').replace(':}', ':1}'), levels(33, '[{"a":', '}]').replace(':}', ':1}')],
])('64 levels of %s are enough', async (_name, allowed, refused) => {
  for (const pad of [(text: string) => text, padded]) {
    await expect(politely(pad(allowed))).resolves.toBeDefined();
    await expect(politely(pad(refused))).rejects.toMatchObject(refusal);
  }
});

test('brackets, colons and commas in strings count for nothing', async () => {
  const text = JSON.stringify({ text: '[{:,"\\'.repeat(100_000) });
  expect(await politely(text)).toEqual(JSON.parse(text));
});

test.each([
  [
    'keys',
    (count: number) => `{${Array.from({ length: count }, (_, at) => `"${at}":0`).join(',')}}`,
    100_000,
  ],
  ['values', (count: number) => `[${'1,'.repeat(count - 1)}1]`, 500_000],
])('a flood of %s is refused before it is parsed', async (_name, make, limit) => {
  await expect(politely(make(limit))).resolves.toBeDefined();
  const parse = jest.spyOn(JSON, 'parse');
  try {
    await expect(politely(make(limit + 1))).rejects.toMatchObject(refusal);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});

test.each([
  ['text', `"${'x'.repeat(8_000_000)}"`, 0],
  ['escaped quotes', `"${'\\"'.repeat(4_000_000)}"`, 10],
  ['white space', ' '.repeat(8_000_000), 10],
  ['short strings', `[${'"",'.repeat(400_000)}""]${' '.repeat(7_000_000)}`, 10],
])('others get their turn while %s is measured', async (_name, text, atLeast) => {
  let turns = 0;
  let measuring = true;
  const count = (): void => {
    turns += 1;
    if (measuring) setImmediate(count);
  };
  setImmediate(count);
  await politely(text).catch(() => undefined);
  measuring = false;
  expect(turns).toBeGreaterThanOrEqual(atLeast);
});

test.each([
  ['a broken sequence', [0x22, 0xc3, 0x28, 0x22]],
  ['half a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
  ['UTF-16', [0xff, 0xfe, 0x31, 0x00]],
])('invalid UTF-8: %s', async (_name, bytes) => {
  await expect(politely(Buffer.from(bytes))).rejects.toMatchObject(refusal);
  await expect(politely(Buffer.concat([Buffer.from(bytes), Buffer.alloc(large, ' ')]))).rejects.toMatchObject(
    refusal,
  );
});

test('a key named like the prototype is a key and nothing more', async () => {
  const value = (await politely('{"__proto__":{"polluted":true}}')) as object;
  expect(Object.keys(value)).toEqual(['__proto__']);
  expect({}).not.toHaveProperty('polluted');
});
