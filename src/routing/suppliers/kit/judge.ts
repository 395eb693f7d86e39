import type { IncomingHttpHeaders } from 'node:http';
import { parseJsonText } from '../../../kernel';
import type { SupplierError } from '../../../protocol';
import { meaningOf } from '../../../vendors';
import { CallSecrets } from './secrets';
import type { SupplierStyle } from './style';

export interface RefusedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const LARGEST_ERROR = 256 * 1024;
const WORDING_LENGTH = 2_000;

/** A refusal means what the supplier's words say, or its status where they are missing or too general. */
export function judgeAnswer(
  style: Pick<SupplierStyle, 'readError'>,
  { status, headers, body }: RefusedAnswer,
  secrets: CallSecrets = new CallSecrets(),
): SupplierError {
  const read = readBody(style, body, headers);
  return { ...redactedError(secrets, read), kind: meaningOf({ ...read, status }) };
}

/** An error as it may be passed on: cut to a length only after the secrets are out of it. */
export function redactedError(secrets: CallSecrets, error: SupplierError): SupplierError {
  const { kind, ...told } = error;
  const { message, ...rest } = secrets.blanked(told);
  return { ...rest, kind, message: message.slice(0, WORDING_LENGTH) };
}

function readBody(
  style: Pick<SupplierStyle, 'readError'>,
  body: Buffer,
  headers: IncomingHttpHeaders,
): SupplierError {
  const unknown: SupplierError = { kind: 'unknown', message: '', raw: null };
  if (body.length > LARGEST_ERROR) return unknown;
  const text = body.toString('utf8');
  try {
    return style.readError(parseJsonText(text), headers) ?? unknown;
  } catch {
    // A line of plain text is worth repeating, a page is not.
    return { ...unknown, message: text.includes('<') ? '' : text.trim() };
  }
}
