import { createHash, type Hash } from 'node:crypto';
import { parseJsonText } from '../../kernel';
import { BackupError } from '../backup-error';
import type { TarEntry } from './tar-reader';

interface ListedFile {
  readonly Path?: string;
  readonly 'Encoded-Path'?: string;
  readonly Size: number;
  readonly Checksum: string;
}

/** https://www.postgresql.org/docs/18/backup-manifest-format.html: what a base backup has to consist of. */
interface FileListContent {
  readonly Files: readonly ListedFile[];
  readonly 'Manifest-Checksum': string;
}

/** Compares the files of a base backup, as they pass by, with the list that the server made of them. */
export class FileCheck {
  private readonly seen = new Map<string, { bytes: number; digest: string }>();
  private current: { path: string; bytes: number; hash: Hash } | undefined;

  begin({ path, kind, bytes }: TarEntry): void {
    this.current = kind === 'file' ? { path, bytes, hash: createHash('sha256') } : undefined;
  }

  data(bytes: Buffer): void {
    this.current?.hash.update(bytes);
  }

  end(): void {
    if (this.current === undefined) return;
    const { path, bytes, hash } = this.current;
    this.seen.set(path, { bytes, digest: hash.digest('hex') });
    this.current = undefined;
  }

  /** The write-ahead log is not on the list: it has checksums of its own. */
  compare(list: Buffer): void {
    for (const { path, bytes, digest } of readFileList(list)) {
      const found = this.seen.get(path);
      if (found === undefined) throw new BackupError(`The base backup lacks the file ${path}.`);
      if (found.bytes !== bytes || found.digest !== digest)
        throw new BackupError(`The file ${path} of the base backup is damaged: its checksum is another.`);
      this.seen.delete(path);
    }
    const [stray] = [...this.seen.keys()].filter((path) => !path.startsWith('pg_wal/'));
    if (stray !== undefined)
      throw new BackupError(`The base backup has the file ${stray}, which is not on its list.`);
  }
}

function readFileList(list: Buffer): { path: string; bytes: number; digest: string }[] {
  const text = list.toString('utf8');
  const content = parseJsonText(text) as FileListContent;
  const own = text.slice(0, text.lastIndexOf('"Manifest-Checksum"'));
  if (createHash('sha256').update(own).digest('hex') !== content['Manifest-Checksum'])
    throw new BackupError('The list of files of the base backup is damaged.');
  return content.Files.map((file) => ({
    path: file.Path ?? Buffer.from(file['Encoded-Path'] ?? '', 'hex').toString('utf8'),
    bytes: file.Size,
    digest: file.Checksum,
  }));
}
