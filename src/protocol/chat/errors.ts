import { meaningOf } from '../../vendors';
import { type SupplierError } from '../canonical';
import { isRecord, pick } from '../usage';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** An error body or error event, with the shapes that compatible suppliers give it. */
export function readChatError(body: unknown): SupplierError | undefined {
  if (!isRecord(body)) return undefined;
  const error = body.error ?? (body.object === 'error' || typeof body.detail === 'string' ? body : undefined);
  if (error === undefined || error === null) return undefined;
  const message = textOf(error) ?? textOf(pick(error, 'message')) ?? textOf(pick(error, 'detail')) ?? '';
  const type = textOf(pick(error, 'type'));
  const number = pick(error, 'code');
  const code = textOf(number) ?? (typeof number === 'number' ? String(number) : undefined);
  const param = textOf(pick(error, 'param'));
  const details = pick(error, 'details');
  return {
    kind: meaningOf({ type, code, message }),
    message,
    type,
    code,
    param,
    details: isRecord(details) ? details : undefined,
    raw: body,
  };
}
