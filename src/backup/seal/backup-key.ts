import { createHash, createHmac, hkdfSync } from 'node:crypto';

const KEY_BYTES = 32;
/** One for each purpose, so that no use of the setting says anything about another. */
const derived = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `switchboard backup ${purpose}`, KEY_BYTES));

/** What is derived from BACKUP_KEY: backups are encrypted, named and signed with it. */
export class BackupKey {
  /** Tells keys apart; it gives nothing of the key away. */
  readonly fingerprint: string;
  readonly encryption: Buffer;
  private readonly names: Buffer;
  private readonly signatures: Buffer;

  constructor(secret: string) {
    this.encryption = derived(secret, 'encryption');
    this.names = derived(secret, 'names');
    this.signatures = derived(secret, 'signatures');
    this.fingerprint = createHash('sha256').update(derived(secret, 'fingerprint')).digest('hex').slice(0, 16);
  }

  /** The same content has the same name, and says nothing about it to those without the key. */
  nameOf(content: Buffer): string {
    return createHmac('sha256', this.names).update(content).digest('hex').slice(0, 40);
  }

  sign(text: string): string {
    return createHmac('sha256', this.signatures).update(text).digest('base64url');
  }
}
