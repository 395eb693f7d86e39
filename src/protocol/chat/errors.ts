import { meaningOf } from '../../vendors';
import { type SupplierError } from '../canonical';
import { isRecord, pick } from '../usage';

const MAX_DETAILS = 8;
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Mistral sends `{detail: [{loc, msg}]}` (https://github.com/editor-code-assistant/eca/issues/231, 2026-11-26). */
function detailIn(message: unknown): string | undefined {
  const details = pick(message, 'detail');
  if (!Array.isArray(details)) return undefined;
  const messages = details.slice(0, MAX_DETAILS).flatMap((detail: unknown) => {
    const [text, location] = [textOf(pick(detail, 'msg')), pick(detail, 'loc')];
    if (text === undefined) return [];
    return [Array.isArray(location) ? `${text}: ${location.join('.')}` : text];
  });
  return messages.length > 0 ? messages.join('; ') : undefined;
}

export function readChatError(body: unknown): SupplierError | undefined {
  if (!isRecord(body)) return undefined;
  const error = body.error ?? (body.object === 'error' || typeof body.detail === 'string' ? body : undefined);
  if (error === undefined || error === null) return undefined;
  const message =
    textOf(error) ??
    textOf(pick(error, 'message')) ??
    textOf(pick(error, 'detail')) ??
    detailIn(pick(error, 'message')) ??
    '';
  const type = textOf(pick(error, 'type'));
  const rawCode = pick(error, 'code');
  const code = textOf(rawCode) ?? (typeof rawCode === 'number' ? rawCode : undefined);
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
