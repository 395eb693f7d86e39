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

/** Required contents of a base backup, see https://www.postgresql.org/docs/18/backup-manifest-format.html */
interface FileListContent {
  readonly Files: readonly ListedFile[];
  readonly 'Manifest-Checksum': string;
}

export class FileCheck {
  private readonly seen = new Map<string, { bytes: number; digest: string }>();
  private current: { path: string; bytes: number; hash: Hash } | undefined;

  start({ path, kind, bytes }: TarEntry): void {
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

  /** Ignores the write-ahead log, which is not listed and has checksums of its own. */
  compare(list: Buffer): void {
    for (const { path, bytes, digest } of readFileList(list)) {
      const file = this.seen.get(path);
      if (file === undefined) throw new BackupError(`The base backup lacks the file ${path}.`);
      if (file.bytes !== bytes || file.digest !== digest)
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
  const signedText = text.slice(0, text.lastIndexOf('"Manifest-Checksum"'));
  if (createHash('sha256').update(signedText).digest('hex') !== content['Manifest-Checksum'])
    throw new BackupError('The list of files of the base backup is damaged.');
  return content.Files.map((file) => ({
    path: file.Path ?? Buffer.from(file['Encoded-Path'] ?? '', 'hex').toString('utf8'),
    bytes: file.Size,
    digest: file.Checksum,
  }));
}
