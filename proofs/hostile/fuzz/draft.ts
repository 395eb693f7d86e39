import { hostileHeaders, hostileNames, hostileValue, nested, withRawPieces } from './hostile-values';
import type { SeededRandom } from '../../../test/system/seeded-random';
import { type RequestShape, shapes } from './shapes';
import type { WireRequest } from './wire';

/** Ids and keys that replace the placeholders of the shapes. */
export interface ShapeIds {
  readonly root: string;
  readonly demo: string;
  readonly keyId: string;
  readonly requestId: string;
}

/** A fuzzed request with the changes that were made to it. */
export interface Draft extends WireRequest {
  readonly shape: RequestShape;
  readonly changes: readonly string[];
  /** The only changed field of the body; null if more was changed. */
  readonly field: string | null;
}

interface DraftBuilder {
  readonly chance: SeededRandom;
  readonly shape: RequestShape;
  readonly changes: string[];
  method: string;
  target: string;
  headers: (readonly [string, string])[];
  body: Buffer | null;
  fields: Set<string>;
  framing: 'length' | 'chunked' | 'wrong';
  isOtherPath: boolean;
}

export function createDraft(
  chance: SeededRandom,
  shapeIds: ShapeIds,
  served: readonly RequestShape[] = shapes,
): Draft {
  const shape = chance.pick(served);
  const builder: DraftBuilder = {
    chance,
    shape,
    changes: [],
    method: shape.method,
    target: shape.path.replace('{key_id}', shapeIds.keyId).replace('{request_id}', shapeIds.requestId),
    headers: headersOf(shape, shapeIds),
    body: null,
    fields: new Set(),
    framing: 'length',
    isOtherPath: false,
  };
  if (shape.form === true) makeForm(builder);
  else if (shape.body !== undefined) makeJson(builder, shape.body);
  if (chance.flip(0.2)) changeHeaders(builder);
  if (chance.flip(0.12)) changeTarget(builder);
  if (chance.flip(0.08)) changeMethod(builder);
  if (chance.flip(0.08)) changeFraming(builder);
  return finish(builder);
}

function headersOf(shape: RequestShape, shapeIds: ShapeIds): (readonly [string, string])[] {
  const headers: (readonly [string, string])[] = [['host', '127.0.0.1']];
  if (shape.key !== 'none') headers.push(['authorization', `Bearer ${shapeIds[shape.key]}`]);
  if (shape.body !== undefined && shape.form !== true) headers.push(['content-type', 'application/json']);
  return headers;
}

function makeJson(builder: DraftBuilder, body: object): void {
  const { chance, changes } = builder;
  const value = structuredClone(body) as Record<string, unknown>;
  const rounds = chance.pick([0, 1, 1, 1, 2, 3]);
  for (let round = 0; round < rounds; round += 1) changeTree(builder, value);
  let text = withRawPieces(JSON.stringify(value));
  if (chance.flip(0.05)) {
    const [name = 'model'] = Object.keys(value);
    text = text.replace(
      '{',
      `{${JSON.stringify(name)}:${withRawPieces(JSON.stringify(hostileValue(chance)) ?? '1')},`,
    );
    changes.push(`duplicate ${name}`);
  }
  builder.body = Buffer.from(text);
  if (chance.flip(0.2)) changeText(builder);
}

/** Replaces, removes, adds or renames a random value in the body. */
function changeTree(builder: DraftBuilder, root: Record<string, unknown>): void {
  const { chance, changes, fields } = builder;
  let parent: Record<string, unknown> = root;
  let path = '';
  if (Object.keys(root).length === 0) return;
  let name = chance.pick(Object.keys(root));
  while (chance.flip(0.5)) {
    const child = parent[name];
    if (typeof child !== 'object' || child === null || Object.keys(child).length === 0) break;
    path += `${name}.`;
    parent = child as Record<string, unknown>;
    name = chance.pick(Object.keys(parent));
  }
  fields.add(path === '' ? name : path);
  switch (chance.integer(0, 5)) {
    case 0:
      Reflect.deleteProperty(parent, name);
      changes.push(`without ${path}${name}`);
      return;
    case 1: {
      const addedName = chance.pick(hostileNames);
      // Defines an own property even for `__proto__`, as JSON.parse does.
      Object.defineProperty(parent, addedName, {
        value: hostileValue(chance),
        enumerable: true,
        configurable: true,
        writable: true,
      });
      changes.push(`with ${path}${JSON.stringify(addedName)}`);
      builder.isOtherPath = true;
      return;
    }
    case 2:
      parent[name] = [parent[name]];
      changes.push(`list ${path}${name}`);
      return;
    default:
      parent[name] = hostileValue(chance);
      changes.push(`other ${path}${name}`);
  }
}

const textChanges: readonly (readonly [string, (text: Buffer, chance: SeededRandom) => Buffer])[] = [
  ['cut', (text, chance) => text.subarray(0, chance.integer(0, text.length))],
  ['flipped', (text, chance) => flip(text, chance)],
  ['invalid UTF-8', (text, chance) => insertPiece(text, chance, Buffer.from([0xc3, 0x28, 0xff]))],
  ['overlong UTF-8', (text, chance) => insertPiece(text, chance, Buffer.from([0xc0, 0xaf]))],
  ['byte order mark', (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), text])],
  ['UTF-16', (text) => Buffer.from(text.toString('utf8'), 'utf16le')],
  ['trailing garbage', (text) => Buffer.concat([text, Buffer.from('}garbage')])],
  ['twice', (text) => Buffer.concat([text, text])],
  ['not a number', (text) => Buffer.from(text.toString('utf8').replace(/:\s*\d+/, ': NaN'))],
  ['single quotes', (text) => Buffer.from(text.toString('utf8').replaceAll('"', "'"))],
  ['comments', (text) => Buffer.concat([Buffer.from('/* x */'), text])],
  ['empty', () => Buffer.alloc(0)],
  ['blank', () => Buffer.from('   \n')],
  ['a text', () => Buffer.from('"text"')],
  ['a list', () => Buffer.from('[]')],
  ['null', () => Buffer.from('null')],
  ['deep lists', (_text, chance) => Buffer.from('['.repeat(10_000 + chance.integer(0, 49_999)))],
  ['deep objects', () => Buffer.from('{"a":'.repeat(10_000))],
  [
    'nested in the body',
    (_text, chance) => Buffer.from(JSON.stringify({ messages: nested(80, chance.flip(0.5)) })),
  ],
  ['many keys', () => Buffer.from(`{${Array.from({ length: 20_000 }, (_, at) => `"k${at}":0`).join(',')}}`)],
  ['many values', () => Buffer.from(`{"input":[${'1,'.repeat(100_000)}1]}`)],
  [
    'noise',
    (_text, chance) =>
      Buffer.from(Array.from({ length: chance.integer(0, 2999) }, () => chance.integer(0, 255))),
  ],
];

function changeText(builder: DraftBuilder): void {
  const [name, change] = builder.chance.pick(textChanges);
  builder.body = change(builder.body ?? Buffer.alloc(0), builder.chance);
  builder.changes.push(`text: ${name}`);
  builder.isOtherPath = true;
}

function flip(text: Buffer, chance: SeededRandom): Buffer {
  const flippedText = Buffer.from(text);
  for (let times = 1 + chance.integer(0, 7); times > 0 && text.length > 0; times -= 1) {
    const at = chance.integer(0, text.length - 1);
    flippedText[at] = (flippedText[at] ?? 0) ^ (1 << chance.integer(0, 7));
  }
  return flippedText;
}

function insertPiece(text: Buffer, chance: SeededRandom, piece: Buffer): Buffer {
  const at = chance.integer(0, text.length);
  return Buffer.concat([text.subarray(0, at), piece, text.subarray(at)]);
}

/** Builds a form with a file, usually corrupted. */
function makeForm(builder: DraftBuilder): void {
  const { chance, shape, changes } = builder;
  const boundary = chance.flip(0.1) ? '--' : 'proof-boundary';
  const fields = Object.entries(shape.body ?? {}).map(([name, value]) => [name, String(value)] as const);
  if (chance.flip(0.3)) fields.push([chance.pick(hostileNames), 'x']);
  if (chance.flip(0.1))
    for (let extraIndex = 0; extraIndex < 1_500; extraIndex += 1) fields.push([`f${extraIndex}[a][b]`, 'x']);
  const parts = fields.map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const fileName = chance.pick([
    'a.mp3',
    '../../etc/passwd',
    'x'.repeat(3_000),
    '\u0000.wav',
    'a"; filename="b',
    '',
  ]);
  const type = chance.pick(['audio/mpeg', 'image/svg+xml', 'x', '']);
  const content = chance.flip(0.5) ? `ID3${'\u0000'.repeat(200)}` : 'x'.repeat(chance.integer(0, 49_999));
  if (chance.flip(0.9)) {
    parts.push(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${fileName}"\r\n` +
        `content-type: ${type}\r\n\r\n${content}\r\n`,
    );
  }
  if (chance.flip(0.9)) parts.push(`--${boundary}--\r\n`);
  builder.body = Buffer.from(parts.join(''));
  builder.headers.push(['content-type', `multipart/form-data; boundary=${boundary}`]);
  changes.push('form');
  builder.isOtherPath = true;
  if (chance.flip(0.3)) changeText(builder);
}

function changeHeaders(builder: DraftBuilder): void {
  const { chance, changes } = builder;
  for (let times = 1 + chance.integer(0, 2); times > 0; times -= 1) {
    const [name, value] = chance.pick(hostileHeaders);
    if (chance.flip(0.7)) builder.headers = builder.headers.filter(([known]) => known !== name);
    builder.headers.push([name, value]);
    changes.push(`header ${name}: ${value.slice(0, 40)}`);
  }
  if (chance.flip(0.05)) {
    const headerCount = chance.pick([90, 200, 2_000]);
    for (let at = 0; at < headerCount; at += 1) builder.headers.push([`x-many-${at}`, 'x']);
    changes.push(`${headerCount} headers`);
  }
  builder.isOtherPath = true;
}

const targetChanges: readonly ((target: string, chance: SeededRandom) => string)[] = [
  (target) => `${target}/`,
  (target) => `/${target}`,
  (target) => target.toUpperCase(),
  (target) => target.replace('/v1', '/v1/.'),
  (target) => target.replace('/v1', '/x/../v1'),
  (target) => target.replace('/v1', '/%76%31'),
  (target) => target.replace('/v1/', '/v1%2f'),
  (target) => `${target}%00`,
  (target) => `${target}%c0%ae`,
  (target) => `${target}%`,
  (target) => `${target};x=1`,
  (target) => `${target}?${'a=b&'.repeat(1_000)}`,
  (target) => `${target}?limit=-1&limit=2&__proto__=x&constructor[prototype]=y`,
  (target) => `${target}?limit=%E0%A4%A&cursor=%00&from=never&to=&after_id[]=x`,
  (target) => `${target}?api_key=svc_canary&key=${'x'.repeat(3_000)}`,
  (target) => `${target}#fragment`,
  (target) => `http://evil.example${target}`,
  (target) => target.split('?')[0]?.replace(/[^/]+$/, 'x'.repeat(5_000)) ?? target,
  (target) => target.split('?')[0]?.replace(/[^/]+$/, '..%2f..%2fetc%2fpasswd') ?? target,
  (target) => target.split('?')[0]?.replace(/[^/]+$/, '__proto__') ?? target,
  (target) => target.split('?')[0]?.replace(/[^/]+$/, '%F0%9F%92%A9') ?? target,
  (target, chance) => target.replaceAll(/[a-z]/g, (letter) => (chance.flip(0.1) ? '%' : letter)),
  () => '*',
  () => '/',
  () => '/v1',
  () => '/v1/',
  () => '/v1/nothing',
  () => '/v99/chat/completions',
];

function changeTarget(builder: DraftBuilder): void {
  builder.target = builder.chance.pick(targetChanges)(builder.target, builder.chance);
  builder.changes.push(`path ${builder.target.slice(0, 60)}`);
  builder.isOtherPath = true;
}

function changeMethod(builder: DraftBuilder): void {
  const methods = [
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'HEAD',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'FOO',
    'get',
  ];
  builder.method = builder.chance.pick(methods);
  builder.changes.push(`method ${builder.method}`);
  builder.isOtherPath = true;
}

function changeFraming(builder: DraftBuilder): void {
  builder.framing = builder.chance.pick(['chunked', 'chunked', 'wrong'] as const);
  builder.changes.push(`framing ${builder.framing}`);
  builder.isOtherPath = true;
}

function finish(builder: DraftBuilder): Draft {
  const { shape, changes, method, target, fields, isOtherPath: elsewhere, framing } = builder;
  const body = builder.body ?? Buffer.alloc(0);
  const { headers, content } = frameBody(builder, body);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, 'latin1');
  const [field = null] = fields.size === 1 && !elsewhere ? fields : [];
  return {
    shape,
    changes,
    method,
    bytes: Buffer.concat([head, content]),
    // For bytes that are not a request, closing the connection is a valid response.
    isAlone: framing === 'wrong' || headers.some(([name]) => name === 'upgrade' || name === 'expect'),
    isIncomplete: framing === 'wrong',
    field: field !== null && field.endsWith('.') ? field.slice(0, -1) : field,
  };
}

/** Adds framing that states the true or a false body length. */
function frameBody(
  { chance, headers, framing }: DraftBuilder,
  body: Buffer,
): { headers: readonly (readonly [string, string])[]; content: Buffer } {
  const length = (value: number | string) => [...headers, ['content-length', String(value)] as const];
  if (framing === 'length')
    return { headers: body.length === 0 ? headers : length(body.length), content: body };
  if (framing === 'chunked') {
    const half = Math.floor(body.length / 2);
    const pieces = [body.subarray(0, half), body.subarray(half)].filter((piece) => piece.length > 0);
    const content = pieces.map((piece) =>
      Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
    );
    return {
      headers: [...headers, ['transfer-encoding', 'chunked']],
      content: Buffer.concat([...content, Buffer.from('0\r\n\r\n')]),
    };
  }
  const conflictingFramings: readonly (readonly (readonly [string, string])[])[] = [
    length(body.length + 1 + chance.integer(0, 999)),
    length(-1),
    length('1, 1'),
    length('0x10'),
    length('99999999999999999999'),
    [...length(body.length), ['transfer-encoding', 'chunked']],
    [...length(body.length), ['content-length', '0']],
    [...headers, ['transfer-encoding', 'xchunked']],
    [...headers, ['transfer-encoding', 'chunked']],
    [...headers, ['x-bad name', 'x']],
    [...headers, ['x-folded', 'a\r\n b']],
  ];
  return { headers: chance.pick(conflictingFramings), content: body };
}
