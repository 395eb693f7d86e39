import { isUint8Array } from 'node:util/types';
import type * as contract from '#extension';
import { type ErrorCode, type Fault, fault, parseJsonText, ByteParts } from '../../../kernel';
import type { Dropped, SupplierError, EncodingTarget } from '../../../protocol';
import type {
  ListCall,
  OperationName,
  Operations,
  PictureRule,
  PreparedStyleCall,
  WireDialect,
} from '../kit';

/* Validation of the return values of an extension's style. The message of a thrown error says what was wrong. */

const CONVERSATIONS: readonly WireDialect[] = ['chat', 'messages', 'responses', 'gemini'];

const allowedDialects: Readonly<Record<OperationName, readonly WireDialect[]>> = {
  chat: CONVERSATIONS,
  messages: CONVERSATIONS,
  responses: CONVERSATIONS,
  native: ['responses'],
  completions: ['completions'],
  embeddings: ['embeddings'],
  rerank: ['rerank'],
  speech: ['speech'],
  transcription: ['transcription'],
  translation: ['translation'],
  image: ['image'],
  moderation: ['moderation'],
  count_tokens: ['messages'],
};

const meanings: ReadonlySet<unknown> = new Set<SupplierError['kind']>([
  'context_length',
  'content_filter',
  'rate_limit',
  'auth',
  'account',
  'overloaded',
  'not_found',
  'invalid',
  'unknown',
]);

/** Headers of the connection, which the transport sets, or that would make the response unreadable. */
const forbiddenHeaders =
  /^(?:accept-encoding|connection|content-length|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;
const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

const MAX_BODY_BYTES = 64 * 1024 * 1024;
const MAX_HEADER_LENGTH = 16_384;
const MAX_HEADERS = 100;
const MAX_DROPPED = 200;
const MAX_TEXT_LENGTH = 500;
const MAX_MESSAGE_LENGTH = 8_000;

export function operationsIn(value: unknown): Operations {
  const operations: Partial<Record<OperationName, WireDialect>> = {};
  for (const [name, wire] of Object.entries(recordOf(value, 'the operations'))) {
    if (wire === undefined) continue;
    if (
      !Object.hasOwn(allowedDialects, name) ||
      !allowedDialects[name as OperationName].some((one) => one === wire)
    )
      throw new Error(`${name} cannot be asked for in ${JSON.stringify(wire)}`);
    operations[name as OperationName] = wire as WireDialect;
  }
  return operations;
}

export function fieldsIn(value: unknown): contract.FieldPolicy {
  const { validates, own } = recordOf(value, 'the fields');
  if (typeof validates !== 'boolean' || typeof own !== 'function')
    throw new Error('the fields have no validates, or no own()');
  return { validates, own: own as contract.FieldPolicy['own'] };
}

export const listIn = (value: unknown): readonly string[] => {
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string'))
    throw new Error('this is no list of names');
  return value;
};

export function booleanIn(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error('this is neither true nor false');
  return value;
}

/** Facts are added by the gateway only. */
export function targetIn(value: unknown): EncodingTarget {
  const record = recordOf(value, 'the target');
  const { model, structuredOutput, limitField } = record;
  return {
    ...(typeof model === 'string' && { model }),
    ...((structuredOutput === 'native' || structuredOutput === 'tool') && { structuredOutput }),
    ...((limitField === 'max_tokens' || limitField === 'max_completion_tokens') && { limitField }),
    ...flagsIn(record, ['cacheMark', 'systemInTurns', 'reasoningHistory', 'developerRole', 'customTools']),
  };
}

const flagsIn = <Name extends string>(
  record: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): Partial<Record<Name, boolean>> =>
  Object.fromEntries(
    names.filter((name) => typeof record[name] === 'boolean').map((name) => [name, record[name]]),
  ) as Partial<Record<Name, boolean>>;

export function picturesIn(value: unknown): PictureRule {
  const { most, factor } = recordOf(value, 'the rule of pictures');
  if (typeof most !== 'function') throw new Error('the rule of pictures has no most()');
  return { most: most as PictureRule['most'], factor: countIn(factor) };
}

export function countIn(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > 1e9)
    throw new Error('this is no number of tokens');
  return value;
}

export function preparedIn(value: unknown, baseUrl: string): PreparedStyleCall {
  const { url, headers, body, dropped } = recordOf(value, 'the call');
  const bytes = bodyIn(body);
  return {
    url: addressIn(url, baseUrl),
    method: 'POST',
    headers: { ...headersIn(headers), 'content-length': String(bytes.length) },
    body: new ByteParts([bytes]),
    dropped: droppedIn(dropped),
  };
}

export function listCallIn(value: unknown, baseUrl: string): ListCall | null {
  if (value === null || value === undefined) return null;
  const { url, headers } = recordOf(value, 'the list');
  return { url: addressIn(url, baseUrl), headers: headersIn(headers) };
}

/** The secret and the caller's content are sent only to the origin that the operator configured. */
function addressIn(value: unknown, baseUrl: string): URL {
  const url = URL.parse(String(value));
  const { origin } = new URL(baseUrl);
  if (url === null) throw new Error('the address is none');
  if (url.origin !== origin) throw new Error(`the address is not of ${origin}, the provider's own`);
  if (url.username !== '' || url.password !== '') throw new Error('the address holds a password');
  return url;
}

function headersIn(value: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  const entries = Object.entries(recordOf(value, 'the headers'));
  if (entries.length > MAX_HEADERS) throw new Error(`there are more than ${MAX_HEADERS} headers`);
  for (const [written, text] of entries) {
    const name = written.toLowerCase();
    if (!headerName.test(name) || forbiddenHeaders.test(name))
      throw new Error(`a header may not be named ${written}`);
    if (typeof text !== 'string' || text.length > MAX_HEADER_LENGTH || !headerValue.test(text))
      throw new Error(`the header ${name} is no text of one line`);
    headers[name] = text;
  }
  return headers;
}

function bodyIn(value: unknown): Buffer {
  const bytes = bytesIn(value) ?? piecesIn(value);
  if (bytes.length > MAX_BODY_BYTES) throw new Error('the body is too large');
  return bytes;
}

function bytesIn(value: unknown): Buffer | null {
  if (typeof value === 'string') return Buffer.from(value);
  return isUint8Array(value) ? Buffer.from(value) : null;
}

function piecesIn(value: unknown): Buffer {
  const { parts } = recordOf(value, 'the body');
  if (!Array.isArray(parts)) throw new Error('the body is neither text nor bytes');
  return Buffer.concat(
    parts.map((part: unknown) => {
      if (typeof part === 'string') return Buffer.from(part, 'latin1');
      if (isUint8Array(part)) return Buffer.from(part);
      throw new Error('a part of the body is neither text nor bytes');
    }),
  );
}

function droppedIn(value: unknown): readonly Dropped[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Error('dropped is no list');
  return value.slice(0, MAX_DROPPED).map((entry: unknown): Dropped => {
    const { loss, path, reason, at, count, name } = recordOf(entry, 'an entry of dropped');
    if (loss !== 'dropped' && loss !== 'approximated' && loss !== 'fulfilled')
      throw new Error('an entry of dropped says no loss');
    const pathText = textOf(path);
    return {
      loss,
      path: pathText,
      reason: textOf(reason),
      at: at === undefined ? pathText : textOf(at),
      count: Number.isSafeInteger(count) && Number(count) > 0 ? Number(count) : 1,
      ...(name !== undefined && { name: textOf(name) }),
    };
  });
}

export function errorIn(value: unknown): SupplierError | undefined {
  if (value === undefined || value === null) return undefined;
  const { kind, message, type, code, reason, param, details } = recordOf(value, 'the error');
  if (!meanings.has(kind)) throw new Error(`an error has no kind ${String(kind)}`);
  return {
    kind: kind as SupplierError['kind'],
    message: typeof message === 'string' ? message.slice(0, MAX_MESSAGE_LENGTH) : '',
    ...(type !== undefined && { type: textOf(type) }),
    ...(code !== undefined && { code: Number.isFinite(code) ? (code as number) : textOf(code) }),
    ...(reason !== undefined && { reason: textOf(reason) }),
    ...(param !== undefined && { param: textOf(param) }),
    ...(details !== undefined && {
      details: parseJsonText(JSON.stringify(recordOf(details, 'details'))) as Record<string, unknown>,
    }),
    raw: null,
  };
}

const faultCodes: ReadonlySet<string> = new Set<ErrorCode>([
  'agentcli_incomplete_stream',
  'non_json_provider_response',
  'supplier_limit',
  'upstream_error',
  'upstream_invalid_response',
  'upstream_timeout',
  'upstream_unavailable',
]);

export function pieceIn(value: unknown): Buffer | Fault {
  if (!isUint8Array(value)) return faultIn(value);
  if (value.byteLength > MAX_BODY_BYTES) throw new Error('the piece is too large');
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

export const endingIn = (value: unknown): Fault | undefined =>
  value === undefined || value === null ? undefined : faultIn(value);

function faultIn(value: unknown): Fault {
  const { code, message } = recordOf(value, 'the piece');
  if (typeof code !== 'string' || typeof message !== 'string')
    throw new Error('the piece is neither bytes nor a fault');
  const faultCode = faultCodes.has(code) ? (code as ErrorCode) : 'upstream_invalid_response';
  return fault(faultCode, { message: message.slice(0, MAX_TEXT_LENGTH) });
}

const textOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new Error('a text was expected');
  return value.slice(0, MAX_TEXT_LENGTH);
};

function recordOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new Error(`${what} is no object`);
  return value as Readonly<Record<string, unknown>>;
}
