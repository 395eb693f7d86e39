import type { SealedSecret } from './secret-box';

const LENGTH_BYTES = 2;

type PackedHead = Pick<SealedSecret, 'keyId' | 'wrappedKey'>;

/** Packs a sealed secret into one value: three parts prefixed with their length, then the ciphertext. */
export function packSealed({ keyId, wrappedKey, nonce, ciphertext }: SealedSecret): Buffer {
  return Buffer.concat([packHead({ keyId, wrappedKey }), ...part(nonce), ciphertext]);
}

/** A new master key changes only this head of a packed value. */
export const packHead = ({ keyId, wrappedKey }: PackedHead): Buffer =>
  Buffer.concat([packedKeyId(keyId), ...part(wrappedKey)]);

/** Prefix of all values packed with a master key. */
export const packedKeyId = (keyId: string): Buffer => Buffer.concat(part(Buffer.from(keyId)));

export function unpackSealed(packed: Buffer): SealedSecret {
  const parts = partsOf(packed);
  return { ...headIn(parts), nonce: parts.next(), ciphertext: parts.rest() };
}

/** Reads the head of a value of which only the beginning is available. */
export const headOf = (packed: Buffer): PackedHead => headIn(partsOf(packed));

interface PackedParts {
  next(): Buffer;
  rest(): Buffer;
}

function partsOf(packed: Buffer): PackedParts {
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

function headIn(parts: PackedParts): PackedHead {
  const keyId = parts.next().toString();
  return { keyId, wrappedKey: parts.next() };
}

function part(bytes: Buffer): [Buffer, Buffer] {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(bytes.length);
  return [length, bytes];
}
