import type { IncomingHttpHeaders } from 'node:http';
import { parseJsonText } from '../../../kernel';
import type { SupplierError } from '../../../protocol';
import { meaningOf } from '../../../vendors';
import { CallSecrets } from './secrets';
import type { CoreStyle } from './style';

export interface ErrorResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const MAX_ERROR_BYTES = 256 * 1024;
const MAX_MESSAGE_LENGTH = 2_000;

/** Classifies a refusal by the supplier's error, or by its status if the error is missing or too general. */
export function judgeErrorResponse(
  style: Pick<CoreStyle, 'readError'>,
  { status, headers, body }: ErrorResponse,
  secrets: CallSecrets = new CallSecrets(),
): SupplierError {
  const error = readBody(style, body, headers);
  return { ...redactedError(secrets, error), kind: meaningOf({ ...error, status }) };
}

/** The error in a form that can be passed on; shortened only after secrets are removed. */
export function redactedError(secrets: CallSecrets, error: SupplierError): SupplierError {
  const { kind, ...texts } = error;
  const { message, ...rest } = secrets.redact(texts);
  return { ...rest, kind, message: message.slice(0, MAX_MESSAGE_LENGTH) };
}

function readBody(
  style: Pick<CoreStyle, 'readError'>,
  body: Buffer,
  headers: IncomingHttpHeaders,
): SupplierError {
  const unknown: SupplierError = { kind: 'unknown', message: '', raw: null };
  if (body.length > MAX_ERROR_BYTES) return unknown;
  const text = body.toString('utf8');
  try {
    return style.readError(parseJsonText(text), headers) ?? unknown;
  } catch {
    // A line of plain text is worth repeating, an HTML page is not.
    return { ...unknown, message: text.includes('<') ? '' : text.trim() };
  }
}
