import type { SealedSecret } from './secret-box';

const LENGTH_BYTES = 2;

type Head = Pick<SealedSecret, 'keyId' | 'wrappedKey'>;

/** A sealed secret in one value: three parts with their length in front, then the ciphertext. */
export function packSealed({ keyId, wrappedKey, nonce, ciphertext }: SealedSecret): Buffer {
  return Buffer.concat([packHead({ keyId, wrappedKey }), ...part(nonce), ciphertext]);
}

/** Another master key changes only this head of a packed value. */
export const packHead = ({ keyId, wrappedKey }: Head): Buffer =>
  Buffer.concat([packedKeyId(keyId), ...part(wrappedKey)]);

/** Packed values of a master key begin with these bytes. */
export const packedKeyId = (keyId: string): Buffer => Buffer.concat(part(Buffer.from(keyId)));

export function unpackSealed(packed: Buffer): SealedSecret {
  const parts = partsOf(packed);
  return { ...headIn(parts), nonce: parts.next(), ciphertext: parts.rest() };
}

/** It reads a value of which only the beginning is at hand. */
export const headOf = (packed: Buffer): Head => headIn(partsOf(packed));

interface Parts {
  next(): Buffer;
  rest(): Buffer;
}

function partsOf(packed: Buffer): Parts {
  let at = 0;
  return {
    next: () => {
      const start = at + LENGTH_BYTES;
      at = start + packed.readUInt16BE(at);
      return packed.subarray(start, at);
    },
    rest: () => packed.subarray(at),
  };
}

function headIn(parts: Parts): Head {
  const keyId = parts.next().toString();
  return { keyId, wrappedKey: parts.next() };
}

function part(bytes: Buffer): [Buffer, Buffer] {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(bytes.length);
  return [length, bytes];
}
