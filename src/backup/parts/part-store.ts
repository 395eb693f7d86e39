import { createHash } from 'node:crypto';
import { BackupError, DamagedObject } from '../backup-error';
import type { BackupKey } from '../seal/backup-key';
import { seal, unseal } from '../seal/sealed-object';
import type { BackupTarget } from '../target/backup-target';

/** A piece of a file, in an object of its own. */
export interface Part {
  readonly name: string;
  readonly bytes: number;
  readonly storedBytes: number;
  /** It covers the object as it is stored, so that a copy can be checked without the key. */
  readonly sha256: string;
}

/** The objects of one backup. */
export class PartStore {
  /** So many parts of an earlier try were found whole and were not sent again. */
  reused = 0;
  sentBytes = 0;
  private readonly known = new Map<string, Part>();

  constructor(
    private readonly target: BackupTarget,
    private readonly key: BackupKey,
    private readonly folder: string,
    /** Left there by a try that was broken off. */
    private readonly left: ReadonlySet<string> = new Set(),
  ) {}

  get names(): ReadonlySet<string> {
    return new Set([...this.known.keys()].map((name) => this.objectOf(name)));
  }

  async put(content: Buffer): Promise<Part> {
    const name = this.key.nameOf(content);
    const known = this.known.get(name) ?? (await this.leftBehind(name));
    if (known !== undefined) return known;
    const object = this.objectOf(name);
    const sealed = await seal(this.key, object, content);
    await this.target.put(object, sealed);
    this.sentBytes += sealed.length;
    return this.keep(name, content, sealed);
  }

  async get({ name, bytes, sha256 }: Part): Promise<Buffer> {
    const object = this.objectOf(name);
    const sealed = await this.target.get(object);
    if (sealed === null) throw new BackupError(`${object} is missing, so this backup is not whole.`);
    if (digestOf(sealed) !== sha256) throw new DamagedObject(object, 'its checksum is another.');
    const content = await unseal(this.key, object, sealed);
    if (content.length !== bytes) throw new DamagedObject(object, 'its length is another.');
    return content;
  }

  /** A part of an earlier try counts only when it is whole. */
  private async leftBehind(name: string): Promise<Part | undefined> {
    const object = this.objectOf(name);
    if (!this.left.has(object)) return undefined;
    try {
      const sealed = await this.target.get(object);
      if (sealed === null) return undefined;
      const content = await unseal(this.key, object, sealed);
      if (this.key.nameOf(content) !== name) return undefined;
      this.reused += 1;
      return this.keep(name, content, sealed);
    } catch (error) {
      if (error instanceof BackupError) return undefined;
      throw error;
    }
  }

  private keep(name: string, content: Buffer, sealed: Buffer): Part {
    const part = { name, bytes: content.length, storedBytes: sealed.length, sha256: digestOf(sealed) };
    this.known.set(name, part);
    return part;
  }

  private objectOf(name: string): string {
    return `${this.folder}parts/${name}`;
  }
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
