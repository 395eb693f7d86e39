import { BACKUPS, type Manifest } from './manifest';
import { readInventory } from './backups';
import type { BackupKey } from './seal/backup-key';
import { timeOf, MAX_UNFINISHED_MS } from './take/take-backup';
import type { BackupTarget } from './target/backup-target';
import { isSegment, readLsn, segmentAt, timelineOf } from './wal/segments';
import { WAL } from './wal/wal-archive';

export interface PruneOptions {
  readonly target: BackupTarget;
  readonly key: BackupKey;
  /** Retention in ms: every moment within it can still be restored afterwards. */
  readonly keepMs: number;
  readonly now: Date;
  readonly isTrial?: boolean;
}

export interface PruneResult {
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
}: PruneOptions): Promise<PruneResult> {
  const { backups, unfinished, unreadable } = await readInventory(target, key);
  const oldest = now.getTime() - keepMs;
  const manifests = backups.map(({ manifest }) => manifest);
  // The newest backup from before the retention covers its first moments; the newest verified one is known to work.
  const base = manifests.findLast(({ endedAt }) => Date.parse(endedAt) <= oldest);
  const newestVerified = backups.findLast(({ verified }) => verified !== null)?.manifest;
  const kept = manifests.filter(
    (manifest) =>
      Date.parse(manifest.endedAt) > oldest ||
      manifest === base ||
      manifest === newestVerified ||
      manifest === manifests.at(-1),
  );
  const [expired, recentUnreadable] = [true, false].map((isOld) =>
    [...unreadable.keys()].filter((id) => timeOf(id) <= oldest === isOld),
  ) as [string[], string[]];
  const removed = [
    ...manifests.filter((manifest) => !kept.includes(manifest)).map(({ id }) => id),
    ...expired,
  ];
  const abandoned = [...unfinished.keys()].filter((id) => !(now.getTime() - timeOf(id) < MAX_UNFINISHED_MS));
  // A backup whose manifest is repaired, or read with its own key, needs a log that no other backup needs.
  const log = recentUnreadable.length > 0 ? [] : await target.list(WAL);
  const segments = log.map(({ name }) => name).filter((name) => isUnneeded(name, kept));
  if (!isTrial) {
    for (const id of [...removed, ...abandoned]) await removeBackup(target, id);
    for (const name of segments) await target.delete(name);
  }
  return {
    backups: removed,
    kept: kept.map(({ id }) => id),
    segments: segments.length,
    unfinished: abandoned,
  };
}

/** Removes the manifest first, so that the rest of an interrupted removal is not a backup. */
async function removeBackup(target: BackupTarget, id: string): Promise<void> {
  const names = (await target.list(`${BACKUPS}${id}/`)).map(({ name }) => name);
  const isManifest = (name: string): boolean => name.endsWith('/manifest.json');
  for (const name of [...names.filter(isManifest), ...names.filter((each) => !isManifest(each))])
    await target.delete(name);
}

/** Returns whether no kept backup starts at or before this segment on its timeline. */
function isUnneeded(object: string, kept: readonly Manifest[]): boolean {
  const name = object.slice(object.lastIndexOf('/') + 1);
  const clusters = kept.flatMap(({ cluster }) => cluster ?? []);
  // Without a backup of a database, nothing determines what can be removed.
  if (!isSegment(name) || clusters.length === 0) return false;
  const sameTimeline = clusters.filter(({ timeline }) => timeline === timelineOf(name));
  if (sameTimeline.length === 0) return clusters.every(({ timeline }) => timeline > timelineOf(name));
  return sameTimeline.every(
    ({ timeline, startLsn, segmentBytes }) => name < segmentAt(timeline, readLsn(startLsn), segmentBytes),
  );
}
