import { kindOf, type SupplierError, type SupplierErrorKind } from '../canonical';
import { isRecord, pick } from '../usage';

const kindOfStatus: Readonly<Record<string, SupplierErrorKind>> = {
  INVALID_ARGUMENT: 'invalid',
  FAILED_PRECONDITION: 'invalid',
  OUT_OF_RANGE: 'invalid',
  UNAUTHENTICATED: 'auth',
  PERMISSION_DENIED: 'auth',
  NOT_FOUND: 'not_found',
  RESOURCE_EXHAUSTED: 'rate_limit',
  UNAVAILABLE: 'overloaded',
  INTERNAL: 'overloaded',
  DEADLINE_EXCEEDED: 'overloaded',
};

/** `{error: {code, message, status, details}}`; some routes wrap it in a list. */
export function readGeminiError(body: unknown): SupplierError | undefined {
  const error = pick(Array.isArray(body) ? (body[0] as unknown) : body, 'error');
  if (!isRecord(error)) return undefined;
  const message = typeof error.message === 'string' ? error.message : '';
  const type = typeof error.status === 'string' ? error.status : undefined;
  return { kind: geminiKind(type, error.details, message), message, type, raw: body };
}

/** A bad key comes as an invalid argument, an overflow too: the status alone says little. */
function geminiKind(status: string | undefined, details: unknown, message: string): SupplierErrorKind {
  const reasons: unknown[] = Array.isArray(details) ? details.map((detail) => pick(detail, 'reason')) : [];
  if (reasons.some((reason) => typeof reason === 'string' && reason.startsWith('API_KEY_'))) return 'auth';
  if (/input token count .* exceeds the maximum/i.test(message)) return 'context_length';
  const named = kindOfStatus[status ?? ''];
  return named !== undefined && named !== 'invalid' ? named : withWording(message, named);
}

function withWording(message: string, named: SupplierErrorKind | undefined): SupplierErrorKind {
  const worded = kindOf(undefined, undefined, message);
  return worded === 'unknown' ? (named ?? 'unknown') : worded;
}
