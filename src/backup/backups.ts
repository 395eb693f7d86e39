import { installedPostgresVersion, postgresMajorOf } from '../platform';
import { BackupError, UnreadableObject } from './backup-error';
import {
  BACKUPS,
  folderOf,
  type Manifest,
  momentOf,
  readManifest,
  readVerified,
  type VerifiedMark,
} from './manifest';
import type { BackupKey } from './seal/backup-key';
import type { BackupTarget } from './target/backup-target';
import { type Coverage, type ReadingDepth, WalArchive } from './wal/wal-archive';

interface StoredBackup {
  readonly manifest: Manifest;
  readonly verified: VerifiedMark | null;
}

/** Contents of a target: complete backups, the newest last, and interrupted attempts. */
export interface Inventory {
  readonly backups: readonly StoredBackup[];
  /** Objects of backups without a manifest, by the backup's id. */
  readonly unfinished: ReadonlyMap<string, readonly string[]>;
  /** Backups whose manifest is damaged or belongs to another key, by the backup's id. */
  readonly unreadable: ReadonlyMap<string, UnreadableObject>;
}

export async function readInventory(target: BackupTarget, key: BackupKey): Promise<Inventory> {
  await target.open();
  const namesById = Map.groupBy(
    (await target.list(BACKUPS)).map(({ name }) => name),
    (name) => name.slice(BACKUPS.length).split('/')[0] ?? '',
  );
  const backups: StoredBackup[] = [];
  const unfinished = new Map<string, readonly string[]>();
  const unreadable = new Map<string, UnreadableObject>();
  for (const [id, names] of namesById) {
    if (!names.includes(`${folderOf(id)}manifest.json`)) unfinished.set(id, names);
    else {
      const manifest = await orUnreadable(readManifest(target, key, id));
      if (manifest instanceof UnreadableObject) unreadable.set(id, manifest);
      else backups.push({ manifest, verified: await readVerifiedMark(target, key, id, names) });
    }
  }
  backups.sort((one, other) => (one.manifest.endedAt < other.manifest.endedAt ? -1 : 1));
  return { backups, unfinished, unreadable };
}

/** Treats an unreadable mark as none, so that the backup is verified again. */
async function readVerifiedMark(
  target: BackupTarget,
  key: BackupKey,
  id: string,
  names: readonly string[],
): Promise<VerifiedMark | null> {
  if (!names.includes(`${folderOf(id)}verified.json`)) return null;
  const mark = await orUnreadable(readVerified(target, key, id));
  return mark instanceof UnreadableObject ? null : mark;
}

const orUnreadable = <T>(pending: Promise<T>): Promise<T | UnreadableObject> =>
  pending.catch((error: unknown) => {
    if (error instanceof UnreadableObject) return error;
    throw error;
  });

export interface ChosenBackup {
  readonly manifest: Manifest;
  /** Null if no log follows the backup. */
  readonly coverage: Coverage | null;
  /** Moment at which the replay of the log ends; absent to replay everything. */
  readonly at?: Date;
}

/**
 * Chooses the backup that needs the least log to reach a moment, or the newest without one. Rejects moments that are
 * not covered and, without a moment, a log with a gap unless `allowsGap` is set.
 */
export async function chooseBackup(
  target: BackupTarget,
  key: BackupKey,
  options: { readonly at?: Date; readonly id?: string; readonly allowsGap?: boolean },
): Promise<ChosenBackup> {
  const { backups, unreadable } = await readInventory(target, key);
  const problem = options.id === undefined ? unreadable.values().next().value : unreadable.get(options.id);
  if (problem !== undefined && (options.id !== undefined || backups.length === 0)) throw problem;
  if (backups.length === 0) throw new BackupError(`There is no backup in ${target.location}.`);
  const candidates =
    options.id === undefined ? backups : backups.filter(({ manifest }) => manifest.id === options.id);
  if (candidates.length === 0)
    throw new BackupError(`There is no backup ${options.id} in ${target.location}.`);
  const { at } = options;
  const earlier =
    at === undefined ? candidates : candidates.filter(({ manifest }) => new Date(manifest.endedAt) <= at);
  const manifest = earlier.at(-1)?.manifest;
  requireSamePostgres(manifest ?? candidates[0]!.manifest);
  const coverage =
    manifest === undefined ? null : await coverageOf(new WalArchive(target, key), manifest, 'all');
  const isCovered =
    manifest !== undefined && (at === undefined || at <= (coverage?.until ?? momentOf(manifest)));
  const withoutLog = isCovered ? undefined : backupAt(candidates, at);
  if (withoutLog !== undefined) return withoutLog;
  if (manifest === undefined)
    throw new BackupError(
      `${at?.toISOString()} lies before the end of the first backup: the earliest moment is ${candidates[0]!.manifest.endedAt}.`,
    );
  requireCovered(manifest, coverage, options);
  return { manifest, coverage, ...(at === undefined ? {} : { at }) };
}

/** Rejects a backup of another major version before its files are unpacked, because the server could not read them. */
function requireSamePostgres({ id, product, cluster }: Manifest): void {
  if (cluster === null) return;
  const installed = installedPostgresVersion();
  const major = postgresMajorOf(cluster.postgres);
  if (major === postgresMajorOf(installed)) return;
  throw new BackupError(
    `The backup ${id} is of PostgreSQL ${cluster.postgres}, and this build has PostgreSQL ${installed}, which cannot ` +
      `read its files. Restore it with a build that has PostgreSQL ${major}, such as version ${product}, and move the ` +
      'database with "database:move": docs/upgrade.md.',
  );
}

/** Finds a backup whose own moment serves a requested moment during its creation, without any log. */
function backupAt(backups: readonly StoredBackup[], at: Date | undefined): ChosenBackup | undefined {
  if (at === undefined) return undefined;
  const manifest = backups.findLast(
    (each) => momentOf(each.manifest) <= at && at < new Date(each.manifest.endedAt),
  )?.manifest;
  if (manifest === undefined) return undefined;
  return { manifest, coverage: { segments: [], until: momentOf(manifest), gap: null } };
}

export function coverageOf(
  archive: WalArchive,
  manifest: Manifest,
  depth: ReadingDepth,
): Promise<Coverage | null> {
  if (manifest.cluster === null) return Promise.resolve(null);
  return archive.coverage(manifest.cluster, momentOf(manifest), depth);
}

function requireCovered(
  manifest: Manifest,
  coverage: Coverage | null,
  { at, allowsGap = false }: { readonly at?: Date; readonly allowsGap?: boolean },
): void {
  const until = coverage?.until ?? momentOf(manifest);
  const gap = coverage?.gap ?? null;
  const reason = gap === null ? '' : ` The segment ${gap.segment} of the log ${gap.problem}.`;
  if (at !== undefined && until < new Date(manifest.endedAt))
    throw new BackupError(
      `${at.toISOString()} is not covered: the backup ${manifest.id} leads to one moment only, ${until.toISOString()}, ` +
        `as no log follows it. Leave out --at to restore it.${reason}`,
    );
  if (at !== undefined && at > until)
    throw new BackupError(
      `${at.toISOString()} is not covered: the archive reaches to ${until.toISOString()} from the backup ${manifest.id}.${reason}`,
    );
  if (at === undefined && gap !== null && !allowsGap)
    throw new BackupError(
      `The newest moment cannot be reached.${reason} The log is complete to ${until.toISOString()}: ` +
        `restore to it with --at ${until.toISOString()}.`,
    );
}
