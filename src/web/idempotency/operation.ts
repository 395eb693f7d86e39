import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { fault } from '../../kernel';

export interface IdempotentOperation {
  readonly keyId: number;
  /** Hash of the idempotency key, specific to the API key. */
  readonly keyHash: Buffer;
  /** Hash of the route and the body. */
  readonly requestHash: Buffer;
  readonly requestId: string;
}

export interface RepeatableRequest {
  readonly requestId: string;
  readonly keyId: number;
  readonly headers: IncomingHttpHeaders;
  /** Content that identifies the request across repetitions. */
  content(): readonly (string | Buffer)[];
}

const HEADER = 'idempotency-key';
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** Null if the caller sent no idempotency key. */
export function operationOf(
  request: RepeatableRequest,
  route: string,
  secret: string,
): IdempotentOperation | null {
  const { headers, keyId, requestId } = request;
  const key = headers[HEADER];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !VISIBLE_ASCII.test(key)) {
    throw fault('invalid_idempotency_key', {
      param: 'Idempotency-Key',
      message: 'Idempotency-Key must be 1 to 255 visible ASCII characters.',
    });
  }
  return {
    keyId,
    keyHash: hashOf(secret, `key ${keyId}`, [key]),
    requestHash: hashOf(secret, `request ${route}`, request.content()),
    requestId,
  };
}

/** Keyed, so that a reader of the hash cannot guess its content by trial. */
function hashOf(secret: string, purpose: string, content: readonly (string | Buffer)[]): Buffer {
  const hash = createHmac('sha256', secret).update(`idempotency ${purpose}\n`);
  for (const part of content) hash.update(part);
  return hash.digest();
}
