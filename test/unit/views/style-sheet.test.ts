import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const styleSheet = readFileSync(join(__dirname, '..', '..', '..', 'public', 'app.css'), 'utf8');

type RgbColour = [red: number, green: number, blue: number];

function colourOf(hex: string): RgbColour {
  const full = hex.length === 4 ? hex.replace(/[0-9a-f]/g, '$&$&') : hex;
  return [1, 3, 5].map((start) => Number.parseInt(full.slice(start, start + 2), 16) / 255) as RgbColour;
}

function luminance(colour: RgbColour): number {
  const [red, green, blue] = colour.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  ) as RgbColour;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: RgbColour, other: RgbColour): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const tokens = new Map(
  [...styleSheet.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\);/g)].map(
    ([, name, light, dark]) => [name ?? '', { light: colourOf(light ?? ''), dark: colourOf(dark ?? '') }],
  ),
);

const grounds = ['bg', 'surface', 'sunken'];
const pairs: [text: string, ground: string, least: number][] = [
  ...['ink', 'ink-2', 'ink-3', 'accent'].flatMap((text) =>
    grounds.map((ground): [string, string, number] => [text, ground, 4.5]),
  ),
  ...['ok', 'warn', 'bad', 'info'].flatMap((tone): [string, string, number][] => [
    [tone, `${tone}-soft`, 4.5],
    [tone, 'surface', 4.5],
    ['ink', `${tone}-soft`, 4.5],
  ]),
  ['on-accent', 'accent', 4.5],
  ['control', 'bg', 3],
  ['control', 'surface', 3],
  ...Array.from({ length: 8 }, (_, slot): [string, string, number] => [`series-${slot + 1}`, 'surface', 4.5]),
];

describe.each(['light', 'dark'] as const)('Contrast in the %s theme', (theme) => {
  test.each(pairs)('contrast of %s on %s is at least %d', (text, ground, least) => {
    const front = tokens.get(text)?.[theme];
    const back = tokens.get(ground)?.[theme];
    if (!front || !back) throw new Error(`There is no token for ${text} or ${ground}`);
    expect(contrast(front, back)).toBeGreaterThanOrEqual(least);
  });
});

test('colours are defined once and used by name', () => {
  const rules = styleSheet.slice(styleSheet.indexOf('@layer base {'));
  expect(rules.match(/#[0-9a-f]{3,8}\b/gi) ?? []).toEqual([]);
});

test('every custom property in use is defined', () => {
  const definedProperties = new Set([...styleSheet.matchAll(/(--[\w-]+):/g)].map(([, name]) => name));
  const usedProperties = [...styleSheet.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name);
  expect(usedProperties.filter((name) => !definedProperties.has(name))).toEqual([]);
});

test('style sheet stays within its line budget', () => {
  expect(styleSheet.split('\n').length).toBeLessThanOrEqual(620);
});

test('no external resources are loaded', () => {
  expect(styleSheet).not.toMatch(/url\(|@import/);
});

describe('Page style sheets', () => {
  const folder = (...parts: string[]): string => join(__dirname, '..', '..', '..', ...parts);
  const classesOf = (css: string): Set<string> =>
    new Set([...css.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name ?? ''));
  const generalClasses = classesOf(styleSheet);
  const sheetClasses = new Map(
    readdirSync(folder('public'))
      .filter((name) => name.endsWith('.css') && name !== 'app.css')
      .map((name) => [name, classesOf(readFileSync(folder('public', name), 'utf8'))]),
  );
  const textOf = (path: string): string => readFileSync(folder('views', path), 'utf8');

  /** Returns the text of a view including its layouts and partials. */
  function textWithParts(path: string, seen = new Set<string>()): string {
    if (seen.has(path)) return '';
    seen.add(path);
    const text = textOf(path);
    const layout = /^\{\{!< ([\w-]+)\}\}/.exec(text)?.[1];
    const partials = [...text.matchAll(/\{\{#?> ([\w-]+)/g)].map(([, name]) => `partials/${name ?? ''}.hbs`);
    return [
      text,
      ...[...partials, ...(layout ? [`layouts/${layout}.hbs`] : [])].map((part) => textWithParts(part, seen)),
    ].join('\n');
  }

  const pages = readdirSync(folder('views', 'pages'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.hbs'),
  );

  test.each(pages)('page %s loads every style sheet whose classes it uses', (page) => {
    const text = textWithParts(join('pages', page));
    const loadedSheets = [...text.matchAll(/\{\{asset "([\w-]+\.css)"\}\}/g)].map(([, name]) => name ?? '');
    const usedClasses = [...text.matchAll(/class="([^"]*)"/g)].flatMap(([, names]) =>
      (names ?? '').split(/\{\{.*?\}\}|\s+/),
    );
    const missingSheets = usedClasses.filter(
      (name) =>
        !generalClasses.has(name) &&
        [...sheetClasses.values()].some((classes) => classes.has(name)) &&
        !loadedSheets.some((own) => sheetClasses.get(own)?.has(name)),
    );
    expect(missingSheets).toEqual([]);
  });
});
