import fc from 'fast-check';
import {
  editedJsonObject,
  editJson,
  type JsonEdits,
  type ParsedJsonObject,
  readJsonObject,
} from '../../../src/kernel';

type Json = Record<string, unknown>;

const read = async (text: string | Buffer): Promise<ParsedJsonObject> => readJsonObject(Buffer.from(text));
const edit = async (text: string, edits: JsonEdits): Promise<string> =>
  editJson(await read(text), edits).toString();

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
])('a field %s', async (_name, before, after) => {
  expect(await edit(before, { set: { model: 'y' } })).toBe(after);
});

test.each([
  ['the first', '{"gone":[1,{"x":"}"}], "a":1,"d":2}', '{ "a":1,"d":2}'],
  ['one in the middle', '{"a":1, "gone":"\\"," ,"d":2}', '{"a":1 ,"d":2}'],
  ['the last', '{"a":1,"d":2,"gone":null}', '{"a":1,"d":2}'],
  ['the only one', '{ "gone":1 }', '{  }'],
  ['several at once', '{"b":0,"gone":1, "away":2 ,"a":1,"c":3}', '{ "a":1}'],
  ['the first, the rest as it came', '{"gone":1 , "a": [ ]}', '{ "a": [ ]}'],
])('taken out: %s', async (_name, before, after) => {
  expect(await edit(before, { remove: ['gone', 'absent', 'away', 'b', 'c'] })).toBe(after);
});

test.each(['__proto__', 'constructor', 'toString'])(
  'taken out: %s, which every object inherits',
  async (name) => {
    expect(await edit(`{"a":1,"${name}":2}`, { remove: [name] })).toBe('{"a":1}');
    expect(await edit(`{"a":1,"${name}":2}`, { set: { a: 3 }, remove: [name] })).toBe('{"a":3}');
  },
);

test.each([
  ['quotation marks', '\\"'.repeat(200_000)],
  ['backslashes', '\\\\'.repeat(200_000)],
])('a large body made of %s', async (_name, crowd) => {
  const text = `"text":"${crowd}"`;
  // Nobody wants to read these where they differ.
  const becomes = async (before: string, after: string): Promise<boolean> =>
    (await edit(before, { set: { model: 'y' } })) === after;
  expect(await becomes(`{"model":"x",${text}}`, `{"model":"y",${text}}`)).toBe(true);
  expect(await becomes(`{${text},"model":"x"}`, `{${text},"model":"y"}`)).toBe(true);
  expect(await becomes(`{${text}}`, `{"model":"y",${text}}`)).toBe(true);
});

test.each([
  ['short', ''],
  ['long', 'x'.repeat(10_000)],
])('the first field gives way to another one, in a %s body', async (_name, text) => {
  const before = `{"gone":1,"model":"x","text":"${text}"}`;
  const edits = { set: { model: 'ü', put: 1 }, remove: ['gone'] };
  expect(await edit(before, edits)).toBe(`{"put":1,"model":"ü","text":"${text}"}`);
});

test('nothing to do: the very same bytes', async () => {
  const bytes = Buffer.from('{"model" : "y","a":[1 , 2]}');
  const edits = { set: { model: 'y', other: undefined }, remove: ['gone'] };
  expect(editJson(await readJsonObject(bytes), edits)).toBe(bytes);
});

test('a byte order mark goes no further', async () => {
  expect(await edit('\ufeff{"model":"x","gone":1}', { remove: ['gone'] })).toBe('{"model":"x"}');
  expect((await read('\ufeff{}')).bytes.toString()).toBe('{}');
});

const names = fc.constantFrom('model', 'stream', 'a"b', 'ü', 'x\\', '', 'messages', '__proto__', 'valueOf');
const object = fc
  .array(fc.tuple(names, fc.jsonValue()))
  .map((entries) => Object.fromEntries(entries) as Json);

test('says what parsing, changing and printing would have said', async () => {
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
        const edited = JSON.parse(editJson(await read(bytes), { set, remove }).toString()) as Json;
        const plain = JSON.parse(JSON.stringify(Object.fromEntries(expected))) as Json;
        expect(edited).toEqual(plain);
        expect(Object.keys(edited).sort()).toEqual(Object.keys(plain).sort());
      },
    ),
    { numRuns: 500 },
  );
});

test('a long body is edited in slices, and says the same as a short one', async () => {
  await fc.assert(
    fc.asyncProperty(object, object, fc.array(names), async (body, set, remove) => {
      const short = Buffer.from(JSON.stringify(body));
      const long = Buffer.concat([short, Buffer.alloc(300_000, ' ')]);
      const edits = { set, remove };
      const [one, other] = [
        await editedJsonObject(await read(short), edits),
        editedJsonObject(await read(long), edits),
      ];
      expect(other).toBeInstanceOf(Promise);
      const { bytes, ...rest } = await other;
      expect(bytes.toString().trimEnd()).toBe(one.bytes.toString());
      expect(rest).toEqual({ body: one.body, members: one.members, isRounded: one.isRounded });
    }),
    { numRuns: 60 },
  );
});
