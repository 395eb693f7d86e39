import fc from 'fast-check';
import { type ParsedJsonObject, readJsonObject } from '../../../src/kernel/json';
import { JsonReader } from '../../../src/kernel/json/json-reader';
import { StructureScan } from '../../../src/kernel/json/structure-scan';

const read = async (text: string | Buffer): Promise<ParsedJsonObject> => readJsonObject(Buffer.from(text));
/** Any value, as a field. */
const politely = async (text: string | Buffer): Promise<unknown> =>
  (await read(Buffer.concat([Buffer.from('{"of":'), Buffer.from(text), Buffer.from('}')]))).body.of;
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
      expect(await politely(text)).toEqual(expected);
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
        expected = { value: (JSON.parse(`{"of":${text}}`) as { of: unknown }).of };
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
  ['lists', levels(63), levels(64)],
  ['objects', '{"a":'.repeat(63) + '1' + '}'.repeat(63), '{"a":'.repeat(64) + '1' + '}'.repeat(64)],
  ['both', levels(31, '[{"a":', '}]').replace(':}', ':1}'), levels(32, '[{"a":', '}]').replace(':}', ':1}')],
])('64 levels with %s are enough', async (_name, allowed, refused) => {
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
    'names',
    (count: number) => `{${Array.from({ length: count - 1 }, (_, at) => `"${at}":0`).join(',')}}`,
    50_000,
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
  ['white space', `${' '.repeat(8_000_000)}1`, 10],
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

test.each([
  ['at the top', '{"model":"a","n":1,"model":"b"}', 'model'],
  ['in escapes', '{"model":"a","mod\\u0065l":"b"}', 'model'],
  ['deep inside', '{"tools":[{},{"max_uses":1,"max_uses":9}]}', 'tools.1.max_uses'],
  ['named like the prototype', '{"__proto__":1,"__proto__":2}', '__proto__'],
])('a name that stands twice %s is refused and named', async (_name, text, param) => {
  for (const each of [text, padded(text)])
    await expect(read(each)).rejects.toMatchObject({ code: 'invalid_request', options: { param } });
});

test.each(['1'.repeat(1_001), `-0.${'1'.repeat(2_000)}`, `1e${'0'.repeat(1_000)}1`])(
  'a number of more than a thousand characters is refused, wherever it stands',
  async (digits) => {
    for (const text of [digits, `[1.10, ${digits} ]`, `{"a":${digits} ,"b":12345678901234567890}`])
      for (const pad of [(text: string) => text, padded])
        await expect(politely(pad(text))).rejects.toMatchObject(refusal);
    expect(await politely('1'.repeat(1_000))).toBe(Number('1'.repeat(1_000)));
  },
);

test('the fields of the top level are found where they stand, in any spelling', async () => {
  const names = fc.constantFrom('model', 'a"b', 'ü', '', 'ſ', '__proto__', '7', 'x\\u0041', '年');
  const space = fc.constantFrom('', ' ', '\n\t');
  const written = fc.tuple(names, fc.jsonValue(), space, space, fc.boolean());
  const escaped = (text: string): string =>
    [...text].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(written, { selector: ([name]) => name }), async (fields) => {
      const members = fields.map(([name, value, before, after, isEscaped]) => {
        const text = isEscaped ? `"${escaped(name)}"` : JSON.stringify(name);
        return `${before}${text}${after}:${before}${JSON.stringify(value)}${after}`;
      });
      const text = `${'\n'}{${members.join(',')}}`;
      const found = await read(text);
      const bytes = Buffer.from(text);
      expect(found.members.map(({ name }) => name)).toEqual(fields.map(([name]) => name));
      expect(found.members.map(({ value, end }) => bytes.toString('utf8', value, end))).toEqual(
        fields.map(([, value]) => JSON.stringify(value)),
      );
    }),
    { numRuns: 500 },
  );
});

test.each(['[]', '"text"', '7', 'null'])('%s is no object', async (text) => {
  await expect(read(text)).rejects.toMatchObject(refusal);
});

test('no step of reading a long text goes far beyond what it was allowed', () => {
  const objects = Array.from({ length: 20_000 }, (_, at) => `{"k${at}":"v"}`).join(',');
  const text = `{"list":[${objects}],"text":"${'\\"'.repeat(3_000_000)}"}`;
  const scan = new StructureScan(text);
  let steps = 1;
  while (!scan.advance(500_000)) steps += 1;
  expect(steps).toBeGreaterThanOrEqual(Math.floor(text.length / 500_024));
  const reader = new JsonReader(text);
  let values = 0;
  let whole = reader.advance(1_000, 500_000);
  for (; whole === undefined; whole = reader.advance(1_000, 500_000)) values += 1;
  // A thousand values a step, and half a million characters: twenty of the one, twelve of the other.
  expect(values).toBeGreaterThanOrEqual(20 + 11);
  expect(whole.value).toEqual(JSON.parse(text));
});
