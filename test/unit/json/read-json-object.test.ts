import fc from 'fast-check';
import { type ParsedJsonObject, readJsonObject } from '../../../src/kernel/json';
import { JsonReader } from '../../../src/kernel/json/json-reader';
import { StructureScan } from '../../../src/kernel/json/structure-scan';

const readObject = async (text: string | Buffer): Promise<ParsedJsonObject> =>
  readJsonObject(Buffer.from(text));
/** Reads any value by wrapping it in a field. */
const readAnyValue = async (text: string | Buffer): Promise<unknown> =>
  (await readObject(Buffer.concat([Buffer.from('{"of":'), Buffer.from(text), Buffer.from('}')]))).body.of;
const refusal = { code: 'invalid_json' };
const large = 300_000;

/** Pads the text so that it is long enough to be measured before it is parsed. */
const padToLarge = (json: string): string => `${json}${' '.repeat(large)}`;
const nest = (count: number, open = '[', close = ']'): string => open.repeat(count) + close.repeat(count);

test('agrees with JSON.parse on any valid JSON within bounds, small or large', async () => {
  const space = fc.constantFrom(undefined, 1, '\t');
  await fc.assert(
    fc.asyncProperty(fc.json({ maxDepth: 20 }), space, async (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent);
      const expected: unknown = JSON.parse(text);
      expect(await readAnyValue(text)).toEqual(expected);
      expect(await readAnyValue(padToLarge(text))).toEqual(expected);
    }),
    { numRuns: 150 },
  );
});

test('agrees with JSON.parse on invalid JSON', async () => {
  const pieces = fc.array(
    fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', '1', 'null', ' ', 'x', '\\u12', 'é'),
  );
  await fc.assert(
    fc.asyncProperty(pieces, async (parts) => {
      const text = parts.join('');
      let expected: { value: unknown } | null;
      try {
        expected = { value: (JSON.parse(`{"of":${text}}`) as { of: unknown }).of };
      } catch {
        expected = null;
      }
      for (const readVariant of [() => readAnyValue(text), () => readAnyValue(padToLarge(text))]) {
        if (expected === null) await expect(readVariant()).rejects.toMatchObject(refusal);
        else expect(await readVariant()).toEqual(expected.value);
      }
    }),
    { numRuns: 300 },
  );
});

test.each([
  ['lists', nest(63), nest(64)],
  ['objects', '{"a":'.repeat(63) + '1' + '}'.repeat(63), '{"a":'.repeat(64) + '1' + '}'.repeat(64)],
  ['both', nest(31, '[{"a":', '}]').replace(':}', ':1}'), nest(32, '[{"a":', '}]').replace(':}', ':1}')],
])('allows 64 levels of %s and rejects 65', async (_name, allowed, refused) => {
  for (const prepare of [(text: string) => text, padToLarge]) {
    await expect(readAnyValue(prepare(allowed))).resolves.toBeDefined();
    await expect(readAnyValue(prepare(refused))).rejects.toMatchObject(refusal);
  }
});

test('brackets, colons and commas in strings do not count', async () => {
  const text = JSON.stringify({ text: '[{:,"\\'.repeat(100_000) });
  expect(await readAnyValue(text)).toEqual(JSON.parse(text));
});

test.each([
  [
    'names',
    (count: number) => `{${Array.from({ length: count - 1 }, (_, at) => `"${at}":0`).join(',')}}`,
    50_000,
  ],
  ['values', (count: number) => `[${'1,'.repeat(count - 1)}1]`, 500_000],
])('flood of %s is rejected before it is parsed', async (_name, make, limit) => {
  await expect(readAnyValue(make(limit))).resolves.toBeDefined();
  const parseSpy = jest.spyOn(JSON, 'parse');
  try {
    await expect(readAnyValue(make(limit + 1))).rejects.toMatchObject(refusal);
    expect(parseSpy).not.toHaveBeenCalled();
  } finally {
    parseSpy.mockRestore();
  }
});

test.each([
  ['text', `"${'x'.repeat(8_000_000)}"`, 0],
  ['escaped quotes', `"${'\\"'.repeat(4_000_000)}"`, 10],
  ['white space', `${' '.repeat(8_000_000)}1`, 10],
  ['short strings', `[${'"",'.repeat(400_000)}""]${' '.repeat(7_000_000)}`, 10],
])('other work runs while %s is measured', async (_name, text, atLeast) => {
  let turnCount = 0;
  let isMeasuring = true;
  const count = (): void => {
    turnCount += 1;
    if (isMeasuring) setImmediate(count);
  };
  setImmediate(count);
  await readAnyValue(text).catch(() => undefined);
  isMeasuring = false;
  expect(turnCount).toBeGreaterThanOrEqual(atLeast);
});

test.each([
  ['a broken sequence', [0x22, 0xc3, 0x28, 0x22]],
  ['half a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
  ['UTF-16', [0xff, 0xfe, 0x31, 0x00]],
])('rejects invalid UTF-8: %s', async (_name, bytes) => {
  await expect(readAnyValue(Buffer.from(bytes))).rejects.toMatchObject(refusal);
  await expect(
    readAnyValue(Buffer.concat([Buffer.from(bytes), Buffer.alloc(large, ' ')])),
  ).rejects.toMatchObject(refusal);
});

test('key named like the prototype is an ordinary key', async () => {
  const value = (await readAnyValue('{"__proto__":{"polluted":true}}')) as object;
  expect(Object.keys(value)).toEqual(['__proto__']);
  expect({}).not.toHaveProperty('polluted');
});

test.each([
  ['at the top', '{"model":"a","n":1,"model":"b"}', 'model'],
  ['in escapes', '{"model":"a","mod\\u0065l":"b"}', 'model'],
  ['deep inside', '{"tools":[{},{"max_uses":1,"max_uses":9}]}', 'tools.1.max_uses'],
  ['named like the prototype', '{"__proto__":1,"__proto__":2}', '__proto__'],
])('duplicate name %s is rejected and reported', async (_name, text, param) => {
  for (const textVariant of [text, padToLarge(text)])
    await expect(readObject(textVariant)).rejects.toMatchObject({
      code: 'invalid_request',
      options: { param },
    });
});

test.each(['1'.repeat(1_001), `-0.${'1'.repeat(2_000)}`, `1e${'0'.repeat(1_000)}1`])(
  'number of more than a thousand characters is rejected at any position',
  async (digits) => {
    for (const text of [digits, `[1.10, ${digits} ]`, `{"a":${digits} ,"b":12345678901234567890}`])
      for (const prepare of [(text: string) => text, padToLarge])
        await expect(readAnyValue(prepare(text))).rejects.toMatchObject(refusal);
    expect(await readAnyValue('1'.repeat(1_000))).toBe(Number('1'.repeat(1_000)));
  },
);

test('top-level fields are located in any spelling', async () => {
  const names = fc.constantFrom('model', 'a"b', 'ü', '', 'ſ', '__proto__', '7', 'x\\u0041', '年');
  const space = fc.constantFrom('', ' ', '\n\t');
  const writtenField = fc.tuple(names, fc.jsonValue(), space, space, fc.boolean());
  const escapeAll = (text: string): string =>
    [...text].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(writtenField, { selector: ([name]) => name }), async (fields) => {
      const members = fields.map(([name, value, before, after, isEscaped]) => {
        const text = isEscaped ? `"${escapeAll(name)}"` : JSON.stringify(name);
        return `${before}${text}${after}:${before}${JSON.stringify(value)}${after}`;
      });
      const text = `${'\n'}{${members.join(',')}}`;
      const parsed = await readObject(text);
      const bytes = Buffer.from(text);
      expect(parsed.members.map(({ name }) => name)).toEqual(fields.map(([name]) => name));
      expect(parsed.members.map(({ value, end }) => bytes.toString('utf8', value, end))).toEqual(
        fields.map(([, value]) => JSON.stringify(value)),
      );
    }),
    { numRuns: 500 },
  );
});

test.each(['[]', '"text"', '7', 'null'])('%s is rejected as it is not an object', async (text) => {
  await expect(readObject(text)).rejects.toMatchObject(refusal);
});

test('each step of reading a long text stays close to its limit', () => {
  const objects = Array.from({ length: 20_000 }, (_, at) => `{"k${at}":"v"}`).join(',');
  const text = `{"list":[${objects}],"text":"${'\\"'.repeat(3_000_000)}"}`;
  const scan = new StructureScan(text);
  let stepCount = 1;
  while (!scan.advance(500_000)) stepCount += 1;
  expect(stepCount).toBeGreaterThanOrEqual(Math.floor(text.length / 500_024));
  const reader = new JsonReader(text);
  let values = 0;
  let isComplete = reader.advance(1_000, 500_000);
  for (; isComplete === undefined; isComplete = reader.advance(1_000, 500_000)) values += 1;
  // Steps of a thousand values and half a million characters: twenty for values, twelve for characters.
  expect(values).toBeGreaterThanOrEqual(20 + 11);
  expect(isComplete.value).toEqual(JSON.parse(text));
});
