import { createHash, createHmac, hkdfSync } from 'node:crypto';

const KEY_BYTES = 32;
/** Derives one key per purpose, so that no use of the setting reveals anything about another. */
const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `switchboard backup ${purpose}`, KEY_BYTES));

export class BackupKey {
  /** Distinguishes keys without revealing anything about them. */
  readonly fingerprint: string;
  readonly encryption: Buffer;
  private readonly names: Buffer;
  private readonly signatures: Buffer;

  constructor(secret: string) {
    this.encryption = deriveKey(secret, 'encryption');
    this.names = deriveKey(secret, 'names');
    this.signatures = deriveKey(secret, 'signatures');
    this.fingerprint = createHash('sha256')
      .update(deriveKey(secret, 'fingerprint'))
      .digest('hex')
      .slice(0, 16);
  }

  /** Returns the same name for the same content; it reveals nothing about the content without the key. */
  nameOf(content: Buffer): string {
    return createHmac('sha256', this.names).update(content).digest('hex').slice(0, 40);
  }

  sign(text: string): string {
    return createHmac('sha256', this.signatures).update(text).digest('base64url');
  }
}
