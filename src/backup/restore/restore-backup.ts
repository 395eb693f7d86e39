import { mkdirSync, openSync, closeSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { claimForRestore, RestoredPostgres } from '../../platform';
import { BackupError, UnreadableObject } from '../backup-error';
import { type ClusterFacts, folderOf, type Manifest, momentOf } from '../manifest';
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
  /** Everything until then; undefined: as much as there is. */
  readonly at?: Date;
  readonly progress?: (progress: RestoreProgress) => void;
  readonly signal?: AbortSignal;
}

export interface Restored {
  /** Nothing that was committed before it is missing, and nothing committed after it is there. */
  readonly moment: Date;
  readonly lastTransaction: Date | null;
  readonly segments: number;
}

/** It lies in the data folder of a restored installation, which starts quarantined where it is. */
const RESTORED_FILE = 'restored.json';

/** Unpacks a backup into an empty folder, and replays the log up to the moment. */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { manifest } = options;
  const into = resolve(options.into);
  const claim = claimForRestore(into);
  if (claim === null) throw new BackupError(`${into} is not empty. Name an empty folder, or a new one.`);
  try {
    return manifest.cluster === null
      ? await restoreFilesAlone(options, into)
      : await restoreCluster(options, into, manifest.cluster);
  } finally {
    claim.release();
  }
}

/** Its database is elsewhere, and only its operator knows of which moment that is: no quarantine begins by itself. */
async function restoreFilesAlone(
  { target, key, manifest, progress }: RestoreOptions,
  into: string,
): Promise<Restored> {
  const contents = await contentsOf(new PartStore(target, key, folderOf(manifest.id)), manifest);
  mkdirSync(into, { recursive: true, mode: 0o700 });
  writeFiles(contents, into);
  const doneBytes = contents.reduce((sum, { content }) => sum + content.length, 0);
  progress?.({ step: 'files', doneBytes, expectedBytes: doneBytes });
  return { moment: new Date(manifest.startedAt), lastTransaction: null, segments: 0 };
}

async function restoreCluster(
  options: RestoreOptions,
  into: string,
  cluster: ClusterFacts,
): Promise<Restored> {
  const { target, key, manifest, at, progress, signal } = options;
  const store = new PartStore(target, key, folderOf(manifest.id));
  const place = await RestoredPostgres.prepare(into);
  const contents = await contentsOf(store, manifest);
  for (const { content } of contents.filter(({ path }) => path === PASSWORDS)) place.writePasswords(content);
  writeFiles(
    contents.filter(({ path }) => path !== PASSWORDS),
    into,
  );
  await unpack(store, cluster, place, options);
  const archive = new WalArchive(target, key);
  const segments = new Set(options.coverage?.segments);
  let doneBytes = 0;
  const { lastTransaction, segments: given } = await place.recover({
    ...(at === undefined ? {} : { until: at }),
    ...(signal === undefined ? {} : { signal }),
    async fetch(name) {
      if (isHistory(name)) return historyFile(archive, cluster, name);
      if (!segments.has(name)) return null;
      const found = await segmentOf(archive, cluster, name);
      if (found === null) return null;
      doneBytes += found.content.length;
      progress?.({ step: 'log', doneBytes, expectedBytes: segments.size * cluster.segmentBytes });
      return found.content;
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
  place.finish();
  return { moment, lastTransaction, segments: given };
}

/** Null: the server takes its own copy, which came with the base backup. */
async function segmentOf(
  archive: WalArchive,
  { timeline, endLsn, segmentBytes }: ClusterFacts,
  name: string,
): Promise<ArchivedSegment | null> {
  const isSpare = name <= segmentAt(timeline, readLsn(endLsn) - 1n, segmentBytes);
  try {
    const segment = await archive.get(name);
    if (segment !== null || isSpare) return segment;
    throw new BackupError(`The segment ${name} of the log is no longer in the target.`);
  } catch (error) {
    if (isSpare && error instanceof UnreadableObject) return null;
    throw error;
  }
}

/** Its existence alone tells the server that a timeline is taken. */
const TAKEN = Buffer.from('# taken by another restore\n');

async function historyFile(
  archive: WalArchive,
  { timeline }: ClusterFacts,
  name: string,
): Promise<Buffer | null> {
  const history = await archive.get(name).catch((error: unknown) => {
    if (error instanceof UnreadableObject) return null;
    throw error;
  });
  if (history !== null) return history.content;
  // The history of the backup's own timeline came with the base backup.
  return timelineOf(name) > timeline && (await archive.hasTimeline(name)) ? TAKEN : null;
}

const latest = (moments: readonly (Date | null)[]): Date =>
  new Date(Math.max(...moments.map((moment) => moment?.getTime() ?? 0)));

interface FileContent {
  readonly path: string;
  readonly content: Buffer;
}

async function contentsOf(store: PartStore, { files }: Manifest): Promise<FileContent[]> {
  const contents: FileContent[] = [];
  for (const file of files) contents.push({ path: file.path, content: await contentOf(store, file) });
  return contents;
}

function writeFiles(contents: readonly FileContent[], into: string): void {
  for (const { path, content } of contents) {
    const file = join(into, ...path.split('/'));
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, content, { mode: 0o600, flush: true });
  }
}

async function contentOf(store: PartStore, { parts }: StoredFile): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const part of parts) pieces.push(await store.get(part));
  return Buffer.concat(pieces);
}

async function unpack(
  store: PartStore,
  cluster: ClusterFacts,
  place: RestoredPostgres,
  { progress, signal }: RestoreOptions,
): Promise<void> {
  const check = new FileCheck();
  const tar = new TarReader(new Unpacking(place, check));
  let doneBytes = 0;
  for (const part of cluster.base.parts) {
    signal?.throwIfAborted();
    await tar.write(await store.get(part));
    doneBytes += part.bytes;
    progress?.({ step: 'database', doneBytes, expectedBytes: cluster.base.bytes });
  }
  tar.finish();
  check.compare(await contentOf(store, cluster.fileList));
}

/** Writes the files of the archive, which the server owns. */
class Unpacking implements TarVisitor {
  private file: number | undefined;

  constructor(
    private readonly place: RestoredPostgres,
    private readonly check: FileCheck,
  ) {}

  begin(entry: TarEntry): void {
    this.check.begin(entry);
    if (entry.kind === 'folder') return this.place.folder(entry.path);
    const path = this.place.path(entry.path);
    this.file = openSync(path, 'wx', 0o600);
    this.place.own(path);
  }

  data(bytes: Buffer): void {
    this.check.data(bytes);
    for (let at = 0; at < bytes.length;) at += writeSync(this.file!, bytes, at);
  }

  end(): void {
    this.check.end();
    // The server makes all of it durable before it replays: its state says that it was running.
    closeSync(this.file!);
  }
}
