import { meaningOf } from '../../vendors';
import { type SupplierError } from '../canonical';
import { isRecord, pick } from '../usage';

/** The error is `{error: {code, message, status, details}}`; some routes wrap it in a list. */
export function readGeminiError(body: unknown): SupplierError | undefined {
  const error = pick(Array.isArray(body) ? (body[0] as unknown) : body, 'error');
  if (!isRecord(error)) return undefined;
  const message = typeof error.message === 'string' ? error.message : '';
  const type = typeof error.status === 'string' ? error.status : undefined;
  const reason = reasonIn(error.details);
  return { kind: meaningOf({ type, reason, message }), message, type, reason, raw: body };
}

/** An invalid key is reported as an invalid argument; only a reason in the details tells them apart. */
const reasonIn = (details: unknown): string | undefined =>
  (Array.isArray(details) ? details : [])
    .map((detail: unknown) => pick(detail, 'reason'))
    .find((reason) => typeof reason === 'string');
