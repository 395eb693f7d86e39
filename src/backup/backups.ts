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

interface KnownBackup {
  readonly manifest: Manifest;
  readonly verified: VerifiedMark | null;
}

/** What a target has: whole backups, the newest last, and tries that were broken off. */
export interface Inventory {
  readonly backups: readonly KnownBackup[];
  /** Objects of backups without a manifest, by the backup's id. */
  readonly unfinished: ReadonlyMap<string, readonly string[]>;
  /** Backups whose manifest is damaged or of another key, by the backup's id. */
  readonly unreadable: ReadonlyMap<string, UnreadableObject>;
}

export async function inventory(target: BackupTarget, key: BackupKey): Promise<Inventory> {
  await target.open();
  const all = Map.groupBy(
    (await target.list(BACKUPS)).map(({ name }) => name),
    (name) => name.slice(BACKUPS.length).split('/')[0] ?? '',
  );
  const backups: KnownBackup[] = [];
  const unfinished = new Map<string, readonly string[]>();
  const unreadable = new Map<string, UnreadableObject>();
  for (const [id, names] of all) {
    if (!names.includes(`${folderOf(id)}manifest.json`)) unfinished.set(id, names);
    else {
      const manifest = await readable(readManifest(target, key, id));
      if (manifest instanceof UnreadableObject) unreadable.set(id, manifest);
      else backups.push({ manifest, verified: await verifiedMark(target, key, id, names) });
    }
  }
  backups.sort((one, other) => (one.manifest.endedAt < other.manifest.endedAt ? -1 : 1));
  return { backups, unfinished, unreadable };
}

/** A mark that cannot be read counts as none: the backup is examined again. */
async function verifiedMark(
  target: BackupTarget,
  key: BackupKey,
  id: string,
  names: readonly string[],
): Promise<VerifiedMark | null> {
  if (!names.includes(`${folderOf(id)}verified.json`)) return null;
  const mark = await readable(readVerified(target, key, id));
  return mark instanceof UnreadableObject ? null : mark;
}

const readable = <T>(reading: Promise<T>): Promise<T | UnreadableObject> =>
  reading.catch((error: unknown) => {
    if (error instanceof UnreadableObject) return error;
    throw error;
  });

export interface Choice {
  readonly manifest: Manifest;
  /** Null: the backup stands alone. */
  readonly coverage: Coverage | null;
  /** End of the replay of the log; absent to replay all of it. */
  readonly at?: Date;
}

/**
 * The backup that leads to a moment with the least log to replay; the newest without one. Refuses what is not covered,
 * and without a moment a log with a gap, unless `takesGap` is set.
 */
export async function chooseBackup(
  target: BackupTarget,
  key: BackupKey,
  wish: { readonly at?: Date; readonly id?: string; readonly takesGap?: boolean },
): Promise<Choice> {
  const { backups, unreadable } = await inventory(target, key);
  const problem = wish.id === undefined ? unreadable.values().next().value : unreadable.get(wish.id);
  if (problem !== undefined && (wish.id !== undefined || backups.length === 0)) throw problem;
  if (backups.length === 0) throw new BackupError(`There is no backup in ${target.place}.`);
  const known = wish.id === undefined ? backups : backups.filter(({ manifest }) => manifest.id === wish.id);
  if (known.length === 0) throw new BackupError(`There is no backup ${wish.id} in ${target.place}.`);
  const { at } = wish;
  const fitting = at === undefined ? known : known.filter(({ manifest }) => new Date(manifest.endedAt) <= at);
  const manifest = fitting.at(-1)?.manifest;
  refuseOtherPostgres(manifest ?? known[0]!.manifest);
  const coverage =
    manifest === undefined ? null : await coverageOf(new WalArchive(target, key), manifest, 'all');
  const isCovered =
    manifest !== undefined && (at === undefined || at <= (coverage?.until ?? momentOf(manifest)));
  const alone = isCovered ? undefined : backupAt(known, at);
  if (alone !== undefined) return alone;
  if (manifest === undefined)
    throw new BackupError(
      `${at?.toISOString()} lies before the end of the first backup: the earliest moment is ${known[0]!.manifest.endedAt}.`,
    );
  refuseUncovered(manifest, coverage, wish);
  return { manifest, coverage, ...(at === undefined ? {} : { at }) };
}

/** Its files would be unpacked for nothing: the server of another major version cannot read them. */
function refuseOtherPostgres({ id, product, cluster }: Manifest): void {
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

/** A moment while a backup was taken can be that of the backup itself, which is restored without any log. */
function backupAt(known: readonly KnownBackup[], at: Date | undefined): Choice | undefined {
  if (at === undefined) return undefined;
  const manifest = known.findLast(
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

function refuseUncovered(
  manifest: Manifest,
  coverage: Coverage | null,
  { at, takesGap = false }: { readonly at?: Date; readonly takesGap?: boolean },
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
  if (at === undefined && gap !== null && !takesGap)
    throw new BackupError(
      `The newest moment cannot be reached.${reason} The log is complete to ${until.toISOString()}: ` +
        `restore to it with --at ${until.toISOString()}.`,
    );
}
