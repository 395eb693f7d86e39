import type { BackupTarget, StoredObject } from '../../../src/backup/target/backup-target';

/** Backup target in memory whose objects a test can damage. */
export class MemoryTarget implements BackupTarget {
  readonly location = 'memory';
  /** Names of the downloaded objects. */
  readonly reads: string[] = [];
  private readonly objects = new Map<string, Buffer>();

  open(): Promise<void> {
    return Promise.resolve();
  }

  put(name: string, bytes: Buffer): Promise<void> {
    this.objects.set(name, Buffer.from(bytes));
    return Promise.resolve();
  }

  get(name: string): Promise<Buffer | null> {
    this.reads.push(name);
    return Promise.resolve(this.objects.get(name) ?? null);
  }

  list(prefix: string): Promise<StoredObject[]> {
    const names = [...this.objects.keys()].filter((name) => name.startsWith(prefix)).sort();
    return Promise.resolve(names.map((name) => ({ name, bytes: this.objects.get(name)!.length })));
  }

  delete(name: string): Promise<void> {
    this.objects.delete(name);
    return Promise.resolve();
  }

  close(): void {}
}
