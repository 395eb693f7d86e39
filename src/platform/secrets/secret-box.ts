import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { err, ok, type Result } from '../../kernel';
import type { MasterKey, MasterKeys } from './master-keys';

/** Location of a secret. A ciphertext opens nowhere else: not in another row, field or table, nor for another host. */
export interface SecretLocation {
  readonly table: string;
  readonly row: string;
  readonly field: string;
  readonly host: string;
}

export interface SealedSecret {
  /** Names the master key that wraps the data key. */
  readonly keyId: string;
  readonly wrappedKey: Buffer;
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
}

/** `unknown-key`: wrapped with a key that is not available. `altered`: damaged, moved, or bound to another host. */
export type SecretFault = 'unknown-key' | 'altered';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts what the database must not know, with one data key per secret, wrapped by the master key. */
export class SecretBox {
  constructor(private readonly keys: MasterKeys) {}

  get keyId(): string {
    return this.keys.current.id;
  }

  canRead(keyId: string): boolean {
    return this.keys.find(keyId) !== undefined;
  }

  seal(plaintext: string | Buffer, location: SecretLocation): SealedSecret {
    const dataKey = randomBytes(KEY_BYTES);
    const nonce = randomBytes(NONCE_BYTES);
    const bytes = typeof plaintext === 'string' ? Buffer.from(plaintext) : plaintext;
    const ciphertext = encrypt(dataKey, nonce, bytes, contextOf(location));
    return { ...wrap(this.keys.current, dataKey, location), nonce, ciphertext };
  }

  open(sealed: SealedSecret, location: SecretLocation): Result<string, SecretFault> {
    const result = this.openBytes(sealed, location);
    return result.ok ? ok(result.value.toString('utf8')) : result;
  }

  openBytes(
    { keyId, wrappedKey, nonce, ciphertext }: SealedSecret,
    location: SecretLocation,
  ): Result<Buffer, SecretFault> {
    const master = this.keys.find(keyId);
    if (master === undefined) return err('unknown-key');
    const dataKey = unwrap(master, wrappedKey, location);
    const plaintext = dataKey && decrypt(dataKey, nonce, ciphertext, contextOf(location));
    return plaintext === undefined ? err('altered') : ok(plaintext);
  }
}

/** Rewraps a secret under another master key; the data key and the ciphertext stay the same. */
export function rewrap(
  sealed: Pick<SealedSecret, 'wrappedKey'>,
  location: SecretLocation,
  from: MasterKey,
  to: MasterKey,
): Result<Pick<SealedSecret, 'keyId' | 'wrappedKey'>, SecretFault> {
  const dataKey = unwrap(from, sealed.wrappedKey, location);
  return dataKey === undefined ? err('altered') : ok(wrap(to, dataKey, location));
}

function wrap(
  master: MasterKey,
  dataKey: Buffer,
  location: SecretLocation,
): Pick<SealedSecret, 'keyId' | 'wrappedKey'> {
  const nonce = randomBytes(NONCE_BYTES);
  return {
    keyId: master.id,
    wrappedKey: Buffer.concat([nonce, encrypt(master.key, nonce, dataKey, keyContextOf(location))]),
  };
}

function unwrap(master: MasterKey, wrapped: Buffer, location: SecretLocation): Buffer | undefined {
  const nonce = wrapped.subarray(0, NONCE_BYTES);
  return decrypt(master.key, nonce, wrapped.subarray(NONCE_BYTES), keyContextOf(location));
}

/** Lengths are prefixed, so that no two locations have the same text. */
const contextOf = ({ table, row, field, host }: SecretLocation): Buffer =>
  Buffer.from([table, row, field, host].map((part) => `${Buffer.byteLength(part)}:${part}`).join('|'));

const keyContextOf = (location: SecretLocation): Buffer =>
  contextOf({ ...location, field: `${location.field} key` });

function encrypt(key: Buffer, nonce: Buffer, plaintext: Buffer, context: Buffer): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(context);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Buffer, nonce: Buffer, sealed: Buffer, context: Buffer): Buffer | undefined {
  if (nonce.length !== NONCE_BYTES || sealed.length < TAG_BYTES) return undefined;
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(context);
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
