import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { DamagedObject, UnreadableObject } from '../backup-error';
import type { BackupKey } from './backup-key';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/**
 * Format of an object: this mark, fingerprint of the key, random nonce, encrypted content, tag. The tag covers
 * everything including the object's name, so that objects cannot be cut, changed or swapped. Objects are at most some
 * megabytes, far below what one nonce of AES-GCM can encrypt.
 */
const MARK = Buffer.from('SWBACK01');
const FINGERPRINT_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = MARK.length + FINGERPRINT_BYTES + NONCE_BYTES;
const ALGORITHM = 'aes-256-gcm';
/** The fastest level, because backups are taken while requests are served. */
const LEVEL = 1;
/** Many small buffers for one object would cost more in garbage collection than compression does. */
const PIECE_BYTES = 1024 * 1024;
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;
/** A log segment is sealed in steps, so that requests can run in between. */
const STEP_BYTES = 256 * 1024;

export async function seal(key: BackupKey, name: string, content: Buffer): Promise<Buffer> {
  const packed = await compress(content, {
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL },
    chunkSize: PIECE_BYTES,
  });
  const nonce = randomBytes(NONCE_BYTES);
  const head = Buffer.concat([MARK, Buffer.from(key.fingerprint, 'hex'), nonce]);
  const cipher = createCipheriv(ALGORITHM, key.encryption, nonce);
  cipher.setAAD(Buffer.concat([head, Buffer.from(name)]));
  const sealed = Buffer.allocUnsafe(HEAD_BYTES + packed.length + TAG_BYTES);
  head.copy(sealed);
  await passThrough(cipher, packed, sealed.subarray(HEAD_BYTES));
  cipher.final();
  cipher.getAuthTag().copy(sealed, HEAD_BYTES + packed.length);
  return sealed;
}

/** GCM returns as many bytes as it takes. */
async function passThrough(
  cipher: { update(bytes: Buffer): Buffer },
  from: Buffer,
  to: Buffer,
): Promise<void> {
  for (let at = 0; at < from.length; at += STEP_BYTES) {
    cipher.update(from.subarray(at, at + STEP_BYTES)).copy(to, at);
    await nextTurn();
  }
}

/** Rejects what was not sealed with this key under this name, or is incomplete. */
export async function unseal(key: BackupKey, name: string, sealed: Buffer): Promise<Buffer> {
  const packed = await decrypt(key, name, sealed);
  return decompress(packed, { maxOutputLength: MAX_UNPACKED_BYTES, chunkSize: PIECE_BYTES });
}

/** Works like `unseal`, but leaves the content compressed, which is faster. */
export async function decrypt(key: BackupKey, name: string, sealed: Buffer): Promise<Buffer> {
  if (sealed.length < HEAD_BYTES + TAG_BYTES || !sealed.subarray(0, MARK.length).equals(MARK))
    throw new DamagedObject(name, 'it is not a part of a backup, or it was cut off.');
  const fingerprint = sealed.subarray(MARK.length, MARK.length + FINGERPRINT_BYTES).toString('hex');
  if (fingerprint !== key.fingerprint) throw otherKeyError(name, fingerprint, key);
  const head = sealed.subarray(0, HEAD_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key.encryption, head.subarray(-NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.concat([head, Buffer.from(name)]));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const packed = Buffer.allocUnsafe(sealed.length - HEAD_BYTES - TAG_BYTES);
  await passThrough(decipher, sealed.subarray(HEAD_BYTES, -TAG_BYTES), packed);
  try {
    decipher.final();
  } catch (cause) {
    throw new DamagedObject(name, 'its bytes are not those that were written.', { cause });
  }
  return packed;
}

export const otherKeyError = (name: string, fingerprint: string, key: BackupKey): UnreadableObject =>
  new UnreadableObject(
    name,
    'was made with another BACKUP_KEY',
    `its fingerprint is ${fingerprint}, that of the key in use is ${key.fingerprint}.`,
  );
