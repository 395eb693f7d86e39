import { hostileHeaders, hostileNames, hostileValue, nested, withRawPieces } from './hostile-values';
import type { Chance } from '../../../test/system/chance';
import { type Shape, shapes } from './shapes';
import type { WireRequest } from './wire';

/** These stand in for the places of the shapes. */
export interface Places {
  readonly root: string;
  readonly demo: string;
  readonly keyId: string;
  readonly requestId: string;
}

/** One request of the fuzz run: what is sent, and what was done to it. */
export interface Draft extends WireRequest {
  readonly shape: Shape;
  readonly changes: readonly string[];
  /** Set when nothing but this field of the body was touched. */
  readonly field: string | null;
}

interface Making {
  readonly chance: Chance;
  readonly shape: Shape;
  readonly changes: string[];
  method: string;
  target: string;
  headers: (readonly [string, string])[];
  body: Buffer | null;
  fields: Set<string>;
  framing: 'length' | 'chunked' | 'wrong';
  elsewhere: boolean;
}

export function draft(chance: Chance, places: Places, served: readonly Shape[] = shapes): Draft {
  const shape = chance.pick(served);
  const making: Making = {
    chance,
    shape,
    changes: [],
    method: shape.method,
    target: shape.path.replace('{key_id}', places.keyId).replace('{request_id}', places.requestId),
    headers: headersOf(shape, places),
    body: null,
    fields: new Set(),
    framing: 'length',
    elsewhere: false,
  };
  if (shape.form === true) makeForm(making);
  else if (shape.body !== undefined) makeJson(making, shape.body);
  if (chance.flip(0.2)) changeHeaders(making);
  if (chance.flip(0.12)) changeTarget(making);
  if (chance.flip(0.08)) changeMethod(making);
  if (chance.flip(0.08)) changeFraming(making);
  return finish(making);
}

function headersOf(shape: Shape, places: Places): (readonly [string, string])[] {
  const headers: (readonly [string, string])[] = [['host', '127.0.0.1']];
  if (shape.key !== 'none') headers.push(['authorization', `Bearer ${places[shape.key]}`]);
  if (shape.body !== undefined && shape.form !== true) headers.push(['content-type', 'application/json']);
  return headers;
}

function makeJson(making: Making, body: object): void {
  const { chance, changes } = making;
  const value = structuredClone(body) as Record<string, unknown>;
  const rounds = chance.pick([0, 1, 1, 1, 2, 3]);
  for (let round = 0; round < rounds; round += 1) changeTree(making, value);
  let text = withRawPieces(JSON.stringify(value));
  if (chance.flip(0.05)) {
    const [name = 'model'] = Object.keys(value);
    text = text.replace(
      '{',
      `{${JSON.stringify(name)}:${withRawPieces(JSON.stringify(hostileValue(chance)) ?? '1')},`,
    );
    changes.push(`duplicate ${name}`);
  }
  making.body = Buffer.from(text);
  if (chance.flip(0.2)) changeText(making);
}

/** Replaces, removes, adds or renames something somewhere in the body. */
function changeTree(making: Making, root: Record<string, unknown>): void {
  const { chance, changes, fields } = making;
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
  switch (chance.whole(0, 5)) {
    case 0:
      Reflect.deleteProperty(parent, name);
      changes.push(`without ${path}${name}`);
      return;
    case 1: {
      const added = chance.pick(hostileNames);
      // As JSON.parse would: a name like any other.
      Object.defineProperty(parent, added, {
        value: hostileValue(chance),
        enumerable: true,
        configurable: true,
        writable: true,
      });
      changes.push(`with ${path}${JSON.stringify(added)}`);
      making.elsewhere = true;
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

const textChanges: readonly (readonly [string, (text: Buffer, chance: Chance) => Buffer])[] = [
  ['cut', (text, chance) => text.subarray(0, chance.whole(0, text.length))],
  ['flipped', (text, chance) => flip(text, chance)],
  ['invalid UTF-8', (text, chance) => insert(text, chance, Buffer.from([0xc3, 0x28, 0xff]))],
  ['overlong UTF-8', (text, chance) => insert(text, chance, Buffer.from([0xc0, 0xaf]))],
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
  ['deep lists', (_text, chance) => Buffer.from('['.repeat(10_000 + chance.whole(0, 49_999)))],
  ['deep objects', () => Buffer.from('{"a":'.repeat(10_000))],
  [
    'nested in the body',
    (_text, chance) => Buffer.from(JSON.stringify({ messages: nested(80, chance.flip(0.5)) })),
  ],
  ['many keys', () => Buffer.from(`{${Array.from({ length: 20_000 }, (_, at) => `"k${at}":0`).join(',')}}`)],
  ['many values', () => Buffer.from(`{"input":[${'1,'.repeat(100_000)}1]}`)],
  [
    'noise',
    (_text, chance) => Buffer.from(Array.from({ length: chance.whole(0, 2999) }, () => chance.whole(0, 255))),
  ],
];

function changeText(making: Making): void {
  const [name, change] = making.chance.pick(textChanges);
  making.body = change(making.body ?? Buffer.alloc(0), making.chance);
  making.changes.push(`text: ${name}`);
  making.elsewhere = true;
}

function flip(text: Buffer, chance: Chance): Buffer {
  const flipped = Buffer.from(text);
  for (let times = 1 + chance.whole(0, 7); times > 0 && text.length > 0; times -= 1) {
    const at = chance.whole(0, text.length - 1);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << chance.whole(0, 7));
  }
  return flipped;
}

function insert(text: Buffer, chance: Chance, piece: Buffer): Buffer {
  const at = chance.whole(0, text.length);
  return Buffer.concat([text.subarray(0, at), piece, text.subarray(at)]);
}

/** A form with a file, most of them spoiled. */
function makeForm(making: Making): void {
  const { chance, shape, changes } = making;
  const boundary = chance.flip(0.1) ? '--' : 'proof-boundary';
  const fields = Object.entries(shape.body ?? {}).map(([name, value]) => [name, String(value)] as const);
  if (chance.flip(0.3)) fields.push([chance.pick(hostileNames), 'x']);
  if (chance.flip(0.1)) for (let extra = 0; extra < 1_500; extra += 1) fields.push([`f${extra}[a][b]`, 'x']);
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
  const content = chance.flip(0.5) ? `ID3${'\u0000'.repeat(200)}` : 'x'.repeat(chance.whole(0, 49_999));
  if (chance.flip(0.9)) {
    parts.push(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${fileName}"\r\n` +
        `content-type: ${type}\r\n\r\n${content}\r\n`,
    );
  }
  if (chance.flip(0.9)) parts.push(`--${boundary}--\r\n`);
  making.body = Buffer.from(parts.join(''));
  making.headers.push(['content-type', `multipart/form-data; boundary=${boundary}`]);
  changes.push('form');
  making.elsewhere = true;
  if (chance.flip(0.3)) changeText(making);
}

function changeHeaders(making: Making): void {
  const { chance, changes } = making;
  for (let times = 1 + chance.whole(0, 2); times > 0; times -= 1) {
    const [name, value] = chance.pick(hostileHeaders);
    if (chance.flip(0.7)) making.headers = making.headers.filter(([known]) => known !== name);
    making.headers.push([name, value]);
    changes.push(`header ${name}: ${value.slice(0, 40)}`);
  }
  if (chance.flip(0.05)) {
    const many = chance.pick([90, 200, 2_000]);
    for (let at = 0; at < many; at += 1) making.headers.push([`x-many-${at}`, 'x']);
    changes.push(`${many} headers`);
  }
  making.elsewhere = true;
}

const targetChanges: readonly ((target: string, chance: Chance) => string)[] = [
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

function changeTarget(making: Making): void {
  making.target = making.chance.pick(targetChanges)(making.target, making.chance);
  making.changes.push(`path ${making.target.slice(0, 60)}`);
  making.elsewhere = true;
}

function changeMethod(making: Making): void {
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
  making.method = making.chance.pick(methods);
  making.changes.push(`method ${making.method}`);
  making.elsewhere = true;
}

function changeFraming(making: Making): void {
  making.framing = making.chance.pick(['chunked', 'chunked', 'wrong'] as const);
  making.changes.push(`framing ${making.framing}`);
  making.elsewhere = true;
}

function finish(making: Making): Draft {
  const { shape, changes, method, target, fields, elsewhere, framing } = making;
  const body = making.body ?? Buffer.alloc(0);
  const { headers, content } = framed(making, body);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, 'latin1');
  const [field = null] = fields.size === 1 && !elsewhere ? fields : [];
  return {
    shape,
    changes,
    method,
    bytes: Buffer.concat([head, content]),
    // Being hung up on is an answer to what is not a request.
    alone: framing === 'wrong' || headers.some(([name]) => name === 'upgrade' || name === 'expect'),
    broken: framing === 'wrong',
    field: field !== null && field.endsWith('.') ? field.slice(0, -1) : field,
  };
}

/** The body is said to be so long, truly or not. */
function framed(
  { chance, headers, framing }: Making,
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
  const lies: readonly (readonly (readonly [string, string])[])[] = [
    length(body.length + 1 + chance.whole(0, 999)),
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
  return { headers: chance.pick(lies), content: body };
}
