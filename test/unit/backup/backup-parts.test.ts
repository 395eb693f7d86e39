import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pruneBackups } from '../../../src/backup/prune';
import { type Manifest, markVerified, readManifest, writeManifest } from '../../../src/backup/manifest';
import { PartStore } from '../../../src/backup/parts/part-store';
import { PartWriter } from '../../../src/backup/parts/part-writer';
import { type TarEntry, TarReader } from '../../../src/backup/parts/tar-reader';
import { BackupKey } from '../../../src/backup/seal/backup-key';
import { seal, unseal } from '../../../src/backup/seal/sealed-object';
import { FolderTarget } from '../../../src/backup/target/folder-target';
import { readLsn, segmentAfter, segmentAt } from '../../../src/backup/wal/segments';
import { WalArchive } from '../../../src/backup/wal/wal-archive';
import { makeScratchFolder } from '../../support/scratch';

const key = new BackupKey('a key of the tests, long enough for anybody');
const SEGMENT_BYTES = 16 * 1024 * 1024;
const folder = makeScratchFolder('switchboard-parts-');
let targetCount = 0;
afterAll(() => rmSync(folder, { recursive: true }));

function newTarget(): FolderTarget {
  const path = join(folder, `target-${(targetCount += 1)}`);
  mkdirSync(path);
  return new FolderTarget(path);
}

describe('Sealed object', () => {
  const content = Buffer.from('what it holds '.repeat(1_000));

  test('returns its content with the right key only', async () => {
    const sealed = await seal(key, 'parts/one', content);
    expect(sealed.includes('what it holds')).toBe(false);
    expect(await unseal(key, 'parts/one', sealed)).toEqual(content);
  });

  test('is rejected when it was truncated, changed, moved, or sealed with another key', async () => {
    const sealed = await seal(key, 'parts/one', content);
    const changed = Buffer.from(sealed);
    changed[40]! ^= 1;
    await expect(unseal(key, 'parts/one', changed)).rejects.toThrow('is damaged');
    await expect(unseal(key, 'parts/one', sealed.subarray(0, -1))).rejects.toThrow('is damaged');
    await expect(unseal(key, 'parts/one', sealed.subarray(0, 20))).rejects.toThrow('is damaged');
    await expect(unseal(key, 'parts/two', sealed)).rejects.toThrow('is damaged');
    const otherKey = new BackupKey('another key of the tests, just as long as it');
    await expect(unseal(otherKey, 'parts/one', sealed)).rejects.toThrow(
      `its fingerprint is ${key.fingerprint}`,
    );
  });
});

test('segment names follow PostgreSQL', () => {
  expect(readLsn('1/A0000028')).toBe(0x1_a000_0028n);
  expect(segmentAt(1, readLsn('0/5000028'), SEGMENT_BYTES)).toBe('000000010000000000000005');
  expect(segmentAt(10, readLsn('1/A0000028'), SEGMENT_BYTES)).toBe('0000000A00000001000000A0');
  expect(segmentAfter('0000000100000001000000FF', SEGMENT_BYTES)).toBe('000000010000000200000000');
});

describe('Resumed backup parts', () => {
  test('parts of an interrupted attempt are reused when intact and sent again otherwise', async () => {
    const target = newTarget();
    const pieces = [Buffer.alloc(3_000_000, 1), Buffer.alloc(2_000_000, 2), Buffer.alloc(9_000_000, 3)];
    const write = async (store: PartStore): Promise<string[]> => {
      const writer = new PartWriter(store, 'base.tar');
      for (const piece of pieces) {
        await writer.suggestCut();
        await writer.write(piece);
      }
      return (await writer.end()).parts.map(({ name }) => name);
    };
    const firstStore = new PartStore(target, key, 'backups/one/');
    const names = await write(firstStore);
    const [damaged = '', ...intactParts] = [...firstStore.names];
    await target.put(damaged, (await target.get(damaged))!.subarray(1));
    const secondStore = new PartStore(target, key, 'backups/one/', firstStore.names);
    expect(await write(secondStore)).toEqual(names);
    expect(secondStore.reusedParts).toBe(intactParts.length);
    expect((await secondStore.get(await secondStore.put(pieces[0]!))).equals(pieces[0]!)).toBe(true);
  });
});

describe('Base backup archive', () => {
  const header = (path: string, bytes: number, kind = '0'): Buffer => {
    const block = Buffer.alloc(512);
    block.write(path, 0);
    block.write(bytes.toString(8).padStart(11, '0'), 124);
    block.write(' '.repeat(8), 148);
    block.write(kind, 156);
    const sum = block.reduce((all, byte) => all + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return block;
  };
  const archive = Buffer.concat([
    header('base/', 0, '5'),
    header('base/1', 700),
    Buffer.alloc(700, 'x'),
    Buffer.alloc(324),
    header('empty', 0),
  ]);

  const readArchive = async (bytes: Buffer, size: number): Promise<string[]> => {
    const entries: string[] = [];
    let length = 0;
    const reader = new TarReader({
      start: ({ path, kind }: TarEntry) => void entries.push(`${kind} ${path}`),
      data: (piece) => void (length += piece.length),
      end: () => void entries.push(`${length} bytes`),
    });
    for (let at = 0; at < bytes.length; at += size) await reader.write(bytes.subarray(at, at + size));
    reader.finish();
    return entries;
  };

  test('is read the same in chunks of any size', async () => {
    const expectedEntries = ['folder base', 'file base/1', '700 bytes', 'file empty', '700 bytes'];
    for (const size of [1, 7, 512, 513, 5_000])
      expect(await readArchive(archive, size)).toEqual(expectedEntries);
  });

  test('is rejected when truncated, damaged, or pointing outside its folder', async () => {
    await expect(readArchive(archive.subarray(0, 900), 512)).rejects.toThrow('ends too early');
    const damaged = Buffer.from(archive);
    damaged[0]! ^= 1;
    await expect(readArchive(damaged, 512)).rejects.toThrow('does not fit its checksum');
    await expect(readArchive(header('../outside', 0), 512)).rejects.toThrow('lies outside of it');
    await expect(readArchive(header('link', 0, '2'), 512)).rejects.toThrow('neither file nor folder');
  });
});

const manifestOf = (id: string, endedAt: string, startLsn: string): Manifest => ({
  format: 1,
  id,
  product: '1.0.0',
  startedAt: endedAt,
  endedAt,
  keyFingerprint: key.fingerprint,
  cluster: {
    postgres: '18.4',
    systemIdentifier: '1',
    timeline: 1,
    startLsn,
    endLsn: startLsn,
    segmentBytes: SEGMENT_BYTES,
    migrations: [],
    base: { path: 'base.tar', bytes: 0, parts: [] },
    fileList: { path: 'backup_manifest', bytes: 0, parts: [] },
  },
  files: [],
});

describe('Archived log', () => {
  test('covers a backup up to the first gap', async () => {
    const archive = new WalArchive(newTarget(), key);
    const { cluster } = manifestOf('one', '2026-11-01T00:00:00.000Z', '0/2000028');
    const putSegment = (number: number, coveredUntil: string | null): Promise<void> =>
      archive.put(`00000001000000000000000${number}`, Buffer.from(`segment ${number}`), { coveredUntil });
    const endedAt = new Date('2026-11-01T00:00:00.000Z');
    await putSegment(2, '2026-11-01T00:01:00.000Z');
    await putSegment(3, null);
    expect(await archive.coverage(cluster!, endedAt)).toEqual({
      segments: ['000000010000000000000002', '000000010000000000000003'],
      until: new Date('2026-11-01T00:01:00.000Z'),
      gap: null,
    });
    await putSegment(5, '2026-11-01T00:03:00.000Z');
    expect(await archive.coverage(cluster!, endedAt)).toMatchObject({
      until: new Date('2026-11-01T00:01:00.000Z'),
      gap: { segment: '000000010000000000000004', problem: 'is missing, and later ones are there' },
    });
  });

  test('is never overwritten by another timeline history', async () => {
    const archive = new WalArchive(newTarget(), key);
    const name = '000000010000000000000002';
    await archive.put(name, Buffer.from('ours'), { coveredUntil: null });
    await archive.put(name, Buffer.from('ours'), { coveredUntil: '2026-11-01T00:01:00.000Z' });
    await expect(archive.put(name, Buffer.from('theirs'), { coveredUntil: null })).rejects.toThrow(
      'a second installation archives there',
    );
  });
});

test('pruning removes what no moment in the retention needs and rejects a changed manifest', async () => {
  const target = newTarget();
  const archive = new WalArchive(target, key);
  const backups = [
    manifestOf('20261101T000000Z-aaaaaa', '2026-11-01T00:00:00.000Z', '0/2000028'),
    manifestOf('20261102T000000Z-bbbbbb', '2026-11-02T00:00:00.000Z', '0/4000028'),
    manifestOf('20261103T000000Z-cccccc', '2026-11-03T00:00:00.000Z', '0/6000028'),
  ];
  for (const manifest of backups) await writeManifest(target, key, manifest);
  for (const number of [2, 3, 4, 5, 6])
    await archive.put(`00000001000000000000000${number}`, Buffer.from(`${number}`), { coveredUntil: null });
  await target.put('backups/20261101T120000Z-dddddd/parts/left', Buffer.from('left behind'));
  const prune = (now: string): ReturnType<typeof pruneBackups> =>
    pruneBackups({ target, key, keepMs: 24 * 3_600_000, now: new Date(now) });
  // The second backup is needed for the earliest moments of the retention.
  expect(await prune('2026-11-03T12:00:00Z')).toEqual({
    backups: ['20261101T000000Z-aaaaaa'],
    kept: ['20261102T000000Z-bbbbbb', '20261103T000000Z-cccccc'],
    segments: 2,
    unfinished: ['20261101T120000Z-dddddd'],
  });
  await markVerified(target, key, '20261102T000000Z-bbbbbb', { at: 'then', moment: 'then' });
  // The newest backup and the newest verified one are never removed.
  expect(await prune('2027-11-03T12:00:00Z')).toMatchObject({ backups: [], segments: 0 });

  const name = 'backups/20261103T000000Z-cccccc/manifest.json';
  const text = (await target.get(name))!.toString().replace('1.0.0', '1.0.1');
  await target.put(name, Buffer.from(text));
  await expect(readManifest(target, key, '20261103T000000Z-cccccc')).rejects.toThrow(
    'its signature does not hold',
  );
});
