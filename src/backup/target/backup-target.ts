export interface StoredObject {
  readonly name: string;
  readonly bytes: number;
}

/** Storage for backups: names with slashes, and bytes. An object exists completely or not at all. */
export interface BackupTarget {
  /** Shown to operators; contains no secret. */
  readonly location: string;
  /** Throws if the target does not exist. */
  open(): Promise<void>;
  /** Once the promise resolves, the object survives a power failure. */
  put(name: string, bytes: Buffer): Promise<void>;
  /** Returns null if there is no such object. */
  get(name: string): Promise<Buffer | null>;
  list(prefix: string): Promise<StoredObject[]>;
  /** Deletes an object; a missing one is not an error. */
  delete(name: string): Promise<void>;
  close(): void;
}
