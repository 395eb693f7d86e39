import type { ErrorCode } from './catalogue';
import { Fault, fault, type ValidationIssue } from './fault';

/** Converts anything that was thrown to a fault. Never throws itself. */
export function fromUnknown(error: unknown): Fault {
  try {
    if (error instanceof Fault) return error;
    return fromBodyParser(error) ?? fromDatabase(error) ?? fromHttpException(error) ?? internal(error);
  } catch {
    // A revoked proxy or a throwing getter.
    return internal(error);
  }
}

const internal = (cause: unknown): Fault => fault('internal_error', { cause });

/** Own properties only: a polluted prototype must not pass for a lost database. */
const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;

const maxDepth = 4;

/** The value and what it wraps: database errors hide in `driverError`, framework errors in `cause`. */
function* layersOf(error: unknown): Generator<unknown> {
  let layer = error;
  for (let depth = 0; depth < maxDepth && typeof layer === 'object' && layer !== null; depth += 1) {
    yield layer;
    layer = property(layer, 'driverError') ?? property(layer, 'cause');
  }
}

const bodyParserCodes: ReadonlyMap<unknown, ErrorCode> = new Map<unknown, ErrorCode>([
  ['entity.too.large', 'request_too_large'],
  ['parameters.too.many', 'request_too_large'],
  ['entity.parse.failed', 'invalid_json'],
  ['encoding.unsupported', 'unsupported_media_type'],
  ['charset.unsupported', 'unsupported_media_type'],
  ['request.aborted', 'request_timeout'],
  ['request.size.invalid', 'invalid_request'],
  ['querystring.parse.rangeError', 'invalid_request'],
]);

function fromBodyParser(error: unknown): Fault | undefined {
  for (const layer of layersOf(error)) {
    const code = bodyParserCodes.get(property(layer, 'type'));
    if (code) return fault(code, { cause: error });
  }
  return undefined;
}

const socketCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // No file descriptor is left to connect with.
  'EMFILE',
  'ENFILE',
]);

/**
 * SQL states: connection exceptions, shutdown, crash, start in progress, too many connections, no such database. Also
 * statement and lock timeouts.
 */
const connectionState = /^(?:08\w{3}|57P0[1234]|53300|3D000|57014|55P03)$/;

/** Messages of driver errors that have no code. */
const connectionMessages = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Cannot use a pool after calling end on the pool',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
];

function isLostConnection(layer: unknown): boolean {
  const code = property(layer, 'code');
  if (socketCodes.has(code)) return true;
  if (typeof code === 'string') return connectionState.test(code);
  const message = property(layer, 'message');
  return typeof message === 'string' && connectionMessages.some((prefix) => message.startsWith(prefix));
}

/** SQL states for texts with NUL, the only character that the database cannot store. */
const unstorableTextStates: ReadonlySet<unknown> = new Set(['22021', '22P05']);

function fromDatabase(error: unknown): Fault | undefined {
  for (const layer of layersOf(error)) {
    if (unstorableTextStates.has(property(layer, 'code')))
      return fault('invalid_request', {
        message: 'A text has a character that no text can have.',
        cause: error,
      });
    if (isLostConnection(layer)) return fault('service_unavailable', { retryAfterSeconds: 1, cause: error });
  }
  return undefined;
}

const codeOfStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [400, 'validation_error'],
  [401, 'authentication_required'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [408, 'request_timeout'],
  [409, 'conflict'],
  [413, 'request_too_large'],
  [415, 'unsupported_media_type'],
  [422, 'validation_error'],
  [429, 'rate_limit_exceeded'],
  [501, 'not_implemented'],
  [503, 'service_unavailable'],
  [504, 'timeout'],
]);

/** Recognises the framework's exceptions by their two methods, so that nothing has to be imported. */
function fromHttpException(error: unknown): Fault | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const getStatus: unknown = Reflect.get(error, 'getStatus');
  const getResponse: unknown = Reflect.get(error, 'getResponse');
  if (typeof getStatus !== 'function' || typeof getResponse !== 'function') return undefined;
  const status: unknown = getStatus.call(error);
  if (typeof status !== 'number') return undefined;
  // A path that cannot be decoded arrives as a 400; it has no values to list.
  if (property(error, 'cause') instanceof URIError) return fault('invalid_request', { cause: error });
  const code =
    codeOfStatus.get(status) ?? (status >= 400 && status < 500 ? 'invalid_request' : 'internal_error');
  if (code !== 'validation_error') return fault(code, { cause: error });
  return fault(code, { cause: error, details: { errors: issuesOf(getResponse.call(error)) } });
}

function issuesOf(response: unknown): ValidationIssue[] {
  const message = property(response, 'message') ?? response;
  const messages: unknown[] = Array.isArray(message) ? message : [message];
  return messages
    .filter((text) => typeof text === 'string')
    .map((msg) => ({ loc: ['body'], msg, type: 'value_error' }));
}
