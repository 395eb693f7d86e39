import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import Handlebars from 'handlebars';
import { createHelpers } from '../../../src/views/helpers';
import { locales, textKeysOf } from '../../../src/views';
import { modelFields } from '../../../src/catalogue';
import { keyFields } from '../../../src/keys';

const definitions = [modelFields, keyFields];

const project = join(__dirname, '..', '..', '..');

function readFilesBelow(folder: string, ending: string): [name: string, text: string][] {
  const root = join(project, folder);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [relative(project, path), readFileSync(path, 'utf8')]);
}

const templates = readFilesBelow('views', '.hbs');

describe('Forbidden template content', () => {
  /** Mail clients load no external style sheet, so the mail layout contains its own. */
  const styleElementAllowed = ['views/layouts/mail.hbs'];

  const forbidden: [what: string, pattern: RegExp, allowed?: string[]][] = [
    ['unescaped output', /\{\{\{|\{\{&/],
    ['an inline style', /\sstyle=/i],
    ['a style element', /<style/i, styleElementAllowed],
    ['an inline script', /<script(?![^>]*\ssrc=)/i],
    ['an event attribute', /\son[a-z]+=/i],
    ['code for htmx', /hx-on|hx-vals=["']?\s*js:|js:|javascript:/i],
    ['a trigger filter', /hx-trigger="[^"]*\[/i],
    ['another host', /(?:src|href)="(?:https?:)?\/\//i],
  ];

  test.each(forbidden)('%s', (_what, pattern, allowed = []) => {
    const offenders = templates.filter(([name, text]) => pattern.test(text) && !allowed.includes(name));
    expect(offenders.map(([name]) => name)).toEqual([]);
  });
});

describe('Template rules', () => {
  const ruleViolations: [what: string, pattern: RegExp][] = [
    ['a tab or a carriage return', /[\t\r]/],
    ['a space at the end of a line', / $/m],
    ['an indentation by an odd number of spaces', /^(?: {2})* \S/m],
    ['two empty lines', /\n\n\n/],
    ['a last line without an end, or an empty one after it', /\n(?:[^\n]+|\n)$/],
  ];

  test.each(ruleViolations)('no template has %s', (_what, pattern) => {
    const offenders = templates.filter(([, text]) => pattern.test(text));
    expect(offenders.map(([name]) => name)).toEqual([]);
  });
});

interface AstNode {
  type: string;
  path?: { original: string };
  name?: { original: string };
  params?: AstNode[];
  hash?: unknown;
  [child: string]: unknown;
}

function nodesOf(value: unknown): AstNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesOf);
  if (typeof value !== 'object' || value === null) return [];
  const own = 'type' in value ? [value as AstNode] : [];
  return [...own, ...Object.values(value).flatMap(nodesOf)];
}

const parsed = templates.map(([name, text]) => ({ name, nodes: nodesOf(Handlebars.parse(text)) }));

test('no template prints a property named like a helper', () => {
  const helpers = Object.keys(createHelpers((name) => name));
  const conflicts = parsed.flatMap(({ name, nodes }) =>
    nodes
      .filter((node) => node.type === 'MustacheStatement' && node.params?.length === 0 && !node.hash)
      .filter((node) => helpers.includes(node.path?.original ?? ''))
      .map((node) => `${name}: ${node.path?.original}`),
  );
  expect(conflicts).toEqual([]);
});

test('every referenced partial, layout, icon and asset exists', () => {
  const partials = templates.flatMap(([name]) => /^views\/partials\/(.*)\.hbs$/.exec(name)?.[1] ?? []);
  const layouts = templates.flatMap(([name]) => /^views\/layouts\/(.*)\.hbs$/.exec(name)?.[1] ?? []);
  const symbols = [...readFileSync(join(project, 'public/icons.svg'), 'utf8').matchAll(/id="([^"]+)"/g)].map(
    ([, id]) => id,
  );
  const missing = parsed.flatMap(({ name, nodes }) => [
    ...nodes
      .filter(({ type }) => type === 'PartialStatement' || type === 'PartialBlockStatement')
      .map((node) => node.name?.original ?? '')
      .filter((partial) => partial !== '@partial-block' && !partials.includes(partial)),
    ...nodes
      .filter((node) => node.path?.original === 'icon' && node.params?.[0]?.type === 'StringLiteral')
      .map((node) => String(node.params?.[0]?.original))
      .filter((icon) => !symbols.includes(icon)),
    ...[/^\{\{!<\s*([\w-]+)/.exec(templates.find(([other]) => other === name)?.[1] ?? '')?.[1]].filter(
      (layout) => layout !== undefined && !layouts.includes(layout),
    ),
  ]);
  expect(missing).toEqual([]);
});

test('every partial is displayed in the gallery or part of one that is', () => {
  const usedPartials = new Set<string>();
  const visit = (name: string): void => {
    if (usedPartials.has(name)) return;
    usedPartials.add(name);
    const file = parsed.find((template) => template.name === name);
    for (const node of file?.nodes ?? []) {
      const partial = node.type.startsWith('Partial') ? node.name?.original : undefined;
      if (partial && partial !== '@partial-block') visit(`views/partials/${partial}.hbs`);
    }
  };
  visit('views/pages/dev/components.hbs');
  const pageOnlyPartials = [
    'views/partials/act.hbs',
    'views/partials/chat-alert.hbs',
    'views/partials/chat-files.hbs',
    'views/partials/chat-message.hbs',
    'views/partials/conversation-list.hbs',
    'views/partials/field-table.hbs',
    'views/partials/first-request.hbs',
    'views/partials/key-fields.hbs',
    'views/partials/lane-field.hbs',
    'views/partials/language-switch.hbs',
    'views/partials/legal-banner.hbs',
    'views/partials/model-filter.hbs',
    'views/partials/model-other-price.hbs',
    'views/partials/model-prices.hbs',
    'views/partials/page-help.hbs',
    'views/partials/passkey-form.hbs',
    'views/partials/passkey-scripts.hbs',
    'views/partials/rate-field.hbs',
    'views/partials/rate-fields.hbs',
  ];
  const allPartials = templates.map(([name]) => name).filter((name) => name.startsWith('views/partials/'));
  expect(allPartials.filter((name) => !usedPartials.has(name))).toEqual(pageOnlyPartials);
});

type MessageTree = { [key: string]: string | MessageTree };

function flatten(messages: MessageTree, prefix = ''): [key: string, text: string][] {
  return Object.entries(messages).flatMap(([key, value]) =>
    typeof value === 'string'
      ? [[prefix + key, value] as [string, string]]
      : flatten(value, `${prefix}${key}.`),
  );
}

describe('Message catalogues', () => {
  const catalogues = new Map(
    locales.map((locale) => [
      locale,
      new Map(
        flatten(JSON.parse(readFileSync(join(project, 'locales', `${locale}.json`), 'utf8')) as MessageTree),
      ),
    ]),
  );
  const plural = /_(zero|one|two|few|many|other)$/;
  const keysOf = (locale: (typeof locales)[number]): Set<string> =>
    new Set([...(catalogues.get(locale)?.keys() ?? [])].map((key) => key.replace(plural, '')));
  const english = keysOf('en');

  test.each(locales)('%s has exactly the keys of English', (locale) => {
    expect([...keysOf(locale)].sort()).toEqual([...english].sort());
  });

  test.each(locales)('%s has every plural form of its language', (locale) => {
    const messages = catalogues.get(locale) ?? new Map<string, string>();
    const pluralKeys = [...messages.keys()]
      .filter((key) => plural.test(key))
      .map((key) => key.replace(plural, ''));
    const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
    const expected = [...new Set(pluralKeys)].flatMap((key) =>
      pluralCategories.map((form) => `${key}_${form}`),
    );
    expect(expected.filter((key) => !messages.has(key))).toEqual([]);
  });

  test.each(locales)('%s uses the same placeholders as English and is translated', (locale) => {
    const messages = catalogues.get(locale) ?? new Map<string, string>();
    const valuesIn = (text: string): string[] => (text.match(/\{\{[^}]+\}\}/g) ?? []).sort();
    const differingKeys = [...messages].filter(([key, text]) => {
      const original =
        catalogues.get('en')?.get(key) ?? catalogues.get('en')?.get(key.replace(plural, '_other'));
      return JSON.stringify(valuesIn(text)) !== JSON.stringify(valuesIn(original ?? ''));
    });
    expect(differingKeys).toEqual([]);
    const untranslatedKeys = [...messages].filter(
      ([key, text]) => catalogues.get('en')?.get(key) === text && text.split(' ').length > 3,
    );
    expect(locale === 'en' ? [] : untranslatedKeys).toEqual([]);
  });

  test('every key in use exists, and every key is used', () => {
    const allSources = [...templates, ...readFilesBelow('src', '.ts')];
    const translateCalls = parsed.flatMap(({ nodes }) => nodes.filter((node) => node.path?.original === 't'));
    const literalKeys = translateCalls.flatMap(({ params }) =>
      params?.[0]?.type === 'StringLiteral' ? [String(params[0].original)] : [],
    );
    const prefixes = translateCalls.flatMap(({ params }) => {
      const [first] = params?.[0]?.params ?? [];
      return first?.type === 'StringLiteral' ? [String(first.original)] : [];
    });
    const labels = parsed.flatMap(({ nodes }) =>
      nodes.flatMap(({ type, key, value }) =>
        type === 'HashPair' && key === 'labels' ? String((value as AstNode)['original']) : [],
      ),
    );
    prefixes.push(...labels);
    // A key composed in the source starts with a fixed prefix.
    const composedPrefixes = allSources.flatMap(([, text]) =>
      [...text.matchAll(/`([a-z][\w-]*\.(?:[\w-]+\.)*)\$\{/g)].map(([, prefix]) => prefix ?? ''),
    );
    prefixes.push(...composedPrefixes.filter((prefix) => [...english].some((key) => key.startsWith(prefix))));
    const controlKeys = definitions.flatMap(textKeysOf);
    expect([...literalKeys, ...controlKeys].filter((key) => !english.has(key))).toEqual([]);
    expect(prefixes.filter((prefix) => ![...english].some((key) => key.startsWith(prefix)))).toEqual([]);
    const isUsed = (key: string): boolean =>
      controlKeys.includes(key) ||
      prefixes.some((prefix) => key.startsWith(prefix)) ||
      allSources.some(([, text]) => text.includes(`'${key}'`) || text.includes(`"${key}"`));
    expect([...english].filter((key) => !isUsed(key))).toEqual([]);
  });
});
