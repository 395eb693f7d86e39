import { createHash } from 'node:crypto';
import { BackupError, DamagedObject } from '../backup-error';
import type { BackupKey } from '../seal/backup-key';
import { seal, unseal } from '../seal/sealed-object';
import type { BackupTarget } from '../target/backup-target';

export interface BackupPart {
  readonly name: string;
  readonly bytes: number;
  readonly storedBytes: number;
  /** Digest of the stored object, so that a copy can be checked without the key. */
  readonly sha256: string;
}

export class PartStore {
  /** Number of parts of an earlier attempt that were intact and were not sent again. */
  reusedParts = 0;
  sentBytes = 0;
  private readonly stored = new Map<string, BackupPart>();

  constructor(
    private readonly target: BackupTarget,
    private readonly key: BackupKey,
    private readonly folder: string,
    /** Objects left by an interrupted attempt. */
    private readonly leftoverObjects: ReadonlySet<string> = new Set(),
  ) {}

  get names(): ReadonlySet<string> {
    return new Set([...this.stored.keys()].map((name) => this.objectOf(name)));
  }

  async put(content: Buffer): Promise<BackupPart> {
    const name = this.key.nameOf(content);
    const stored = this.stored.get(name) ?? (await this.findLeftover(name));
    if (stored !== undefined) return stored;
    const object = this.objectOf(name);
    const sealed = await seal(this.key, object, content);
    await this.target.put(object, sealed);
    this.sentBytes += sealed.length;
    return this.remember(name, content, sealed);
  }

  async get({ name, bytes, sha256 }: BackupPart): Promise<Buffer> {
    const object = this.objectOf(name);
    const sealed = await this.target.get(object);
    if (sealed === null) throw new BackupError(`${object} is missing, so this backup is not whole.`);
    if (digestOf(sealed) !== sha256) throw new DamagedObject(object, 'its checksum is another.');
    const content = await unseal(this.key, object, sealed);
    if (content.length !== bytes) throw new DamagedObject(object, 'its length is another.');
    return content;
  }

  /** Returns a part of an earlier attempt only if it is intact. */
  private async findLeftover(name: string): Promise<BackupPart | undefined> {
    const object = this.objectOf(name);
    if (!this.leftoverObjects.has(object)) return undefined;
    try {
      const sealed = await this.target.get(object);
      if (sealed === null) return undefined;
      const content = await unseal(this.key, object, sealed);
      if (this.key.nameOf(content) !== name) return undefined;
      this.reusedParts += 1;
      return this.remember(name, content, sealed);
    } catch (error) {
      if (error instanceof BackupError) return undefined;
      throw error;
    }
  }

  private remember(name: string, content: Buffer, sealed: Buffer): BackupPart {
    const part = { name, bytes: content.length, storedBytes: sealed.length, sha256: digestOf(sealed) };
    this.stored.set(name, part);
    return part;
  }

  private objectOf(name: string): string {
    return `${this.folder}parts/${name}`;
  }
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
