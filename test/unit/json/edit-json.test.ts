import fc from 'fast-check';
import {
  editedJsonObject,
  editJson,
  type JsonEdits,
  type ParsedJsonObject,
  readJsonObject,
} from '../../../src/kernel';

type Json = Record<string, unknown>;

const readObject = async (text: string | Buffer): Promise<ParsedJsonObject> =>
  readJsonObject(Buffer.from(text));
const editText = async (text: string, edits: JsonEdits): Promise<string> =>
  editJson(await readObject(text), edits).toString();

test.each([
  ['replaced in place', '{"a":1, "model":"x" ,"b":2}', '{"a":1, "model":"y" ,"b":2}'],
  ['added in front', '{"a":1}', '{"model":"y","a":1}'],
  ['added to nothing', ' { } ', ' {"model":"y" } '],
  ['written with escapes', '{"mod\\u0065l":"x"}', '{"mod\\u0065l":"y"}'],
  [
    'a number that a double would round',
    '{"seed":12345678901234567890,"model":1e400}',
    '{"seed":12345678901234567890,"model":"y"}',
  ],
  [
    'found early, the rest as it came',
    '{ "model":"x", "a" : [1 , 2]\n}\n',
    '{ "model":"y", "a" : [1 , 2]\n}\n',
  ],
  ['only the top level', '{"metadata":{"model":"x"}}', '{"model":"y","metadata":{"model":"x"}}'],
])('set field is written: %s', async (_name, before, after) => {
  expect(await editText(before, { set: { model: 'y' } })).toBe(after);
});

test.each([
  ['the first', '{"gone":[1,{"x":"}"}], "a":1,"d":2}', '{ "a":1,"d":2}'],
  ['one in the middle', '{"a":1, "gone":"\\"," ,"d":2}', '{"a":1 ,"d":2}'],
  ['the last', '{"a":1,"d":2,"gone":null}', '{"a":1,"d":2}'],
  ['the only one', '{ "gone":1 }', '{  }'],
  ['several at once', '{"b":0,"gone":1, "away":2 ,"a":1,"c":3}', '{ "a":1}'],
  ['the first, the rest as it came', '{"gone":1 , "a": [ ]}', '{ "a": [ ]}'],
])('removed field is cut out: %s', async (_name, before, after) => {
  expect(await editText(before, { remove: ['gone', 'absent', 'away', 'b', 'c'] })).toBe(after);
});

test.each(['__proto__', 'constructor', 'toString'])(
  'removes a field named %s, which every object inherits',
  async (name) => {
    expect(await editText(`{"a":1,"${name}":2}`, { remove: [name] })).toBe('{"a":1}');
    expect(await editText(`{"a":1,"${name}":2}`, { set: { a: 3 }, remove: [name] })).toBe('{"a":3}');
  },
);

test.each([
  ['quotation marks', '\\"'.repeat(200_000)],
  ['backslashes', '\\\\'.repeat(200_000)],
])('edits a large body made of %s', async (_name, crowd) => {
  const text = `"text":"${crowd}"`;
  // Compares in the helper, because a diff of these bodies is unreadable.
  const isEditedTo = async (before: string, after: string): Promise<boolean> =>
    (await editText(before, { set: { model: 'y' } })) === after;
  expect(await isEditedTo(`{"model":"x",${text}}`, `{"model":"y",${text}}`)).toBe(true);
  expect(await isEditedTo(`{${text},"model":"x"}`, `{${text},"model":"y"}`)).toBe(true);
  expect(await isEditedTo(`{${text}}`, `{"model":"y",${text}}`)).toBe(true);
});

test.each([
  ['short', ''],
  ['long', 'x'.repeat(10_000)],
])('first field is replaced by another one in a %s body', async (_name, text) => {
  const original = `{"gone":1,"model":"x","text":"${text}"}`;
  const edits = { set: { model: 'ü', put: 1 }, remove: ['gone'] };
  expect(await editText(original, edits)).toBe(`{"put":1,"model":"ü","text":"${text}"}`);
});

test('returns the same bytes when there are no changes', async () => {
  const bytes = Buffer.from('{"model" : "y","a":[1 , 2]}');
  const edits = { set: { model: 'y', other: undefined }, remove: ['gone'] };
  expect(editJson(await readJsonObject(bytes), edits)).toBe(bytes);
});

test('byte order mark is removed', async () => {
  expect(await editText('\ufeff{"model":"x","gone":1}', { remove: ['gone'] })).toBe('{"model":"x"}');
  expect((await readObject('\ufeff{}')).bytes.toString()).toBe('{}');
});

const names = fc.constantFrom('model', 'stream', 'a"b', 'ü', 'x\\', '', 'messages', '__proto__', 'valueOf');
const object = fc
  .array(fc.tuple(names, fc.jsonValue()))
  .map((entries) => Object.fromEntries(entries) as Json);

test('matches parsing, changing and printing the body', async () => {
  await fc.assert(
    fc.asyncProperty(
      object,
      object,
      fc.array(names),
      fc.constantFrom(0, 1, '\t'),
      async (body, set, remove, indent) => {
        const bytes = Buffer.from(JSON.stringify(body, null, indent));
        const parsed = JSON.parse(bytes.toString()) as Json;
        const expected = new Map(
          Object.entries(parsed).filter(([name]) => !(remove as string[]).includes(name)),
        );
        for (const [name, value] of Object.entries(set)) expected.set(name, value);
        const editedBody = JSON.parse(editJson(await readObject(bytes), { set, remove }).toString()) as Json;
        const expectedBody = JSON.parse(JSON.stringify(Object.fromEntries(expected))) as Json;
        expect(editedBody).toEqual(expectedBody);
        expect(Object.keys(editedBody).sort()).toEqual(Object.keys(expectedBody).sort());
      },
    ),
    { numRuns: 500 },
  );
});

test('long body is edited in slices with the same result as a short one', async () => {
  await fc.assert(
    fc.asyncProperty(object, object, fc.array(names), async (body, set, remove) => {
      const shortBytes = Buffer.from(JSON.stringify(body));
      const longBytes = Buffer.concat([shortBytes, Buffer.alloc(300_000, ' ')]);
      const edits = { set, remove };
      const [one, other] = [
        await editedJsonObject(await readObject(shortBytes), edits),
        editedJsonObject(await readObject(longBytes), edits),
      ];
      expect(other).toBeInstanceOf(Promise);
      const { bytes, ...rest } = await other;
      expect(bytes.toString().trimEnd()).toBe(one.bytes.toString());
      expect(rest).toEqual({ body: one.body, members: one.members, isRounded: one.isRounded });
    }),
    { numRuns: 60 },
  );
});
