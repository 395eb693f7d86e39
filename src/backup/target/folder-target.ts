import { randomBytes } from 'node:crypto';
import { access, constants, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errorCode } from '../../platform';
import { BackupError, DamagedObject } from '../backup-error';
import type { BackupTarget, StoredObject } from './backup-target';

const DRAFT = '.draft-';

export class FolderTarget implements BackupTarget {
  readonly location: string;

  constructor(folder: string) {
    this.location = resolve(folder);
  }

  /** A missing folder might be a disk that is not mounted, so it is not created. */
  async open(): Promise<void> {
    const stats = await stat(this.location).catch(() => null);
    if (stats?.isDirectory() === true) return;
    throw new BackupError(
      `The folder for backups ${this.location} is not there. Mount its disk, or make it with mkdir.`,
    );
  }

  async put(name: string, bytes: Buffer): Promise<void> {
    const path = this.pathOf(name);
    const folder = dirname(path);
    await this.open();
    await this.makeFolder(folder);
    const draft = join(folder, `${DRAFT}${process.pid}-${randomBytes(6).toString('hex')}`);
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw explainError(error, this.location);
    }
    await syncFolder(folder);
  }

  /** Node reports ENOENT for a read-only file system when it creates more than one folder. */
  private async makeFolder(folder: string): Promise<void> {
    try {
      await access(this.location, constants.W_OK);
      await mkdir(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw explainError(error, this.location);
    }
  }

  async get(name: string): Promise<Buffer | null> {
    try {
      // Without O_NONBLOCK, opening a FIFO waits for a writer.
      const file = await open(this.pathOf(name), constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        if (!(await file.stat()).isFile()) throw new DamagedObject(name, 'it is not a file.');
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null;
      if (errorCode(error) === 'EIO')
        throw new DamagedObject(name, 'its disk cannot read it.', { cause: error });
      throw explainError(error, this.location);
    }
  }

  async list(prefix: string): Promise<StoredObject[]> {
    await this.open();
    const objects: StoredObject[] = [];
    await this.walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix, objects);
    return objects.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async delete(name: string): Promise<void> {
    const path = this.pathOf(name);
    await rm(path, { force: true });
    // A folder that is not empty stays.
    for (let folder = dirname(path); folder !== this.location; folder = dirname(folder))
      if (
        !(await rmdir(folder).then(
          () => true,
          () => false,
        ))
      )
        return;
  }

  close(): void {
    // A folder has no connections.
  }

  private pathOf(name: string): string {
    return join(this.location, ...name.split('/'));
  }

  private async walk(folder: string, prefix: string, objects: StoredObject[]): Promise<void> {
    const entries = await readdir(join(this.location, folder), { withFileTypes: true }).catch(
      (error: unknown) => {
        if (errorCode(error) === 'ENOENT') return [];
        throw explainError(error, this.location);
      },
    );
    for (const entry of entries) {
      const name = `${folder}${entry.name}`;
      if (entry.isDirectory()) {
        if (`${name}/`.startsWith(prefix) || prefix.startsWith(`${name}/`))
          await this.walk(`${name}/`, prefix, objects);
        continue;
      }
      if (!name.startsWith(prefix) || entry.name.startsWith(DRAFT)) continue;
      const stats = await stat(join(this.location, name)).catch(() => null);
      if (stats !== null) objects.push({ name, bytes: stats.size });
    }
  }
}

/** The name of a file survives a power failure once its folder was synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function explainError(error: unknown, location: string): Error {
  switch (errorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new BackupError(
        `The disk of ${location} is full. Make room there, or prune backups (backup:prune).`,
        { cause: error },
      );
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new BackupError(`${location} may not be used: ${errorCode(error)}. Give this user the folder.`, {
        cause: error,
      });
    default:
      return error as Error;
  }
}
