import type { SealedSecret } from './secret-box';

const LENGTH_BYTES = 2;

/** A sealed secret in one value: three parts with their length in front, then the ciphertext. */
export function packSealed({ keyId, wrappedKey, nonce, ciphertext }: SealedSecret): Buffer {
  const parts = [Buffer.from(keyId), wrappedKey, nonce].flatMap((part) => [lengthOf(part), part]);
  return Buffer.concat([...parts, ciphertext]);
}

export function unpackSealed(packed: Buffer): SealedSecret {
  let at = 0;
  const next = (): Buffer => {
    const start = at + LENGTH_BYTES;
    at = start + packed.readUInt16BE(at);
    return packed.subarray(start, at);
  };
  const [keyId, wrappedKey, nonce] = [next().toString(), next(), next()];
  return { keyId, wrappedKey, nonce, ciphertext: packed.subarray(at) };
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(part.length);
  return length;
}
