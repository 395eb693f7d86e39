import { MINUTE_MS } from '../../kernel';
import {
  ObjectStorage,
  type OutgoingClient,
  outgoingClient,
  type Settings,
  type StorageCredential,
  storageOrigin,
  type StoragePlace,
  StoreFault,
} from '../../platform';
import { BackupError } from '../backup-error';
import type { BackupTarget, StoredObject } from './backup-target';

/** Every object goes in one request. */
const WHOLE_BYTES = 64 * 1024 * 1024;
const DEADLINE_MS = 2 * MINUTE_MS;
const TRIES = 6;

/** A bucket of an S3-compatible store, or a part of one. */
export class S3Target implements BackupTarget {
  readonly place: string;
  private readonly client: OutgoingClient;
  private readonly storage: ObjectStorage;

  constructor(place: StoragePlace, credential: StorageCredential, settings: Settings) {
    this.place = `s3://${place.bucket}/${place.prefix}`;
    this.client = outgoingClient(settings, [storageOrigin(place)]);
    this.storage = new ObjectStorage(this.client, place, credential, {
      deadlineMs: DEADLINE_MS,
      tries: TRIES,
    });
  }

  /** Says at once where the bucket or the credential is wrong. */
  async open(): Promise<void> {
    await this.told(() => this.storage.head('backups/'));
  }

  async put(name: string, bytes: Buffer): Promise<void> {
    await this.told(() => this.storage.put(name, bytes, { partBytes: WHOLE_BYTES }));
  }

  get(name: string): Promise<Buffer | null> {
    return this.told(async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.read(name);
        } catch (error) {
          if (error instanceof StoreFault && error.status === 404 && error.code !== 'NoSuchBucket')
            return null;
          // A connection that broke before the first byte came is not taken up again by the client.
          if (error instanceof StoreFault || attempt === TRIES) throw error;
        }
      }
    });
  }

  list(prefix: string): Promise<StoredObject[]> {
    return this.told(async () => {
      const found: StoredObject[] = [];
      for await (const { name, bytes } of this.storage.list(prefix)) found.push({ name, bytes });
      return found;
    });
  }

  async delete(name: string): Promise<void> {
    await this.told(() => this.storage.delete(name));
  }

  close(): void {
    this.client.close();
  }

  private async read(name: string): Promise<Buffer> {
    const { body } = await this.storage.get(name);
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  }

  private async told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreFault)
        throw new BackupError(`${this.place}: ${error.message}.`, { cause: error });
      throw error;
    }
  }
}
