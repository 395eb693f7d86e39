import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { DAY_MS } from '../../kernel';
import { takeBaseBackup } from '../../platform';
import { BackupError, DamagedObject } from '../backup-error';
import { readInventory } from '../backups';
import {
  BACKUPS,
  type ClusterDescription,
  folderOf,
  FORMAT,
  type Manifest,
  writeManifest,
} from '../manifest';
import { FileCheck } from '../parts/file-list';
import { PartStore } from '../parts/part-store';
import { PartWriter, type StoredFile } from '../parts/part-writer';
import { TarReader } from '../parts/tar-reader';
import type { BackupKey } from '../seal/backup-key';
import type { BackupTarget } from '../target/backup-target';
import { BackupClock } from './backup-clock';
import { dataFiles, passwordsIn } from './data-files';
import { readLsn } from '../wal/segments';

interface BackupProgress {
  readonly step: 'files' | 'database';
  readonly doneBytes: number;
  /** Expected size, as estimated by the server. */
  readonly expectedBytes: number;
}

export interface TakeOptions {
  readonly target: BackupTarget;
  readonly key: BackupKey;
  readonly dataFolder: string;
  readonly product: string;
  /** Embedded database; null if the database is backed up elsewhere. */
  readonly database: { readonly ownerUrl: string; readonly folder: string } | null;
  readonly bytesPerSecond: number;
  readonly progress?: (progress: BackupProgress) => void;
  readonly signal?: AbortSignal;
}

export interface BackupResult {
  readonly manifest: Manifest;
  readonly bytes: number;
  readonly sentBytes: number;
  readonly reusedParts: number;
}

/** How long an unfinished backup can be continued; after that, its parts are discarded. */
export const MAX_UNFINISHED_MS = DAY_MS;
/** Key of an advisory lock, an arbitrary constant: one backup at a time. */
const BACKUP_LOCK = 5_719_039;

export async function takeBackup(options: TakeOptions): Promise<BackupResult> {
  const { target, database } = options;
  await target.open();
  if (database === null) return takeParts(options, null);
  await requireSameInstallation(options, (await describeCluster(database.ownerUrl)).systemIdentifier);
  return withClient(database.ownerUrl, async (client) => {
    const { rows } = await client.query<{ free: boolean }>('SELECT pg_try_advisory_lock($1) AS free', [
      BACKUP_LOCK,
    ]);
    if (rows[0]?.free !== true)
      throw new BackupError('Another backup is being taken. Wait until it has ended.');
    return takeParts(options, new BackupClock(client));
  });
}

/**
 * Rejects a target with backups of another installation, because the newest backup of both would be restored as either.
 */
async function requireSameInstallation({ target, key }: TakeOptions, ownIdentifier: string): Promise<void> {
  const { backups, unreadable } = await readInventory(target, key);
  const foreign = [...unreadable.values()].find((problem) => !(problem instanceof DamagedObject));
  if (backups.length === 0 && foreign !== undefined) throw foreign;
  const newest = backups.at(-1)?.manifest;
  const foundIdentifier = newest?.cluster?.systemIdentifier;
  if (foundIdentifier !== undefined && foundIdentifier !== ownIdentifier)
    throw new BackupError(
      `${target.location} has backups of another installation: ${newest!.id} is of database ${foundIdentifier}, and this one is ` +
        `${ownIdentifier}. Name the data folder of the service, or give each a target of its own.`,
    );
}

async function takeParts(options: TakeOptions, clock: BackupClock | null): Promise<BackupResult> {
  const { target, key, product, database } = options;
  const startedAt = (await clock?.record()) ?? new Date();
  // Another node might be sending a backup: without a database nothing identifies an attempt's owner, and it is small.
  const { id, left } = database === null ? newAttempt(startedAt) : await resumeAttempt(target, startedAt);
  const store = new PartStore(target, key, folderOf(id), left);
  // Files come first: a journal's contents are in the database by its end, or are charged from the journal.
  const files = await storeFiles(store, options);
  const cluster =
    database === null || clock === null ? null : await storeCluster(store, id, database, clock, options);
  const endLsn = cluster === null ? 0n : readLsn(cluster.endLsn);
  const manifest: Manifest = {
    format: FORMAT,
    id,
    product,
    startedAt: startedAt.toISOString(),
    completeUntil: (clock?.before(endLsn) ?? startedAt).toISOString(),
    endedAt: (clock?.after(endLsn) ?? new Date()).toISOString(),
    keyFingerprint: key.fingerprint,
    cluster,
    files,
  };
  await writeManifest(target, key, manifest);
  const { names } = store;
  for (const leftover of left) if (!names.has(leftover)) await target.delete(leftover);
  return { manifest, bytes: bytesOf(manifest), sentBytes: store.sentBytes, reusedParts: store.reusedParts };
}

const bytesOf = ({ cluster, files }: Manifest): number =>
  [...files, ...(cluster === null ? [] : [cluster.base, cluster.fileList])].reduce(
    (sum, { bytes }) => sum + bytes,
    0,
  );

export const storedBytesOf = ({ cluster, files }: Manifest): number =>
  [...files, ...(cluster === null ? [] : [cluster.base, cluster.fileList])]
    .flatMap(({ parts }) => parts)
    .reduce((sum, { storedBytes }) => sum + storedBytes, 0);

interface BackupAttempt {
  readonly id: string;
  readonly left: ReadonlySet<string>;
}

const newAttempt = (now: Date): BackupAttempt => ({ id: idAt(now), left: new Set() });

/** Returns the newest interrupted attempt with its parts, or a new one. */
async function resumeAttempt(target: BackupTarget, now: Date): Promise<BackupAttempt> {
  const attempts = Map.groupBy(
    await target.list(BACKUPS),
    ({ name }) => name.slice(BACKUPS.length).split('/')[0]!,
  );
  const unfinished = [...attempts]
    .filter(([id, objects]) => !objects.some(({ name }) => name === `${folderOf(id)}manifest.json`))
    .filter(([id]) => now.getTime() - timeOf(id) < MAX_UNFINISHED_MS);
  const newest = unfinished.sort(([one], [other]) => (one < other ? 1 : -1))[0];
  if (newest === undefined) return newAttempt(now);
  return { id: newest[0], left: new Set(newest[1].map(({ name }) => name)) };
}

const idAt = (now: Date): string =>
  `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(3).toString('hex')}`;

export function timeOf(id: string): number {
  const [, year, month, day, hours, minutes, seconds] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-/.exec(id) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
}

async function storeFiles(
  store: PartStore,
  { dataFolder, database, signal, progress }: TakeOptions,
): Promise<StoredFile[]> {
  const stored: StoredFile[] = [];
  let doneBytes = 0;
  const passwords = database === null ? [] : [passwordsIn(database.folder)];
  for (const file of [...passwords, ...(await dataFiles(dataFolder))]) {
    signal?.throwIfAborted();
    const content = await file.read();
    if (content === null) continue;
    stored.push(await storeBytes(store, file.path, content));
    doneBytes += content.length;
    progress?.({ step: 'files', doneBytes, expectedBytes: 0 });
  }
  return stored;
}

async function storeBytes(store: PartStore, path: string, content: Buffer): Promise<StoredFile> {
  const writer = new PartWriter(store, path);
  await writer.write(content);
  return writer.end();
}

async function storeCluster(
  store: PartStore,
  id: string,
  database: NonNullable<TakeOptions['database']>,
  clock: BackupClock,
  { bytesPerSecond, progress, signal }: TakeOptions,
): Promise<ClusterDescription> {
  const writer = new PartWriter(store, 'base.tar');
  const check = new FileCheck();
  const tar = new TarReader(check);
  let doneBytes = 0;
  let expectedBytes = 0;
  const base = await takeBaseBackup(database.ownerUrl, {
    label: id,
    kilobytesPerSecond: Math.round(bytesPerSecond / 1024),
    expects: (bytes) => (expectedBytes = bytes),
    async write(bytes) {
      await clock.recordIfOld();
      if (tar.isBetween) await writer.suggestCut();
      await tar.write(bytes);
      await writer.write(bytes);
      doneBytes += bytes.length;
      progress?.({ step: 'database', doneBytes, expectedBytes });
    },
    ...(signal === undefined ? {} : { signal }),
  });
  // The first mark is behind the end of the backup, and nothing before the second was committed earlier.
  await clock.record();
  await clock.record();
  tar.finish();
  check.compare(base.manifest);
  const description = await describeCluster(database.ownerUrl);
  return {
    ...description,
    timeline: base.timeline,
    startLsn: base.startLsn,
    endLsn: base.endLsn,
    base: await writer.end(),
    fileList: await storeBytes(store, 'backup_manifest', base.manifest),
  };
}

async function describeCluster(
  ownerUrl: string,
): Promise<Pick<ClusterDescription, 'postgres' | 'systemIdentifier' | 'segmentBytes' | 'migrations'>> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{
      postgres: string;
      identifier: string;
      segment: number;
      migrations: string[];
    }>(
      `SELECT current_setting('server_version') AS postgres, system_identifier::text AS identifier,
              pg_size_bytes(current_setting('wal_segment_size'))::int AS segment,
              (SELECT coalesce(array_agg(name::text ORDER BY id), '{}') FROM migrations) AS migrations
         FROM pg_control_system()`,
    );
    const row = rows[0];
    if (row === undefined) throw new Error('the database says nothing of itself');
    const { postgres, identifier: systemIdentifier, segment: segmentBytes, migrations } = row;
    return { postgres, systemIdentifier, segmentBytes, migrations };
  });
}

async function withClient<T>(connectionString: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
