import { meaningOf } from '../../vendors';
import { type SupplierError } from '../canonical';
import { isRecord } from '../usage';

/** `messages.0.role: Input should be …`: this dialect names the field at the start of the message. */
const FIELD = /^([a-z_]+(?:\.\w+)*):/;

/** The error is `{type: "error", error: {type, message}}`, as a body and as an event of a stream. */
export function readMessagesError(body: unknown): SupplierError | undefined {
  if (!isRecord(body)) return undefined;
  const { error } = body;
  if (!isRecord(error))
    return body.type === 'error' ? { kind: 'unknown', message: '', raw: body } : undefined;
  const message = typeof error.message === 'string' ? error.message : '';
  const type = typeof error.type === 'string' ? error.type : undefined;
  const code = typeof error.code === 'string' ? error.code : undefined;
  const details = isRecord(error.details) ? error.details : undefined;
  const reason = typeof details?.error_code === 'string' ? details.error_code : undefined;
  const param = FIELD.exec(message)?.[1];
  const kind = meaningOf({ type, code, reason, message });
  return { kind, message, type, code, reason, param, details, raw: body };
}
