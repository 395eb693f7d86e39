import { chooseBackup, readInventory } from '../../../src/backup/backups';
import { type Manifest, markVerified, writeManifest } from '../../../src/backup/manifest';
import { BackupKey } from '../../../src/backup/seal/backup-key';
import { WalArchive } from '../../../src/backup/wal/wal-archive';
import { pruneBackups } from '../../../src/backup/prune';
import { MemoryTarget } from './memory-target';

/*
 * "One unreadable newest log segment (cut in half, one bit flipped) makes the complete target useless …
 * A damaged segment is a gap like a missing one; everything before it can be listed, verified and restored."
 * Requirement: "a property test over damaged, missing, truncated and reordered objects at every position: everything
 * before the damage can be listed, verified and restored, and the declared moment is never later than the last
 * contained transaction." A segment holds the transactions of one minute here, so what is contained is known.
 */
const key = new BackupKey('a key of the tests, long enough for anybody');

const FIRST = 2;
const LAST = 9;
const numbers = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index);
const segmentOf = (number: number): string => `00000001000000000000000${number}`;
const objectOf = (number: number): string => `wal/00000001/${segmentOf(number)}`;
/** The last transaction of a segment. */
const minute = (number: number): Date => new Date(Date.UTC(2026, 10, 1, 0, number));

const manifestAt = (id: string, number: number): Manifest => ({
  format: 1,
  id,
  product: '1.0.0',
  startedAt: minute(number - 1).toISOString(),
  completeUntil: minute(number).toISOString(),
  endedAt: minute(number).toISOString(),
  keyFingerprint: key.fingerprint,
  cluster: {
    postgres: '18.4',
    systemIdentifier: '1',
    timeline: 1,
    startLsn: `0/${number}000028`,
    endLsn: `0/${number}000150`,
    segmentBytes: 16 * 1024 * 1024,
    migrations: [],
    base: { path: 'base.tar', bytes: 0, parts: [] },
    fileList: { path: 'backup_manifest', bytes: 0, parts: [] },
  },
  files: [],
});
/** The base backup contains the segments in which it was taken, so their copies in the archive are spare. */
const older = manifestAt('20261101T000200Z-aaaaaa', FIRST);
const newer = manifestAt('20261101T000500Z-bbbbbb', 5);

async function makeArchive(): Promise<MemoryTarget> {
  const target = new MemoryTarget();
  const archive = new WalArchive(target, key);
  for (const manifest of [older, newer]) await writeManifest(target, key, manifest);
  for (const number of numbers)
    await archive.put(segmentOf(number), Buffer.from(`segment ${number}`), {
      coveredUntil: minute(number).toISOString(),
    });
  return target;
}

type Harm = (target: MemoryTarget, object: string) => Promise<void>;
const rewriting =
  (change: (bytes: Buffer) => Buffer): Harm =>
  async (target, object) =>
    target.put(object, change(Buffer.from((await target.get(object))!)));
const flippedAt = (position: number): Harm =>
  rewriting((bytes) => {
    bytes[Math.floor(position * (bytes.length - 1))]! ^= 1;
    return bytes;
  });
const flippedByte = (index: number): Harm =>
  rewriting((bytes) => {
    bytes[index]! ^= 1;
    return bytes;
  });

const harms: Readonly<Record<string, Harm>> = {
  missing: (target, object) => target.delete(object),
  empty: rewriting(() => Buffer.alloc(0)),
  'cut in half': rewriting((bytes) => bytes.subarray(0, bytes.length >> 1)),
  'one byte short': rewriting((bytes) => bytes.subarray(0, -1)),
  'a bit flipped at its start': flippedAt(0),
  'a bit flipped in the fingerprint of the key': flippedByte(9),
  'a bit flipped in the middle': flippedAt(0.5),
  'a bit flipped at its end': flippedAt(1),
  'swapped with its neighbour': async (target, object) => {
    const number = Number(object.slice(-1));
    const neighbour = objectOf(number === LAST ? number - 1 : number + 1);
    const [one, other] = [(await target.get(object))!, (await target.get(neighbour))!];
    await target.put(object, other);
    await target.put(neighbour, one);
  },
};

/** The first segment that cannot be read, or the one after the last. */
const firstHarmed = (harm: string, number: number): number =>
  harm === 'swapped with its neighbour' && number === LAST ? LAST - 1 : number;
const secondHarmed = (harm: string, number: number): number =>
  harm === 'swapped with its neighbour' ? (number === LAST ? LAST : number + 1) : number;

describe.each(Object.keys(harms))('a segment of the log that is %s', (harm) => {
  test.each(numbers)(
    'is a gap at position %i: what comes before it can be listed and restored',
    async (number) => {
      const target = await makeArchive();
      await harms[harm]!(target, objectOf(number));
      const damaged = [firstHarmed(harm, number), secondHarmed(harm, number)];
      const listed = await readInventory(target, key);
      expect(listed.backups.map(({ manifest }) => manifest.id)).toEqual([older.id, newer.id]);
      for (const [manifest, own] of [
        [older, FIRST],
        [newer, 5],
      ] as const) {
        // The segment in which the backup ended lies in the backup itself.
        const gap = damaged.find((each) => each > own) ?? null;
        const isTail = harm === 'missing' && gap === LAST;
        const last = gap === null ? LAST : gap - 1;
        const until = minute(last);
        const { coverage } = await chooseBackup(target, key, { id: manifest.id, at: until });
        expect(coverage?.until).toEqual(until);
        expect(coverage?.segments.every((name) => name <= segmentOf(last))).toBe(true);
        const beyond = chooseBackup(target, key, { id: manifest.id, at: new Date(until.getTime() + 1) });
        await expect(beyond).rejects.toThrow(
          `is not covered: the archive reaches to ${until.toISOString()} from the backup ${manifest.id}`,
        );
        const newest = chooseBackup(target, key, { id: manifest.id });
        if (gap === null || isTail) expect((await newest).coverage?.until).toEqual(until);
        else
          await expect(newest).rejects.toThrow(
            new RegExp(
              `The segment ${segmentOf(gap)} of the log (is missing|is damaged|was made with another).*` +
                `The log is complete to ${until.toISOString()}`,
            ),
          );
      }
    },
  );
});

describe.each(['manifest.json', 'verified.json'])('an unreadable %s', (name) => {
  const spoil: Readonly<Record<string, Harm>> = {
    'cut in half': harms['cut in half']!,
    empty: harms['empty']!,
    'with a bit flipped': flippedAt(0.5),
    'of another backup': async (target, object) => {
      const other = object.replace(newer.id, older.id);
      await target.put(object, (await target.get(other))!);
    },
  };
  test.each(Object.keys(spoil))('%s leaves the other backups usable', async (harm) => {
    const target = await makeArchive();
    for (const { id } of [older, newer]) {
      const mark = { at: minute(LAST).toISOString(), moment: minute(LAST).toISOString() };
      await markVerified(target, key, id, mark);
    }
    await spoil[harm]!(target, `backups/${newer.id}/${name}`);
    const { backups, unreadable } = await readInventory(target, key);
    const chosen = await chooseBackup(target, key, {});
    expect(chosen.coverage?.until).toEqual(minute(LAST));
    if (name === 'verified.json') {
      expect(backups.map(({ verified }) => verified !== null)).toEqual([true, false]);
      return;
    }
    expect(backups.map(({ manifest }) => manifest.id)).toEqual([older.id]);
    expect(unreadable.get(newer.id)?.message).toContain('is damaged');
    expect(chosen.manifest.id).toBe(older.id);
  });
});

test('a damaged copy of a segment is replaced when the segment is shipped again', async () => {
  const target = await makeArchive();
  await harms['cut in half']!(target, objectOf(LAST));
  const facts = { coveredUntil: minute(LAST).toISOString() };
  const archive = new WalArchive(target, key);
  await archive.put(segmentOf(LAST), Buffer.from(`segment ${LAST}`), facts);
  expect((await chooseBackup(target, key, {})).coverage).toMatchObject({ until: minute(LAST), gap: null });
});

test('a backup that cannot be read keeps its log until its retention is over, and then goes', async () => {
  const target = await makeArchive();
  await harms['cut in half']!(target, `backups/${older.id}/manifest.json`);
  const prune = (now: Date): ReturnType<typeof pruneBackups> =>
    pruneBackups({ target, key, keepMs: 86_400_000, now });
  expect(await prune(minute(10))).toMatchObject({ backups: [], kept: [newer.id], segments: 0 });
  const later = new Date(minute(10).getTime() + 86_400_000);
  expect(await prune(later)).toMatchObject({ backups: [older.id], kept: [newer.id], segments: 3 });
  expect((await readInventory(target, key)).unreadable.size).toBe(0);
});

test('a target that was encrypted with another key is refused', async () => {
  const target = await makeArchive();
  const other = new BackupKey('another key of the tests, just as long as it');
  await expect(chooseBackup(target, other, {})).rejects.toThrow('was made with another BACKUP_KEY');
});

/*
 * "A backup of PostgreSQL 18 restored by a build with another major version ends in a raw FATAL; compare the
 * manifest's version first". Requirement: "Version check before any download."
 */
test.each(['17.6', '19.0'])('a backup of PostgreSQL %s is refused before any download', async (postgres) => {
  const target = new MemoryTarget();
  const manifest = { ...older, cluster: { ...older.cluster!, postgres } };
  await writeManifest(target, key, manifest);
  await new WalArchive(target, key).put(segmentOf(3), Buffer.from('segment 3'), { coveredUntil: null });
  target.reads.length = 0;
  await expect(chooseBackup(target, key, {})).rejects.toThrow(
    new RegExp(
      `The backup ${older.id} is of PostgreSQL ${postgres}, and this build has PostgreSQL 18\\.\\d+, which cannot read ` +
        `its files\\. Restore it with a build that has PostgreSQL ${parseInt(postgres, 10)}, .*"database:move"`,
    ),
  );
  expect(target.reads).toEqual([`backups/${older.id}/manifest.json`]);
});
