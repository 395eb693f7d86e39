import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { DamagedObject, UnreadableObject } from '../backup-error';
import type { BackupKey } from './backup-key';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/**
 * An object is: this mark, the fingerprint of the key, a random nonce, the encrypted content, the tag. The tag covers
 * all of it and the name of the object, so that none can be cut, changed, or put in the place of another. Objects are
 * at most some megabytes, far below what one nonce of AES-GCM may encrypt.
 */
const MARK = Buffer.from('SWBACK01');
const FINGERPRINT_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = MARK.length + FINGERPRINT_BYTES + NONCE_BYTES;
const ALGORITHM = 'aes-256-gcm';
/** The fastest level: backups are taken beside requests. */
const LEVEL = 1;
/** Many small buffers for one object would cost more in garbage collection than packing does. */
const PIECE_BYTES = 1024 * 1024;
/** No object of ours grows beyond it. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;
/** A segment of the log is sealed beside requests, which go in between. */
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

/** GCM gives as many bytes as it takes. */
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

/** Refuses what was not sealed with this key under this name, or is not whole. */
export async function unseal(key: BackupKey, name: string, sealed: Buffer): Promise<Buffer> {
  const packed = await decrypt(key, name, sealed);
  return decompress(packed, { maxOutputLength: MAX_UNPACKED_BYTES, chunkSize: PIECE_BYTES });
}

/** Refuses the same as `unseal`, and takes less time, as the content stays compressed. */
export async function decrypt(key: BackupKey, name: string, sealed: Buffer): Promise<Buffer> {
  if (sealed.length < HEAD_BYTES + TAG_BYTES || !sealed.subarray(0, MARK.length).equals(MARK))
    throw new DamagedObject(name, 'it is not a part of a backup, or it was cut off.');
  const fingerprint = sealed.subarray(MARK.length, MARK.length + FINGERPRINT_BYTES).toString('hex');
  if (fingerprint !== key.fingerprint) throw otherKey(name, fingerprint, key);
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

export const otherKey = (name: string, fingerprint: string, key: BackupKey): UnreadableObject =>
  new UnreadableObject(
    name,
    'was made with another BACKUP_KEY',
    `its fingerprint is ${fingerprint}, that of the key in use is ${key.fingerprint}.`,
  );
