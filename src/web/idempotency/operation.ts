import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { fault } from '../../kernel';

/** An operation that has to happen once, however often it is repeated. */
export interface Operation {
  readonly keyId: number;
  /** It hashes the idempotency key, for this API key alone. */
  readonly keyHash: Buffer;
  /** It hashes the route and the body. */
  readonly requestHash: Buffer;
  readonly requestId: string;
}

/** A request that is sent again is recognised by this. */
export interface RepeatableRequest {
  readonly requestId: string;
  /** The API key that asks: each has idempotency keys of its own. */
  readonly keyId: number;
  readonly headers: IncomingHttpHeaders;
  /** Two sendings of one request have this content in common. */
  content(): readonly (string | Buffer)[];
}

const HEADER = 'idempotency-key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/** Null: the caller did not ask for it. */
export function operationOf(asked: RepeatableRequest, route: string, secret: string): Operation | null {
  const { headers, keyId, requestId } = asked;
  const key = headers[HEADER];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !VISIBLE.test(key)) {
    throw fault('invalid_idempotency_key', {
      param: 'Idempotency-Key',
      message: 'Idempotency-Key must be 1 to 255 visible ASCII characters.',
    });
  }
  return {
    keyId,
    keyHash: hashOf(secret, `key ${keyId}`, [key]),
    requestHash: hashOf(secret, `request ${route}`, asked.content()),
    requestId,
  };
}

/** Keyed, so that a reader of the hash cannot guess its content by trial. */
function hashOf(secret: string, purpose: string, content: readonly (string | Buffer)[]): Buffer {
  const hash = createHmac('sha256', secret).update(`idempotency ${purpose}\n`);
  for (const part of content) hash.update(part);
  return hash.digest();
}
