import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import Handlebars from 'handlebars';
import { ExtensionRefused, type LoadedExtension } from '../extensions';
import { parseJsonText } from '../kernel';
import { createHelpers } from './helpers';
import { projectFolder } from './project-folder';
import { splitLayout, partialsPrefix, readTemplates } from './templates';
import { type Locale, locales } from './view-context';

export interface ExtensionViews {
  readonly id: string;
  readonly viewsFolder: string | null;
  readonly messages: Readonly<Record<Locale, object>> | null;
}

/** Views and message keys that something other than a template uses, such as the navigation. */
export interface ViewReferences {
  readonly views: readonly string[];
  readonly keys: readonly string[];
}

/** Verifies the views and texts of an extension; throws if something is missing or does not compile. */
export function verifyViews(
  { id, folder, parts }: LoadedExtension,
  references: ViewReferences = { views: [], keys: [] },
): ExtensionViews {
  const refuse = (reason: string): never => {
    throw new ExtensionRefused(id, reason);
  };
  const resolveFolder = (name: 'views' | 'messages'): string | null => {
    const configured = parts[name];
    if (configured === undefined) return null;
    if (typeof configured !== 'string') return refuse(`its ${name} is no path of a folder`);
    const path = join(folder, configured);
    if (!existsSync(path)) return refuse(`its folder of ${name}, ${path}, is missing`);
    const inside = relative(realpathSync(folder), realpathSync(path));
    return inside.startsWith('..') ? refuse(`its folder of ${name} lies outside of it, in ${path}`) : path;
  };
  const viewsFolder = resolveFolder('views');
  const messagesFolder = resolveFolder('messages');
  const messages = messagesFolder === null ? null : readAllMessages(messagesFolder, refuse);
  const ownKeys = new Set(messages === null ? [] : keysOf(messages.en).map(withoutPlural));
  const inheritedKeys = readHostKeys();
  for (const key of references.keys)
    if (!ownKeys.has(key)) refuse(`its messages in ${locales[0]} lack the key ${key}`);
  const templates = new Map(viewsFolder === null ? [] : readTemplates(viewsFolder));
  const missingView = references.views.find((name) => !templates.has(name));
  if (missingView !== undefined)
    refuse(`one of its pages shows the view ${missingView}, which is not in its folder of views`);
  for (const [name, source] of templates) {
    const problem = findTemplateProblem(
      id,
      source,
      templates,
      (key) => ownKeys.has(key) || inheritedKeys.has(key),
    );
    if (problem !== null) refuse(`its template ${name} ${problem}`);
  }
  return { id, viewsFolder, messages };
}

function findTemplateProblem(
  id: string,
  source: string,
  templates: ReadonlyMap<string, string>,
  isKnown: (key: string) => boolean,
): string | null {
  const { layout, body } = splitLayout(source);
  if (layout !== undefined && !existsSync(join(projectFolder, 'views', 'layouts', `${layout}.hbs`)))
    return `names the layout ${layout}, which the host does not have`;
  try {
    const { program, keys, partials, raw } = parseExtensionTemplate(id, body);
    const key = keys.find((name) => !isKnown(name));
    if (key !== undefined) return `uses the key ${key}, which neither its messages nor the host's have`;
    if (raw !== undefined) return `prints ${raw} without escaping: write it with two braces`;
    const partial = partials.find((name) => !hasPartial(id, name, templates));
    if (partial !== undefined) return `uses the partial ${partial}, which there is not`;
    Handlebars.precompile(program, { knownHelpers: helperNames(), knownHelpersOnly: true });
    return null;
  } catch (error) {
    return `does not compile: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function hasPartial(id: string, name: string, templates: ReadonlyMap<string, string>): boolean {
  if (name === '@partial-block') return true;
  if (name.startsWith(`${id}/`)) return templates.has(partialsPrefix + name.slice(id.length + 1));
  return existsSync(join(projectFolder, 'views', 'partials', `${name}.hbs`));
}

const helperNames = (): Record<string, boolean> =>
  Object.fromEntries(Object.keys(createHelpers(() => '')).map((name) => [name, true]));

/** Parses a template of an extension; its `t` prefers the texts of the extension to those of the host. */
export function parseExtensionTemplate(id: string, source: string) {
  const visitor = new ExtensionTextVisitor(id);
  const program = Handlebars.parse(source);
  visitor.accept(program);
  const { keys, partials, raw } = visitor;
  return { program, keys, partials, raw };
}

type HelperCall = hbs.AST.MustacheStatement | hbs.AST.SubExpression;

class ExtensionTextVisitor extends Handlebars.Visitor {
  readonly keys: string[] = [];
  readonly partials: string[] = [];
  /** The first value printed without escaping, by `{{{…}}}` or `{{&…}}`. */
  raw: string | undefined;

  constructor(private readonly id: string) {
    super();
  }

  override MustacheStatement(call: hbs.AST.MustacheStatement): void {
    super.MustacheStatement(call);
    // Unescaped output lets one user inject buttons that act on behalf of whoever opens the page.
    if (!call.escaped) this.raw ??= String((call.path as hbs.AST.PathExpression).original);
    this.rewriteTranslation(call);
  }

  override SubExpression(call: hbs.AST.SubExpression): void {
    super.SubExpression(call);
    this.rewriteTranslation(call);
  }

  override PartialStatement(partial: hbs.AST.PartialStatement): void {
    super.PartialStatement(partial);
    this.collectPartial(partial.name);
  }

  override PartialBlockStatement(partial: hbs.AST.PartialBlockStatement): void {
    super.PartialBlockStatement(partial);
    this.collectPartial(partial.name);
  }

  private collectPartial(name: hbs.AST.PathExpression | hbs.AST.SubExpression): void {
    if ('original' in name) this.partials.push(String(name.original));
  }

  private rewriteTranslation(call: HelperCall): void {
    const path = call.path as hbs.AST.PathExpression;
    if (path.original !== 't') return;
    const [key] = call.params;
    if (key?.type === 'StringLiteral') this.keys.push((key as hbs.AST.StringLiteral).value);
    Object.assign(path, { original: 'ownText', parts: ['ownText'], head: 'ownText', tail: [] });
    const id: hbs.AST.StringLiteral = {
      type: 'StringLiteral',
      value: this.id,
      original: this.id,
      loc: call.loc,
    };
    call.params.unshift(id);
  }
}

type Messages = Readonly<Record<string, unknown>>;

function readAllMessages(folder: string, refuse: (reason: string) => never): Record<Locale, Messages> {
  const messages = Object.fromEntries(
    locales.map((locale) => [locale, readMessages(join(folder, `${locale}.json`), locale, refuse)]),
  ) as Record<Locale, Messages>;
  const allKeys = new Set(locales.flatMap((locale) => keysOf(messages[locale]).map(withoutPlural)));
  for (const locale of locales) {
    const ownKeys = new Set(keysOf(messages[locale]).map(withoutPlural));
    const missing = [...allKeys].find((key) => !ownKeys.has(key));
    if (missing !== undefined) refuse(`its messages in ${locale} lack the key ${missing}`);
  }
  return messages;
}

function readMessages(file: string, locale: Locale, refuse: (reason: string) => never): Messages {
  if (!existsSync(file)) return refuse(`it has no messages in ${locale}: ${file} is missing`);
  try {
    const messages = parseJsonText(readFileSync(file, 'utf8')) as Messages;
    const key = entriesOf(messages).find(([, text]) => typeof text !== 'string')?.[0];
    return key === undefined ? messages : refuse(`its messages in ${locale} have no text at ${key}`);
  } catch (error) {
    if (error instanceof ExtensionRefused) throw error;
    return refuse(`its messages in ${locale} are no JSON: ${file}`);
  }
}

const isBranch = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const entriesOf = (messages: object, start = ''): [key: string, text: unknown][] =>
  Object.entries(messages).flatMap(([name, value]: [string, unknown]) =>
    isBranch(value) ? entriesOf(value, `${start}${name}.`) : [[start + name, value] as [string, unknown]],
  );

const keysOf = (messages: object): string[] => entriesOf(messages).map(([key]) => key);

/** Strips the plural suffix, because languages differ in their plural forms. */
const withoutPlural = (key: string): string => key.replace(/_(?:zero|one|two|few|many|other)$/, '');

let hostKeyCache: ReadonlySet<string> | undefined;

function readHostKeys(): ReadonlySet<string> {
  const file = join(projectFolder, 'locales', `${locales[0]}.json`);
  return (hostKeyCache ??= new Set(
    keysOf(parseJsonText(readFileSync(file, 'utf8')) as object).map(withoutPlural),
  ));
}
