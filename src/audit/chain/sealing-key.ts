import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto';

const SEED_BYTES = 32;
/** The DER prefixes of a raw Ed25519 key in PKCS #8 and SPKI. */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Signs the heads of blocks. Derived from the master key, so that all nodes of an installation share it. */
export class SealingKey {
  readonly publicKey: Buffer;
  private readonly privateKey: KeyObject;

  private constructor(seed: Buffer) {
    this.privateKey = createPrivateKey({
      key: Buffer.concat([PRIVATE_PREFIX, seed]),
      format: 'der',
      type: 'pkcs8',
    });
    const wrapped = createPublicKey(this.privateKey).export({ format: 'der', type: 'spki' });
    this.publicKey = wrapped.subarray(PUBLIC_PREFIX.length);
  }

  /** If the setting has several master keys, the first one signs. */
  static of(masterKey: string): SealingKey {
    const [current = ''] = masterKey.split(',');
    const seed = hkdfSync('sha256', current.trim(), 'switchboard', 'audit sealing key', SEED_BYTES);
    return new SealingKey(Buffer.from(seed));
  }

  sign(digest: Buffer): Buffer {
    return sign(null, digest, this.privateKey);
  }
}

export function isSignedBy(publicKey: Buffer, digest: Buffer, signature: Buffer): boolean {
  if (publicKey.length !== SEED_BYTES) return false;
  try {
    const key = createPublicKey({
      key: Buffer.concat([PUBLIC_PREFIX, publicKey]),
      format: 'der',
      type: 'spki',
    });
    return verify(null, digest, key, signature);
  } catch {
    return false;
  }
}
