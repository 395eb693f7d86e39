import { MINUTE_MS } from '../../kernel';
import {
  ObjectStorage,
  type OutgoingClient,
  outgoingClient,
  type Settings,
  type StorageCredential,
  storageOrigin,
  type StorageLocation,
  StoreFault,
} from '../../platform';
import { BackupError } from '../backup-error';
import type { BackupTarget, StoredObject } from './backup-target';

/** Large enough to send every object in one request. */
const MAX_OBJECT_BYTES = 64 * 1024 * 1024;
const DEADLINE_MS = 2 * MINUTE_MS;
const MAX_ATTEMPTS = 6;

/** A bucket of an S3-compatible store, or a prefix of one. */
export class S3Target implements BackupTarget {
  readonly location: string;
  private readonly client: OutgoingClient;
  private readonly storage: ObjectStorage;

  constructor(place: StorageLocation, credential: StorageCredential, settings: Settings) {
    this.location = `s3://${place.bucket}/${place.prefix}`;
    this.client = outgoingClient(settings, [storageOrigin(place)]);
    this.storage = new ObjectStorage(this.client, place, credential, {
      deadlineMs: DEADLINE_MS,
      maxAttempts: MAX_ATTEMPTS,
    });
  }

  /** Throws immediately if the bucket or the credential is wrong. */
  async open(): Promise<void> {
    await this.withTargetErrors(() => this.storage.head('backups/'));
  }

  async put(name: string, bytes: Buffer): Promise<void> {
    await this.withTargetErrors(() => this.storage.put(name, bytes, { partBytes: MAX_OBJECT_BYTES }));
  }

  get(name: string): Promise<Buffer | null> {
    return this.withTargetErrors(async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.read(name);
        } catch (error) {
          if (error instanceof StoreFault && error.status === 404 && error.code !== 'NoSuchBucket')
            return null;
          // The client does not retry a connection that broke before the first byte.
          if (error instanceof StoreFault || attempt === MAX_ATTEMPTS) throw error;
        }
      }
    });
  }

  list(prefix: string): Promise<StoredObject[]> {
    return this.withTargetErrors(async () => {
      const objects: StoredObject[] = [];
      for await (const { name, bytes } of this.storage.list(prefix)) objects.push({ name, bytes });
      return objects;
    });
  }

  async delete(name: string): Promise<void> {
    await this.withTargetErrors(() => this.storage.delete(name));
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

  private async withTargetErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreFault)
        throw new BackupError(`${this.location}: ${error.message}.`, { cause: error });
      throw error;
    }
  }
}
