export interface StoredObject {
  readonly name: string;
  readonly bytes: number;
}

/** A place for backups: names with slashes, and bytes. An object is there whole or not at all. */
export interface BackupTarget {
  /** Told to operators; it holds no secret. */
  readonly place: string;
  /** Makes sure that the place is there. */
  open(): Promise<void>;
  /** When this settles, the object outlives a power cut. */
  put(name: string, bytes: Buffer): Promise<void>;
  /** Null: there is no such object. */
  get(name: string): Promise<Buffer | null>;
  /** All objects whose name begins so, in the order of their names. */
  list(prefix: string): Promise<StoredObject[]>;
  /** An object that is not there is no error. */
  delete(name: string): Promise<void>;
  /** Ends its connections. */
  close(): void;
}
