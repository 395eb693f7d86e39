import { kindOf, type SupplierError } from '../canonical';
import { isRecord } from '../usage';

/** `{type: "error", error: {type, message}}`, as a body and as an event of a stream. */
export function readMessagesError(body: unknown): SupplierError | undefined {
  if (!isRecord(body)) return undefined;
  const { error } = body;
  if (!isRecord(error))
    return body.type === 'error' ? { kind: 'unknown', message: '', raw: body } : undefined;
  const message = typeof error.message === 'string' ? error.message : '';
  const type = typeof error.type === 'string' ? error.type : undefined;
  const code = typeof error.code === 'string' ? error.code : undefined;
  const details = isRecord(error.details) ? error.details : undefined;
  return { kind: kindOf(type, code, message), message, type, code, details, raw: body };
}
