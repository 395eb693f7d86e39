import { BackupError } from './backup-error';
import { BACKUPS, folderOf, type Manifest, readManifest, readVerified, type VerifiedMark } from './manifest';
import type { BackupKey } from './seal/backup-key';
import type { BackupTarget } from './target/backup-target';
import { type Coverage, WalArchive } from './wal/wal-archive';

interface KnownBackup {
  readonly manifest: Manifest;
  readonly verified: VerifiedMark | null;
}

/** What a target has: whole backups, the newest last, and tries that were broken off. */
export interface Inventory {
  readonly backups: readonly KnownBackup[];
  /** Objects of backups without a manifest, by the backup's id. */
  readonly unfinished: ReadonlyMap<string, readonly string[]>;
}

export async function inventory(target: BackupTarget, key: BackupKey): Promise<Inventory> {
  await target.open();
  const all = Map.groupBy(
    (await target.list(BACKUPS)).map(({ name }) => name),
    (name) => name.slice(BACKUPS.length).split('/')[0] ?? '',
  );
  const backups: KnownBackup[] = [];
  const unfinished = new Map<string, readonly string[]>();
  for (const [id, names] of all) {
    if (!names.includes(`${folderOf(id)}manifest.json`)) unfinished.set(id, names);
    else
      backups.push({
        manifest: await readManifest(target, key, id),
        verified: names.includes(`${folderOf(id)}verified.json`) ? await readVerified(target, key, id) : null,
      });
  }
  backups.sort((one, other) => (one.manifest.endedAt < other.manifest.endedAt ? -1 : 1));
  return { backups, unfinished };
}

export interface Choice {
  readonly manifest: Manifest;
  /** Null: the backup stands alone. */
  readonly coverage: Coverage | null;
}

/** The backup that leads to a moment with the least log to replay; the newest without one. Refuses what is not covered. */
export async function chooseBackup(
  target: BackupTarget,
  key: BackupKey,
  wish: { readonly at?: Date; readonly id?: string },
): Promise<Choice> {
  const { backups } = await inventory(target, key);
  const [first] = backups;
  if (first === undefined) throw new BackupError(`There is no backup in ${target.place}.`);
  const known = wish.id === undefined ? backups : backups.filter(({ manifest }) => manifest.id === wish.id);
  if (known.length === 0) throw new BackupError(`There is no backup ${wish.id} in ${target.place}.`);
  const { at } = wish;
  const fitting = at === undefined ? known : known.filter(({ manifest }) => new Date(manifest.endedAt) <= at);
  const manifest = fitting.at(-1)?.manifest;
  if (manifest === undefined)
    throw new BackupError(
      `${at?.toISOString()} lies before the end of the first backup: the earliest moment is ${known[0]!.manifest.endedAt}.`,
    );
  const coverage = await coverageOf(target, key, manifest);
  refuseUncovered(manifest, coverage, at);
  return { manifest, coverage };
}

export function coverageOf(
  target: BackupTarget,
  key: BackupKey,
  manifest: Manifest,
): Promise<Coverage | null> {
  if (manifest.cluster === null) return Promise.resolve(null);
  return new WalArchive(target, key).coverage(manifest.cluster, new Date(manifest.endedAt));
}

function refuseUncovered(manifest: Manifest, coverage: Coverage | null, at: Date | undefined): void {
  const until = coverage?.until ?? new Date(manifest.endedAt);
  const hole =
    coverage?.hole === null || coverage === null
      ? ''
      : ` The segment ${coverage.hole} of the log is missing, and later ones are there.`;
  if (at !== undefined && at > until)
    throw new BackupError(
      `${at.toISOString()} is not covered: the archive reaches to ${until.toISOString()} from the backup ${manifest.id}.${hole}`,
    );
  if (at === undefined && hole !== '')
    throw new BackupError(
      `The newest moment cannot be reached.${hole} Restore to the last one before the hole with --at ${until.toISOString()}.`,
    );
}
