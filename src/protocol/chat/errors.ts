import { meaningOf } from '../../vendors';
import { type SupplierError } from '../canonical';
import { isRecord, pick } from '../usage';

const MOST_DETAILS = 8;
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Mistral says `{detail: [{loc, msg}]}` (https://github.com/editor-code-assistant/eca/issues/231, 2026-11-26). */
function detailIn(message: unknown): string | undefined {
  const details = pick(message, 'detail');
  if (!Array.isArray(details)) return undefined;
  const told = details.slice(0, MOST_DETAILS).flatMap((detail: unknown) => {
    const [words, place] = [textOf(pick(detail, 'msg')), pick(detail, 'loc')];
    if (words === undefined) return [];
    return [Array.isArray(place) ? `${words}: ${place.join('.')}` : words];
  });
  return told.length > 0 ? told.join('; ') : undefined;
}

/** An error body or error event, with the shapes that compatible suppliers give it. */
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
  const given = pick(error, 'code');
  const code = textOf(given) ?? (typeof given === 'number' ? given : undefined);
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
