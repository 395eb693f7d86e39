import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { editJson } from '../../../src/kernel';

type Json = Record<string, unknown>;

const edit = (text: string, edits: Parameters<typeof editJson>[2]): string =>
  editJson(Buffer.from(text), JSON.parse(text) as Json, edits).toString();

test.each([
  ['replaced in place', '{"a":1, "model":"x" ,"b":2}', '{"a":1, "model":"y" ,"b":2}'],
  ['added in front', '{"a":1}', '{"model":"y","a":1}'],
  ['added to nothing', ' { } ', '{"model":"y"} '],
  ['written with escapes', '{"mod\\u0065l":"x"}', '{"mod\\u0065l":"y"}'],
  ['told twice', '{"model":"x","a":1,"model":"z"}', '{"a":1,"model":"y"}'],
  ['told twice, the last one right', '{"model":"x","a":1,"model":"y"}', '{"a":1,"model":"y"}'],
  [
    'a number that a double would round',
    '{"seed":12345678901234567890,"model":1e400}',
    '{"seed":12345678901234567890,"model":"y"}',
  ],
  [
    'found early, the rest as it came',
    '{ "model":"x", "a" : [1 , 2]\n}\n',
    '{"model":"y", "a" : [1 , 2]\n}\n',
  ],
  ['found early, and again in escapes', '{"model":"x","a":1,"\\u006dodel":"z"}', '{"a":1,"\\u006dodel":"y"}'],
  ['only the top level', '{"metadata":{"model":"x"}}', '{"model":"y","metadata":{"model":"x"}}'],
])('a field %s', (_name, before, after) => {
  expect(edit(before, { set: { model: 'y' } })).toBe(after);
});

test.each([
  ['the first', '{"gone":[1,{"x":"}"}], "a":1,"b":2}', '{ "a":1,"b":2}'],
  ['one in the middle', '{"a":1, "gone":"\\"," ,"b":2}', '{"a":1 ,"b":2}'],
  ['the last', '{"a":1,"b":2,"gone":null}', '{"a":1,"b":2}'],
  ['the only one, twice', '{"gone":1,"gone":2}', '{}'],
  ['the first, the rest as it came', '{"gone":1 , "a": [ ]}', '{ "a": [ ]}'],
])('taken out: %s', (_name, before, after) => {
  expect(edit(before, { remove: ['gone', 'absent'] })).toBe(after);
});

test.each(['__proto__', 'constructor', 'toString'])('taken out: %s, which every object inherits', (name) => {
  expect(edit(`{"a":1,"${name}":2}`, { remove: [name] })).toBe('{"a":1}');
  expect(edit(`{"a":1,"${name}":2}`, { set: { a: 3 }, remove: [name] })).toBe('{"a":3}');
});

test.each([
  ['quotation marks', '\\"'.repeat(200_000)],
  ['backslashes', '\\\\'.repeat(200_000)],
])('a large body made of %s', (_name, crowd) => {
  const text = `"text":"${crowd}"`;
  // Nobody wants to read these where they differ.
  const becomes = (before: string, after: string): boolean => edit(before, { set: { model: 'y' } }) === after;
  expect(becomes(`{"model":"x",${text}}`, `{"model":"y",${text}}`)).toBe(true);
  expect(becomes(`{${text},"model":"x"}`, `{${text},"model":"y"}`)).toBe(true);
  expect(becomes(`{"model":"x",${text},"model":"z"}`, `{${text},"model":"y"}`)).toBe(true);
  expect(becomes(`{"model":"x",${text},"\\u006dodel":"z"}`, `{${text},"\\u006dodel":"y"}`)).toBe(true);
  expect(becomes(`{${text}}`, `{"model":"y",${text}}`)).toBe(true);
});

test.each([
  ['short', ''],
  ['long', 'x'.repeat(10_000)],
])('the first field gives way to another one, in a %s body', (_name, text) => {
  const before = `{"gone":1,"model":"x","text":"${text}"}`;
  const edits = { set: { model: 'ü', put: 1 }, remove: ['gone'] };
  expect(edit(before, edits)).toBe(`{"put":1,"model":"ü","text":"${text}"}`);
});

test('nothing to do: the very same bytes', () => {
  const bytes = Buffer.from('{"model" : "y","a":[1 , 2]}');
  const parsed = JSON.parse(bytes.toString()) as Json;
  expect(editJson(bytes, parsed, { set: { model: 'y', other: undefined }, remove: ['gone'] })).toBe(bytes);
});

test('bytes that cannot be followed are printed from what they meant', () => {
  const bytes = Buffer.from('\ufeff{"model":"x","gone":1,"a":2}');
  const parsed = { model: 'x', gone: 1, a: 2 };
  expect(JSON.parse(editJson(bytes, parsed, { set: { model: 'y' }, remove: ['gone'] }).toString())).toEqual({
    model: 'y',
    a: 2,
  });
});

const names = fc.constantFrom('model', 'stream', 'a"b', 'ü', 'x\\', '', 'messages', '__proto__', 'valueOf');
const object = fc
  .array(fc.tuple(names, fc.jsonValue()))
  .map((entries) => Object.fromEntries(entries) as Json);

test('says what parsing, changing and printing would have said', () => {
  fc.assert(
    fc.property(object, object, fc.array(names), fc.constantFrom(0, 1, '\t'), (body, set, remove, indent) => {
      const bytes = Buffer.from(JSON.stringify(body, null, indent));
      const parsed = JSON.parse(bytes.toString()) as Json;
      const expected = new Map(
        Object.entries(parsed).filter(([name]) => !(remove as string[]).includes(name)),
      );
      for (const [name, value] of Object.entries(set)) expected.set(name, value);
      const edited = JSON.parse(editJson(bytes, parsed, { set, remove }).toString()) as Json;
      const plain = JSON.parse(JSON.stringify(Object.fromEntries(expected))) as Json;
      expect(edited).toEqual(plain);
      expect(Object.keys(edited).sort()).toEqual(Object.keys(plain).sort());
    }),
    { numRuns: 500 },
  );
});

test('keeps nothing of the long names that callers make up', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept = (): number => {
    collect();
    // Bytes are given back beside the process, and are known to be gone with the next collection.
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = kept();
  for (let count = 0; count < 100; count += 1) {
    const name = `x-svc-${count}${'a'.repeat(100_000)}`;
    expect(edit(`{"a":1,"${name}":2}`, { remove: [name] })).toBe('{"a":1}');
  }
  expect(kept() - before).toBeLessThan(2_000_000);
});
