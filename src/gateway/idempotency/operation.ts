import { createHmac } from 'node:crypto';
import { fault } from '../../kernel';
import type { Inbound } from '../inference/inbound';

/** Something that has to happen once, whoever repeats it. */
export interface Operation {
  readonly keyId: number;
  /** Of the idempotency key, for this API key alone. */
  readonly keyHash: Buffer;
  /** Of the route and the body. */
  readonly requestHash: Buffer;
  readonly requestId: string;
}

/** Of a request, what it is known again by. */
export type Asked = Pick<Inbound, 'requestId' | 'caller' | 'headers' | 'bytes' | 'form'>;

const HEADER = 'idempotency-key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/** Null: the caller did not ask for it. */
export function operationOf(asked: Asked, route: string, secret: string): Operation | null {
  const { headers, caller, requestId } = asked;
  const key = headers[HEADER];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !VISIBLE.test(key)) {
    throw fault('invalid_idempotency_key', {
      param: 'Idempotency-Key',
      message: 'Idempotency-Key must be 1 to 255 visible ASCII characters.',
    });
  }
  return {
    keyId: caller.keyId,
    keyHash: hashOf(secret, `key ${caller.keyId}`, [key]),
    requestHash: hashOf(secret, `request ${route}`, contentOf(asked)),
    requestId,
  };
}

/** A form counts by its parts: each time it is sent, another boundary stands between them. */
function contentOf({ bytes, form }: Asked): readonly (string | Buffer)[] {
  if (form === null) return [bytes];
  const files = form.files.map((file) => [file.field, file.name, file.type, file.bytes.length]);
  return [JSON.stringify([form.fields, files]), ...form.files.map((file) => file.bytes)];
}

/** Keyed, so that nobody who sees the hash can try out what it may be of. */
function hashOf(secret: string, purpose: string, content: readonly (string | Buffer)[]): Buffer {
  const hash = createHmac('sha256', secret).update(`idempotency ${purpose}\n`);
  for (const part of content) hash.update(part);
  return hash.digest();
}
