import { type SupplierError } from '../canonical';
import { readChatError } from '../chat/errors';
import { isRecord, pick } from '../usage';

export function readResponsesError(body: unknown): SupplierError | undefined {
  if (!isRecord(body)) return undefined;
  if (body.type === 'error' && !isRecord(body.error))
    return readChatError({ error: { ...body, type: undefined } });
  const failed = pick(body, 'response', 'error') ?? body.error;
  const error = readChatError({ error: failed });
  if (error) return { ...error, raw: body };
  const isFailed = body.type === 'response.failed' || body.status === 'failed';
  return isFailed ? { kind: 'unknown', message: '', raw: body } : undefined;
}
