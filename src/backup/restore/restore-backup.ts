import { mkdirSync, openSync, closeSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { claimForRestore, RestoredPostgres } from '../../platform';
import { BackupError, UnreadableObject } from '../backup-error';
import { type ClusterDescription, folderOf, type Manifest, momentOf } from '../manifest';
import { FileCheck } from '../parts/file-list';
import { PartStore } from '../parts/part-store';
import type { StoredFile } from '../parts/part-writer';
import { type TarEntry, TarReader, type TarVisitor } from '../parts/tar-reader';
import type { BackupKey } from '../seal/backup-key';
import type { BackupTarget } from '../target/backup-target';
import { PASSWORDS } from '../take/data-files';
import { isHistory, readLsn, segmentAt, timelineOf } from '../wal/segments';
import { type ArchivedSegment, type Coverage, WalArchive } from '../wal/wal-archive';

export interface RestoreProgress {
  readonly step: 'files' | 'database' | 'log';
  readonly doneBytes: number;
  readonly expectedBytes: number;
}

export interface RestoreOptions {
  readonly target: BackupTarget;
  readonly key: BackupKey;
  readonly into: string;
  readonly manifest: Manifest;
  readonly coverage: Coverage | null;
  /** Restores everything until this moment; undefined restores as much as there is. */
  readonly at?: Date;
  readonly progress?: (progress: RestoreProgress) => void;
  readonly signal?: AbortSignal;
}

export interface RestoreResult {
  /** Nothing committed before this moment is missing, and nothing committed after it is present. */
  readonly moment: Date;
  readonly lastTransaction: Date | null;
  readonly segments: number;
}

/** Marker in the data folder of a restored installation, which starts quarantined if the file exists. */
const RESTORED_FILE = 'restored.json';

export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { manifest } = options;
  const into = resolve(options.into);
  const claim = claimForRestore(into);
  if (claim === null) throw new BackupError(`${into} is not empty. Name an empty folder, or a new one.`);
  try {
    return manifest.cluster === null
      ? await restoreFilesOnly(options, into)
      : await restoreCluster(options, into, manifest.cluster);
  } finally {
    claim.release();
  }
}

/**
 * Restores only files, without quarantine: the database is elsewhere, and only its operator knows which moment it is
 * from.
 */
async function restoreFilesOnly(
  { target, key, manifest, progress }: RestoreOptions,
  into: string,
): Promise<RestoreResult> {
  const contents = await readContents(new PartStore(target, key, folderOf(manifest.id)), manifest);
  mkdirSync(into, { recursive: true, mode: 0o700 });
  writeFiles(contents, into);
  const doneBytes = contents.reduce((sum, { content }) => sum + content.length, 0);
  progress?.({ step: 'files', doneBytes, expectedBytes: doneBytes });
  return { moment: new Date(manifest.startedAt), lastTransaction: null, segments: 0 };
}

async function restoreCluster(
  options: RestoreOptions,
  into: string,
  cluster: ClusterDescription,
): Promise<RestoreResult> {
  const { target, key, manifest, at, progress, signal } = options;
  const store = new PartStore(target, key, folderOf(manifest.id));
  const postgres = await RestoredPostgres.prepare(into);
  const contents = await readContents(store, manifest);
  for (const { content } of contents.filter(({ path }) => path === PASSWORDS))
    postgres.writePasswords(content);
  writeFiles(
    contents.filter(({ path }) => path !== PASSWORDS),
    into,
  );
  await unpack(store, cluster, postgres, options);
  const archive = new WalArchive(target, key);
  const segments = new Set(options.coverage?.segments);
  let doneBytes = 0;
  const { lastTransaction, segments: replayedSegments } = await postgres.recover({
    ...(at === undefined ? {} : { until: at }),
    ...(signal === undefined ? {} : { signal }),
    async fetch(name) {
      if (isHistory(name)) return fetchHistory(archive, cluster, name);
      if (!segments.has(name)) return null;
      const segment = await fetchSegment(archive, cluster, name);
      if (segment === null) return null;
      doneBytes += segment.content.length;
      progress?.({ step: 'log', doneBytes, expectedBytes: segments.size * cluster.segmentBytes });
      return segment.content;
    },
  });
  const moment = at ?? latest([lastTransaction, options.coverage?.until ?? momentOf(manifest)]);
  const mark = {
    version: 1,
    backup: manifest.id,
    moment: moment.toISOString(),
    restoredAt: new Date().toISOString(),
  };
  writeFileSync(join(into, RESTORED_FILE), `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true });
  postgres.finish();
  return { moment, lastTransaction, segments: replayedSegments };
}

/** Returns null if the server uses its own copy, which came with the base backup. */
async function fetchSegment(
  archive: WalArchive,
  { timeline, endLsn, segmentBytes }: ClusterDescription,
  name: string,
): Promise<ArchivedSegment | null> {
  const isInBaseBackup = name <= segmentAt(timeline, readLsn(endLsn) - 1n, segmentBytes);
  try {
    const segment = await archive.get(name);
    if (segment !== null || isInBaseBackup) return segment;
    throw new BackupError(`The segment ${name} of the log is no longer in the target.`);
  } catch (error) {
    if (isInBaseBackup && error instanceof UnreadableObject) return null;
    throw error;
  }
}

/** The mere existence of this content tells the server that a timeline is in use. */
const TIMELINE_IN_USE = Buffer.from('# taken by another restore\n');

async function fetchHistory(
  archive: WalArchive,
  { timeline }: ClusterDescription,
  name: string,
): Promise<Buffer | null> {
  const history = await archive.get(name).catch((error: unknown) => {
    if (error instanceof UnreadableObject) return null;
    throw error;
  });
  if (history !== null) return history.content;
  // The history of the backup's own timeline came with the base backup.
  return timelineOf(name) > timeline && (await archive.hasTimeline(name)) ? TIMELINE_IN_USE : null;
}

const latest = (moments: readonly (Date | null)[]): Date =>
  new Date(Math.max(...moments.map((moment) => moment?.getTime() ?? 0)));

interface FileContent {
  readonly path: string;
  readonly content: Buffer;
}

async function readContents(store: PartStore, { files }: Manifest): Promise<FileContent[]> {
  const contents: FileContent[] = [];
  for (const file of files) contents.push({ path: file.path, content: await readContent(store, file) });
  return contents;
}

function writeFiles(contents: readonly FileContent[], into: string): void {
  for (const { path, content } of contents) {
    const file = join(into, ...path.split('/'));
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, content, { mode: 0o600, flush: true });
  }
}

async function readContent(store: PartStore, { parts }: StoredFile): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const part of parts) pieces.push(await store.get(part));
  return Buffer.concat(pieces);
}

async function unpack(
  store: PartStore,
  cluster: ClusterDescription,
  postgres: RestoredPostgres,
  { progress, signal }: RestoreOptions,
): Promise<void> {
  const check = new FileCheck();
  const tar = new TarReader(new ArchiveUnpacker(postgres, check));
  let doneBytes = 0;
  for (const part of cluster.base.parts) {
    signal?.throwIfAborted();
    await tar.write(await store.get(part));
    doneBytes += part.bytes;
    progress?.({ step: 'database', doneBytes, expectedBytes: cluster.base.bytes });
  }
  tar.finish();
  check.compare(await readContent(store, cluster.fileList));
}

class ArchiveUnpacker implements TarVisitor {
  private file: number | undefined;

  constructor(
    private readonly postgres: RestoredPostgres,
    private readonly check: FileCheck,
  ) {}

  start(entry: TarEntry): void {
    this.check.start(entry);
    if (entry.kind === 'folder') return this.postgres.createClusterFolder(entry.path);
    const path = this.postgres.path(entry.path);
    this.file = openSync(path, 'wx', 0o600);
    this.postgres.giveToServer(path);
  }

  data(bytes: Buffer): void {
    this.check.data(bytes);
    for (let at = 0; at < bytes.length;) at += writeSync(this.file!, bytes, at);
  }

  end(): void {
    this.check.end();
    // The server makes everything durable before it replays, because its state says that it was running.
    closeSync(this.file!);
  }
}
