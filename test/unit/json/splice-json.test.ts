import {
  parseJsonText,
  readJsonObject,
  spliceJson,
  type JsonChange,
  type ParsedJsonObject,
} from '../../../src/kernel';

/** Returns a seeded random number generator, so that failures are reproducible. */
function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const names = ['a', 'text', 'ä', '🙂', '"', '__proto__', 'a.b', '0', '\\', ''];
const spaces = ['', ' ', '\n', '\t \r\n'];

/** Returns a random value and one of its legal spellings. */
function drawValue(draw: (below: number) => number, depth: number): { value: unknown; text: string } {
  const space = (): string => spaces[draw(spaces.length)]!;
  const around = (text: string): string => space() + text + space();
  const kind = depth === 0 ? draw(3) : draw(6);
  if (kind === 0) return spellString(names[draw(names.length)]!.repeat(draw(3)), draw);
  if (kind === 1)
    return [
      { value: null, text: 'null' },
      { value: true, text: 'true' },
    ][draw(2)]!;
  if (kind === 2) return { value: 12, text: ['12', '12.0', '1.2e1', '12E0'][draw(4)]! };
  if (kind < 4) {
    const items = Array.from({ length: draw(4) }, () => drawValue(draw, depth - 1));
    return {
      value: items.map(({ value }) => value),
      text: `[${items.map(({ text }) => around(text)).join(',')}${items.length === 0 ? space() : ''}]`,
    };
  }
  const members = names
    .filter(() => draw(3) === 0)
    .map((name) => ({ name: spellString(name, draw), of: drawValue(draw, depth - 1) }));
  const value = Object.create(null) as object;
  for (const { name, of } of members)
    Object.defineProperty(value, name.value, {
      value: of.value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return {
    value,
    text: `{${members.map(({ name, of }) => `${around(name.text)}:${around(of.text)}`).join(',')}${members.length === 0 ? space() : ''}}`,
  };
}

function spellString(value: string, draw: (below: number) => number): { value: string; text: string } {
  const units = value
    .split('')
    .map((unit) => (draw(2) === 0 ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : null));
  // Both halves of a surrogate pair are escaped, or neither.
  const escaped = units.every((unit) => unit !== null);
  const asciiText = value
    .split('')
    .map((unit, at) =>
      unit.charCodeAt(0) < 0x80 && units[at] !== null ? units[at] : JSON.stringify(unit).slice(1, -1),
    )
    .join('');
  const hasPairs = /[\ud800-\udfff]/.test(value);
  return {
    value,
    text: `"${escaped ? units.join('') : hasPairs ? JSON.stringify(value).slice(1, -1) : asciiText}"`,
  };
}

/** Lists the path of every position in a value. */
function pathsIn(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const children = Array.isArray(value)
    ? value.map((item: unknown, at) => [at, item] as const)
    : Object.entries(value);
  return [
    ...(path.length === 0 ? [] : [path]),
    ...children.flatMap(([name, item]) => pathsIn(item, [...path, name])),
  ];
}

function withChangeAt(value: unknown, path: readonly (string | number)[], change: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return change;
  if (Array.isArray(value))
    return value.map((item: unknown, at) => (at === step ? withChangeAt(item, rest, change) : item));
  const copy = Object.create(null) as object;
  for (const [name, item] of Object.entries(value as object))
    Object.defineProperty(copy, name, {
      value: name === step ? withChangeAt(item, rest, change) : item,
      enumerable: true,
    });
  return copy;
}

const toPlain = (value: unknown): unknown => parseJsonText(JSON.stringify(value));
const bodyOf = (bytes: Buffer): unknown => toPlain((readJsonObject(bytes) as ParsedJsonObject).body);

test('replaces values in every legal spelling of 3,000 objects and leaves the rest unchanged', () => {
  const draw = seededRandom(7);
  let changeCount = 0;
  for (let iteration = 0; iteration < 3_000; iteration += 1) {
    const drawnObject = drawValue(draw, 3);
    const bytes = Buffer.from(`${spaces[draw(4)]!}{"of":${drawnObject.text}}${spaces[draw(4)]!}`);
    const body = { of: drawnObject.value };
    const paths = pathsIn(body);
    const path = paths[draw(paths.length)]!;
    const text = JSON.stringify('“new” \\ \u0000 🙂');
    const spliced = spliceJson(bytes, [{ path, text }]);
    expect(bodyOf(spliced)).toEqual(toPlain(withChangeAt(body, path, JSON.parse(text))));
    changeCount += 1;
  }
  expect(changeCount).toBe(3_000);
});

test.each([
  ['[1, 2 ,3]', [0], '[2 ,3]'],
  ['[1, 2 ,3]', [1], '[1 ,3]'],
  ['[1, 2 ,3 ]', [2], '[1, 2 ]'],
  ['[1, 2 ,3]', [0, 1], '[3]'],
  ['[1, 2 ,3]', [1, 2], '[1]'],
  ['[1, 2 ,3]', [0, 2], '[2]'],
  ['[ 1, 2 ,3 ]', [0, 1, 2], '[  ]'],
])('items are removed from %s at %j', (list, at, expected) => {
  const changes = at.map((place): JsonChange => ({ path: ['of', place], text: null }));
  const spliced = spliceJson(Buffer.from(`{"of":${list},"other":1.50}`), changes);
  expect(spliced.toString()).toBe(`{"of":${expected},"other":1.50}`);
});

test('several changes at several depths are made in one pass', () => {
  const body = '{"a":[{"b":"x"},{"b":"y","c":2.50}],"d":"z"}';
  const spliced = spliceJson(Buffer.from(body), [
    { path: ['d'], text: '"3"' },
    { path: ['a', 1, 'b'], text: '"2"' },
    { path: ['a', 0], text: null },
    { path: ['nowhere', 'b'], text: '"4"' },
  ]);
  expect(spliced.toString()).toBe('{"a":[{"b":"2","c":2.50}],"d":"3"}');
});
