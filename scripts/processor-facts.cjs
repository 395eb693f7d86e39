'use strict';
// The simulator is held against Stripe's own description of calls, objects and events: names, kinds, values
// and what is required. Read from the declarations of the SDK, which Stripe generates from its OpenAPI
// description and which speak the API version that the SDK sends. With --check only says whether the file is
// current.
const fs = require('node:fs');
const { join } = require('node:path');
const prettier = require('prettier');
const ts = require('typescript');
const { inProject } = require('./bootstrap/run.cjs');
const { calls, events, objects, refusals } = require('./processor-facts-wanted.cjs');

const sdk = inProject('node_modules', 'stripe');
const target = inProject('simulator', 'processor', 'stripe-facts.ts');
const DEEPEST = 6;
/** Longer lists of values, such as those of languages, say little and grow with every release. */
const MOST_VALUES = 20;
const WIDTH = 112;

const declarationOf = (file) => join(sdk, 'esm', 'resources', `${file}.d.ts`);

function describe() {
  const files = [...Object.values(calls), ...Object.values(objects)].map(({ file }) => declarationOf(file));
  const program = ts.createProgram([...new Set([...files, declarationOf('Events')])], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noEmit: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const reader = new Reader(program, checker);
  return {
    source: source(),
    calls: mapped(calls, (wanted, call) => {
      requirePath(call, wanted);
      return wanted.type === null ? {} : reader.fields(wanted, `${call} `);
    }),
    objects: mapped(objects, (wanted, name) => reader.fields(wanted, `${name} `)),
    events: Object.fromEntries(events.map((name) => [name, reader.objectOfEvent(name)])),
    refusals: reader.knownOf(refusals, {
      file: 'PaymentIntents',
      type: 'PaymentIntent.LastPaymentError.Code',
    }),
  };
}

const mapped = (record, make) =>
  Object.fromEntries(Object.entries(record).map(([key, one]) => [key, make(one, key)]));

function source() {
  const [, version] = /ApiVersion = '([^']+)'/.exec(
    fs.readFileSync(join(sdk, 'esm', 'apiVersion.js'), 'utf8'),
  );
  return {
    package: `stripe ${JSON.parse(fs.readFileSync(join(sdk, 'package.json'), 'utf8')).version}`,
    description: fs.readFileSync(join(sdk, 'OPENAPI_VERSION'), 'utf8').trim(),
    version,
  };
}

/** The SDK must send what we call by this method to this path. */
function requirePath(call, { file }) {
  const [method, path] = call.split(' ');
  const code = fs.readFileSync(join(sdk, 'esm', 'resources', `${file}.js`), 'utf8');
  const place = path
    .split(':id')
    .map((part) => part.replaceAll('/', '\\/'))
    .join('\\$\\{[^}]+\\}');
  if (!new RegExp(`_makeRequest\\('${method}', ['\`]${place}['\`]`).test(code))
    throw new Error(`the SDK has no call ${call} in ${file}`);
}

class Reader {
  constructor(program, checker) {
    this.program = program;
    this.checker = checker;
  }

  /** Every field that is always there, and those that are named, by their paths: `line_items[][quantity]!`. */
  fields({ file, type, use = [] }, about) {
    const found = {};
    this.walk(this.typeOf(file, type), { path: '', use, found, depth: 0 });
    const missing = use.filter((path) => !(path in found) && !(`${path}!` in found));
    if (missing.length > 0) throw new Error(`Stripe does not know of ${about}${missing.join(', ')}`);
    return found;
  }

  knownOf(wanted, { file, type }) {
    const { types } = this.typeOf(file, type);
    const known = new Set(types.map(({ value }) => value));
    const strange = wanted.filter((one) => !known.has(one));
    if (strange.length > 0) throw new Error(`Stripe refuses nothing with ${strange.join(', ')}`);
    return wanted;
  }

  objectOfEvent(name) {
    const source = this.program.getSourceFile(declarationOf('Events'));
    const found = this.checker
      .getExportsOfModule(this.checker.getSymbolAtLocation(source))
      .map((symbol) => this.checker.getDeclaredTypeOfSymbol(symbol))
      .find((type) => this.member(type, 'type')?.value === name && type.symbol.name.endsWith('Event'));
    if (found === undefined) throw new Error(`Stripe sends no event ${name}`);
    return this.member(this.member(this.member(found, 'data'), 'object'), 'object').value;
  }

  member(type, name) {
    const symbol = type.getProperty(name);
    return symbol === undefined ? undefined : this.checker.getTypeOfSymbol(symbol);
  }

  typeOf(file, name) {
    const source = this.program.getSourceFile(declarationOf(file));
    const [first, ...inner] = name.split('.');
    const exported = this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(source));
    let symbol = exported.find((one) => one.name === first);
    for (const part of inner) symbol = symbol?.exports?.get(part);
    if (symbol === undefined) throw new Error(`the SDK declares no ${name} in ${file}`);
    return this.checker.getDeclaredTypeOfSymbol(symbol);
  }

  walk(type, { path, use, found, depth }) {
    for (const property of type.getProperties()) {
      const name = path === '' ? property.name : `${path}[${property.name}]`;
      const isRequired = (property.flags & ts.SymbolFlags.Optional) === 0;
      const isUsed = use.some((one) => one === name || one.startsWith(`${name}[`));
      if (!isRequired && !isUsed) continue;
      this.describe(this.checker.getTypeOfSymbol(property), { name, isRequired, use, found, depth });
    }
  }

  describe(type, { name, isRequired, use, found, depth }) {
    const { kind, inner, isNullable } = this.kindOf(type);
    found[`${name}${isRequired ? '!' : ''}`] = isNullable ? `${kind}|null` : kind;
    const isUsed = use.some((one) => one.startsWith(`${name}[`));
    if (inner === null || depth === DEEPEST || (isNullable && !isUsed)) return;
    const element = kind === 'list' ? `${name}[]` : name;
    const nested = { path: element, use, found, depth: depth + 1 };
    if (kind === 'list' && (!isUsed || !use.some((one) => one.startsWith(`${element}[`)))) return;
    this.walk(inner, nested);
  }

  /** A kind, or the values of an enumeration; for objects and lists of them, what they are made of. */
  kindOf(type) {
    const parts = (type.isUnion() ? type.types : [type]).filter(
      (one) => (one.flags & ts.TypeFlags.Undefined) === 0,
    );
    const isNullable = parts.some((one) => (one.flags & ts.TypeFlags.Null) !== 0);
    const told = parts.filter((one) => (one.flags & ts.TypeFlags.Null) === 0 && one.value !== '');
    const values = told.filter((one) => one.isStringLiteral()).map(({ value }) => value);
    const objects = told.filter((one) => this.isObject(one));
    const isText = told.some((one) => (one.flags & ts.TypeFlags.String) !== 0);
    const isFlag = told.some((one) => (one.flags & ts.TypeFlags.BooleanLike) !== 0);
    const isNumber = told.some((one) => (one.flags & ts.TypeFlags.NumberLike) !== 0);
    if (values.length > 0) {
      const all = [...values, ...(isFlag ? ['true', 'false'] : [])].sort();
      return { kind: all.length > MOST_VALUES ? 'text' : `=${all.join('|')}`, inner: null, isNullable };
    }
    if (isFlag) return { kind: 'flag', inner: null, isNullable };
    if (objects.length > 0 && isText) return { kind: 'reference', inner: null, isNullable };
    if (objects.length > 0) return { ...this.kindOfObject(objects[0], isNumber), isNullable };
    if (isNumber) return { kind: 'integer', inner: null, isNullable };
    return { kind: 'text', inner: null, isNullable };
  }

  kindOfObject(type, isNumber) {
    const element = this.checker.isArrayType(type) ? this.checker.getTypeArguments(type)[0] : null;
    if (element !== null) return { kind: 'list', inner: this.kindOf(element).inner };
    const entries = this.checker.getIndexTypeOfType(type, ts.IndexKind.String);
    if (entries !== undefined) return { kind: 'map', inner: null };
    return { kind: isNumber ? 'integer-or-object' : 'object', inner: type };
  }

  /** An open enumeration is joined with a text that is an object to the compiler. */
  isObject(type) {
    if (type.isIntersection()) return false;
    return (type.flags & ts.TypeFlags.Object) !== 0;
  }
}

const quoted = (text) => `'${text}'`;

/** Words between backticks, as many in a line as fit. */
function block(words) {
  const lines = words.reduce(
    ([line, ...before], word) =>
      line.length + word.length < WIDTH && line !== ''
        ? [`${line} ${word}`, ...before]
        : [`      ${word}`, line, ...before],
    [''],
  );
  return `\`${lines.reverse().join('\n')}\``;
}

const entries = (record) =>
  Object.entries(record).map(
    ([name, fields]) =>
      `    ${quoted(name)}: ${block(Object.entries(fields).map(([path, kind]) => `${path}:${kind}`))},\n`,
  );

function text({ source: from, calls: told, objects: shown, events: sent, refusals: codes }) {
  return `// Generated by scripts/processor-facts.cjs out of Stripe's published description of its interface.
import type { DescribedInterface } from './described-interface';

/** A field and its kind; \`!\` is always there, \`=\` stands before the values of an enumeration. */
export const stripeFacts: DescribedInterface = {
  source: { package: ${quoted(from.package)}, description: ${quoted(from.description)}, version: ${quoted(from.version)} },
  calls: {
${entries(told).join('')}  },
  objects: {
${entries(shown).join('')}  },
  events: ${block(Object.entries(sent).map(([name, object]) => `${name}:${object}`))},
  refusals: ${block(codes)},
};
`;
}

async function main() {
  const options = await prettier.resolveConfig(target);
  const content = await prettier.format(text(describe()), { ...options, filepath: target });
  if (!process.argv.includes('--check')) fs.writeFileSync(target, content);
  else if (fs.readFileSync(target, 'utf8') !== content) {
    process.stderr.write('stripe-facts.ts is not what the SDK says: node scripts/processor-facts.cjs\n');
    process.exitCode = 1;
  }
}

void main();
