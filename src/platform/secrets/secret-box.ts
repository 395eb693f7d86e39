import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { err, ok, type Result } from '../../kernel';
import type { MasterKey, MasterKeys } from './master-keys';

/** A secret belongs here. A ciphertext opens nowhere else: not in another row, field or table, nor for another host. */
export interface SecretPlace {
  readonly table: string;
  readonly row: string;
  readonly field: string;
  readonly host: string;
}

export interface SealedSecret {
  /** It names the master key that wraps the data key. */
  readonly keyId: string;
  readonly wrappedKey: Buffer;
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
}

/** `unknown-key`: wrapped with a key that is not at hand. `altered`: damaged, moved, or bound to another host. */
export type SecretFault = 'unknown-key' | 'altered';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts what the database must not know: a data key for each secret, wrapped by the master key. */
export class SecretBox {
  constructor(private readonly keys: MasterKeys) {}

  /** It names the key that wraps what is sealed now. */
  get keyId(): string {
    return this.keys.current.id;
  }

  canRead(keyId: string): boolean {
    return this.keys.find(keyId) !== undefined;
  }

  seal(plaintext: string | Buffer, place: SecretPlace): SealedSecret {
    const dataKey = randomBytes(KEY_BYTES);
    const nonce = randomBytes(NONCE_BYTES);
    const bytes = typeof plaintext === 'string' ? Buffer.from(plaintext) : plaintext;
    const ciphertext = encrypt(dataKey, nonce, bytes, contextOf(place));
    return { ...wrap(this.keys.current, dataKey, place), nonce, ciphertext };
  }

  open(sealed: SealedSecret, place: SecretPlace): Result<string, SecretFault> {
    const opened = this.openBytes(sealed, place);
    return opened.ok ? ok(opened.value.toString('utf8')) : opened;
  }

  openBytes(
    { keyId, wrappedKey, nonce, ciphertext }: SealedSecret,
    place: SecretPlace,
  ): Result<Buffer, SecretFault> {
    const master = this.keys.find(keyId);
    if (master === undefined) return err('unknown-key');
    const dataKey = unwrap(master, wrappedKey, place);
    const plaintext = dataKey && decrypt(dataKey, nonce, ciphertext, contextOf(place));
    return plaintext === undefined ? err('altered') : ok(plaintext);
  }
}

/** The same secret under another master key; the data key, and what it encrypts, stay. */
export function rewrap(
  sealed: Pick<SealedSecret, 'wrappedKey'>,
  place: SecretPlace,
  from: MasterKey,
  to: MasterKey,
): Result<Pick<SealedSecret, 'keyId' | 'wrappedKey'>, SecretFault> {
  const dataKey = unwrap(from, sealed.wrappedKey, place);
  return dataKey === undefined ? err('altered') : ok(wrap(to, dataKey, place));
}

function wrap(
  master: MasterKey,
  dataKey: Buffer,
  place: SecretPlace,
): Pick<SealedSecret, 'keyId' | 'wrappedKey'> {
  const nonce = randomBytes(NONCE_BYTES);
  return {
    keyId: master.id,
    wrappedKey: Buffer.concat([nonce, encrypt(master.key, nonce, dataKey, keyContextOf(place))]),
  };
}

function unwrap(master: MasterKey, wrapped: Buffer, place: SecretPlace): Buffer | undefined {
  const nonce = wrapped.subarray(0, NONCE_BYTES);
  return decrypt(master.key, nonce, wrapped.subarray(NONCE_BYTES), keyContextOf(place));
}

/** Lengths stand in front, so that no two places are written alike. */
const contextOf = ({ table, row, field, host }: SecretPlace): Buffer =>
  Buffer.from([table, row, field, host].map((part) => `${Buffer.byteLength(part)}:${part}`).join('|'));

const keyContextOf = (place: SecretPlace): Buffer => contextOf({ ...place, field: `${place.field} key` });

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
