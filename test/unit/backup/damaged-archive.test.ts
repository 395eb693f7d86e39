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

const FIRST_SEGMENT = 2;
const LAST_SEGMENT = 9;
const segmentNumbers = Array.from(
  { length: LAST_SEGMENT - FIRST_SEGMENT + 1 },
  (_, index) => FIRST_SEGMENT + index,
);
const segmentOf = (number: number): string => `00000001000000000000000${number}`;
const objectOf = (number: number): string => `wal/00000001/${segmentOf(number)}`;
/** Time of the last transaction of a segment. */
const lastTransactionAt = (number: number): Date => new Date(Date.UTC(2026, 10, 1, 0, number));

const manifestAt = (id: string, number: number): Manifest => ({
  format: 1,
  id,
  product: '1.0.0',
  startedAt: lastTransactionAt(number - 1).toISOString(),
  completeUntil: lastTransactionAt(number).toISOString(),
  endedAt: lastTransactionAt(number).toISOString(),
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
/** The base backup contains the segments written while it was taken, so their archived copies are redundant. */
const olderManifest = manifestAt('20261101T000200Z-aaaaaa', FIRST_SEGMENT);
const newerManifest = manifestAt('20261101T000500Z-bbbbbb', 5);

async function makeArchive(): Promise<MemoryTarget> {
  const target = new MemoryTarget();
  const archive = new WalArchive(target, key);
  for (const manifest of [olderManifest, newerManifest]) await writeManifest(target, key, manifest);
  for (const number of segmentNumbers)
    await archive.put(segmentOf(number), Buffer.from(`segment ${number}`), {
      coveredUntil: lastTransactionAt(number).toISOString(),
    });
  return target;
}

type DamageFunction = (target: MemoryTarget, object: string) => Promise<void>;
const rewriteObject =
  (change: (bytes: Buffer) => Buffer): DamageFunction =>
  async (target, object) =>
    target.put(object, change(Buffer.from((await target.get(object))!)));
const flipBitAt = (position: number): DamageFunction =>
  rewriteObject((bytes) => {
    bytes[Math.floor(position * (bytes.length - 1))]! ^= 1;
    return bytes;
  });
const flipByte = (index: number): DamageFunction =>
  rewriteObject((bytes) => {
    bytes[index]! ^= 1;
    return bytes;
  });

const damageKinds: Readonly<Record<string, DamageFunction>> = {
  missing: (target, object) => target.delete(object),
  empty: rewriteObject(() => Buffer.alloc(0)),
  'cut in half': rewriteObject((bytes) => bytes.subarray(0, bytes.length >> 1)),
  'one byte short': rewriteObject((bytes) => bytes.subarray(0, -1)),
  'a bit flipped at its start': flipBitAt(0),
  'a bit flipped in the fingerprint of the key': flipByte(9),
  'a bit flipped in the middle': flipBitAt(0.5),
  'a bit flipped at its end': flipBitAt(1),
  'swapped with its neighbour': async (target, object) => {
    const number = Number(object.slice(-1));
    const neighbour = objectOf(number === LAST_SEGMENT ? number - 1 : number + 1);
    const [one, other] = [(await target.get(object))!, (await target.get(neighbour))!];
    await target.put(object, other);
    await target.put(neighbour, one);
  },
};

/** Returns the first unreadable segment, or the one after the last. */
const firstDamagedSegment = (harm: string, number: number): number =>
  harm === 'swapped with its neighbour' && number === LAST_SEGMENT ? LAST_SEGMENT - 1 : number;
const secondDamagedSegment = (harm: string, number: number): number =>
  harm === 'swapped with its neighbour' ? (number === LAST_SEGMENT ? LAST_SEGMENT : number + 1) : number;

describe.each(Object.keys(damageKinds))('Log segment that is %s', (harm) => {
  test.each(segmentNumbers)(
    'segment at position %i is a gap: everything before it can be listed and restored',
    async (number) => {
      const target = await makeArchive();
      await damageKinds[harm]!(target, objectOf(number));
      const damagedSegments = [firstDamagedSegment(harm, number), secondDamagedSegment(harm, number)];
      const listedBackups = await readInventory(target, key);
      expect(listedBackups.backups.map(({ manifest }) => manifest.id)).toEqual([
        olderManifest.id,
        newerManifest.id,
      ]);
      for (const [manifest, own] of [
        [olderManifest, FIRST_SEGMENT],
        [newerManifest, 5],
      ] as const) {
        // The segment in which the backup ended is contained in the backup.
        const gap = damagedSegments.find((each) => each > own) ?? null;
        const isTail = harm === 'missing' && gap === LAST_SEGMENT;
        const lastRestorable = gap === null ? LAST_SEGMENT : gap - 1;
        const restorableUntil = lastTransactionAt(lastRestorable);
        const { coverage } = await chooseBackup(target, key, { id: manifest.id, at: restorableUntil });
        expect(coverage?.until).toEqual(restorableUntil);
        expect(coverage?.segments.every((name) => name <= segmentOf(lastRestorable))).toBe(true);
        const laterChoice = chooseBackup(target, key, {
          id: manifest.id,
          at: new Date(restorableUntil.getTime() + 1),
        });
        await expect(laterChoice).rejects.toThrow(
          `is not covered: the archive reaches to ${restorableUntil.toISOString()} from the backup ${manifest.id}`,
        );
        const newestChoice = chooseBackup(target, key, { id: manifest.id });
        if (gap === null || isTail) expect((await newestChoice).coverage?.until).toEqual(restorableUntil);
        else
          await expect(newestChoice).rejects.toThrow(
            new RegExp(
              `The segment ${segmentOf(gap)} of the log (is missing|is damaged|was made with another).*` +
                `The log is complete to ${restorableUntil.toISOString()}`,
            ),
          );
      }
    },
  );
});

describe.each(['manifest.json', 'verified.json'])('Unreadable %s', (name) => {
  const damageActions: Readonly<Record<string, DamageFunction>> = {
    'cut in half': damageKinds['cut in half']!,
    empty: damageKinds['empty']!,
    'with a bit flipped': flipBitAt(0.5),
    'of another backup': async (target, object) => {
      const otherObject = object.replace(newerManifest.id, olderManifest.id);
      await target.put(object, (await target.get(otherObject))!);
    },
  };
  test.each(Object.keys(damageActions))('%s leaves the other backups usable', async (harm) => {
    const target = await makeArchive();
    for (const { id } of [olderManifest, newerManifest]) {
      const verification = {
        at: lastTransactionAt(LAST_SEGMENT).toISOString(),
        moment: lastTransactionAt(LAST_SEGMENT).toISOString(),
      };
      await markVerified(target, key, id, verification);
    }
    await damageActions[harm]!(target, `backups/${newerManifest.id}/${name}`);
    const { backups, unreadable } = await readInventory(target, key);
    const backup = await chooseBackup(target, key, {});
    expect(backup.coverage?.until).toEqual(lastTransactionAt(LAST_SEGMENT));
    if (name === 'verified.json') {
      expect(backups.map(({ verified }) => verified !== null)).toEqual([true, false]);
      return;
    }
    expect(backups.map(({ manifest }) => manifest.id)).toEqual([olderManifest.id]);
    expect(unreadable.get(newerManifest.id)?.message).toContain('is damaged');
    expect(backup.manifest.id).toBe(olderManifest.id);
  });
});

test('damaged copy of a segment is replaced when the segment is shipped again', async () => {
  const target = await makeArchive();
  await damageKinds['cut in half']!(target, objectOf(LAST_SEGMENT));
  const segmentAttributes = { coveredUntil: lastTransactionAt(LAST_SEGMENT).toISOString() };
  const archive = new WalArchive(target, key);
  await archive.put(segmentOf(LAST_SEGMENT), Buffer.from(`segment ${LAST_SEGMENT}`), segmentAttributes);
  expect((await chooseBackup(target, key, {})).coverage).toMatchObject({
    until: lastTransactionAt(LAST_SEGMENT),
    gap: null,
  });
});

test('unreadable backup keeps its log until its retention ends and is then removed', async () => {
  const target = await makeArchive();
  await damageKinds['cut in half']!(target, `backups/${olderManifest.id}/manifest.json`);
  const prune = (now: Date): ReturnType<typeof pruneBackups> =>
    pruneBackups({ target, key, keepMs: 86_400_000, now });
  expect(await prune(lastTransactionAt(10))).toMatchObject({
    backups: [],
    kept: [newerManifest.id],
    segments: 0,
  });
  const afterRetention = new Date(lastTransactionAt(10).getTime() + 86_400_000);
  expect(await prune(afterRetention)).toMatchObject({
    backups: [olderManifest.id],
    kept: [newerManifest.id],
    segments: 3,
  });
  expect((await readInventory(target, key)).unreadable.size).toBe(0);
});

test('target encrypted with another key is rejected', async () => {
  const target = await makeArchive();
  const otherKey = new BackupKey('another key of the tests, just as long as it');
  await expect(chooseBackup(target, otherKey, {})).rejects.toThrow('was made with another BACKUP_KEY');
});

/*
 * "A backup of PostgreSQL 18 restored by a build with another major version ends in a raw FATAL; compare the
 * manifest's version first". Requirement: "Version check before any download."
 */
test.each(['17.6', '19.0'])('backup of PostgreSQL %s is rejected before any download', async (postgres) => {
  const target = new MemoryTarget();
  const manifest = { ...olderManifest, cluster: { ...olderManifest.cluster!, postgres } };
  await writeManifest(target, key, manifest);
  await new WalArchive(target, key).put(segmentOf(3), Buffer.from('segment 3'), { coveredUntil: null });
  target.reads.length = 0;
  await expect(chooseBackup(target, key, {})).rejects.toThrow(
    new RegExp(
      `The backup ${olderManifest.id} is of PostgreSQL ${postgres}, and this build has PostgreSQL 18\\.\\d+, which cannot read ` +
        `its files\\. Restore it with a build that has PostgreSQL ${parseInt(postgres, 10)}, .*"database:move"`,
    ),
  );
  expect(target.reads).toEqual([`backups/${olderManifest.id}/manifest.json`]);
});
