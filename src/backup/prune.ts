import { BACKUPS, type Manifest } from './manifest';
import { inventory } from './backups';
import type { BackupKey } from './seal/backup-key';
import { timeOf, UNFINISHED_MS } from './take/take-backup';
import type { BackupTarget } from './target/backup-target';
import { isSegment, readLsn, segmentAt, timelineOf } from './wal/segments';
import { WAL } from './wal/wal-archive';

export interface PruneOptions {
  readonly target: BackupTarget;
  readonly key: BackupKey;
  /** Any moment of this time can still be restored afterwards. */
  readonly keepMs: number;
  readonly now: Date;
  /** Only says what would go. */
  readonly isTrial?: boolean;
}

export interface Pruned {
  readonly backups: readonly string[];
  readonly kept: readonly string[];
  readonly segments: number;
  readonly unfinished: readonly string[];
}

/** Removes backups that no moment of the retention needs, then the log that no backup needs. */
export async function pruneBackups({
  target,
  key,
  keepMs,
  now,
  isTrial = false,
}: PruneOptions): Promise<Pruned> {
  const { backups, unfinished, unreadable } = await inventory(target, key);
  const oldest = now.getTime() - keepMs;
  const whole = backups.map(({ manifest }) => manifest);
  // The newest from before the retention leads to its first moments; the newest verified one is what is known to work.
  const base = whole.findLast(({ endedAt }) => Date.parse(endedAt) <= oldest);
  const proven = backups.findLast(({ verified }) => verified !== null)?.manifest;
  const kept = whole.filter(
    (manifest) =>
      Date.parse(manifest.endedAt) > oldest ||
      manifest === base ||
      manifest === proven ||
      manifest === whole.at(-1),
  );
  const [expired, spoilt] = [true, false].map((isOld) =>
    [...unreadable.keys()].filter((id) => timeOf(id) <= oldest === isOld),
  ) as [string[], string[]];
  const gone = [...whole.filter((manifest) => !kept.includes(manifest)).map(({ id }) => id), ...expired];
  const given = [...unfinished.keys()].filter((id) => !(now.getTime() - timeOf(id) < UNFINISHED_MS));
  // A backup whose manifest is repaired, or read with its own key, needs a log that nothing else needs.
  const log = spoilt.length > 0 ? [] : await target.list(WAL);
  const segments = log.map(({ name }) => name).filter((name) => isSpent(name, kept));
  if (!isTrial) {
    for (const id of [...gone, ...given]) await removeBackup(target, id);
    for (const name of segments) await target.delete(name);
  }
  return { backups: gone, kept: kept.map(({ id }) => id), segments: segments.length, unfinished: given };
}

/** The manifest goes first: what is left of a removal that is broken off is no backup. */
async function removeBackup(target: BackupTarget, id: string): Promise<void> {
  const names = (await target.list(`${BACKUPS}${id}/`)).map(({ name }) => name);
  const isManifest = (name: string): boolean => name.endsWith('/manifest.json');
  for (const name of [...names.filter(isManifest), ...names.filter((each) => !isManifest(each))])
    await target.delete(name);
}

/** No backup that is kept begins at or before this segment on its timeline. */
function isSpent(object: string, kept: readonly Manifest[]): boolean {
  const name = object.slice(object.lastIndexOf('/') + 1);
  const clusters = kept.flatMap(({ cluster }) => cluster ?? []);
  // Without a backup of a database nothing says what may go.
  if (!isSegment(name) || clusters.length === 0) return false;
  const alike = clusters.filter(({ timeline }) => timeline === timelineOf(name));
  if (alike.length === 0) return clusters.every(({ timeline }) => timeline > timelineOf(name));
  return alike.every(
    ({ timeline, startLsn, segmentBytes }) => name < segmentAt(timeline, readLsn(startLsn), segmentBytes),
  );
}
