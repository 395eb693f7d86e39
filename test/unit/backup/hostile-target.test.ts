import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readInventory } from '../../../src/backup/backups';
import { type Manifest, markVerified, writeManifest } from '../../../src/backup/manifest';
import { PartStore } from '../../../src/backup/parts/part-store';
import { PartWriter } from '../../../src/backup/parts/part-writer';
import { restoreBackup } from '../../../src/backup/restore/restore-backup';
import { BackupKey } from '../../../src/backup/seal/backup-key';
import { FolderTarget } from '../../../src/backup/target/folder-target';
import { makeScratchFolder } from '../../support/scratch';
import { MemoryTarget } from './memory-target';

const key = new BackupKey('a key of the tests, long enough for anybody');
const folder = makeScratchFolder('switchboard-hostile-');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const manifestOf = (id: string, more: Partial<Manifest> = {}): Manifest => ({
  format: 1,
  id,
  product: '1.0.0',
  startedAt: '2026-11-01T00:00:00.000Z',
  endedAt: '2026-11-01T00:00:00.000Z',
  keyFingerprint: key.fingerprint,
  cluster: null,
  files: [],
  ...more,
});
const [ONE, OTHER] = ['20261101T000000Z-aaaaaa', '20261102T000000Z-bbbbbb'];
const manifestName = (id: string): string => `backups/${id}/manifest.json`;
const markName = (id: string): string => `backups/${id}/verified.json`;

// "Backup marks and manifests not bound to their folder"
test('mark or manifest copied to another folder or name is ignored', async () => {
  const target = new MemoryTarget();
  for (const id of [ONE, OTHER]) await writeManifest(target, key, manifestOf(id));
  await markVerified(target, key, ONE, { at: 'then', moment: 'then' });
  const copy = async (from: string, to: string): Promise<void> => target.put(to, (await target.get(from))!);
  await copy(markName(ONE), markName(OTHER));
  const marks = async (): Promise<unknown> =>
    (await readInventory(target, key)).backups.map(({ manifest, verified }) => [
      manifest.id,
      verified !== null,
    ]);
  expect(await marks()).toEqual(
    expect.arrayContaining([
      [ONE, true],
      [OTHER, false],
    ]),
  );
  await copy(manifestName(OTHER), markName(OTHER));
  expect(await marks()).toEqual(expect.arrayContaining([[OTHER, false]]));
  await copy(markName(ONE), manifestName(ONE));
  await copy(manifestName(OTHER), manifestName('20261103T000000Z-cccccc'));
  const { backups, unreadable } = await readInventory(target, key);
  expect(backups.map(({ manifest }) => manifest.id)).toEqual([OTHER]);
  expect([...unreadable.keys()]).toEqual([ONE, '20261103T000000Z-cccccc']);
});

// "files[].path traversal (needs the key)"
test.each(['../outside', 'secrets/../../outside', '/etc/outside'])(
  'manifest with the file %s is rejected',
  async (path) => {
    const target = new MemoryTarget();
    await writeManifest(target, key, manifestOf(ONE, { files: [{ path, bytes: 0, parts: [] }] }));
    const { unreadable } = await readInventory(target, key);
    expect(unreadable.get(ONE)?.message).toContain(`${path} lies outside of the backup`);
  },
);

// "a FIFO hangs a restore"
test('FIFO in place of an object counts as damage and does not hang', async () => {
  const targetPath = join(folder, 'target');
  const path = join(targetPath, manifestName(ONE));
  mkdirSync(dirname(path), { recursive: true });
  execFileSync('mkfifo', [path]);
  const { unreadable } = await readInventory(new FolderTarget(targetPath), key);
  expect(unreadable.get(ONE)?.message).toContain('is damaged: it is not a file');
}, 5_000);

/** Target whose downloads wait until the test allows them. */
class SlowTarget extends MemoryTarget {
  readonly requested = Promise.withResolvers<void>();
  readonly allowed = Promise.withResolvers<void>();

  override async get(name: string): Promise<Buffer | null> {
    this.requested.resolve();
    await this.allowed.promise;
    return super.get(name);
  }
}

// "two restores into one folder have no lock: the second deletes files of the first"
test('second restore into the folder of a running one is rejected and deletes nothing', async () => {
  const target = new SlowTarget();
  const writer = new PartWriter(new PartStore(target, key, `backups/${ONE}/`), 'note');
  await writer.write(Buffer.from('content'));
  const emptyFile = { path: 'base.tar', bytes: 0, parts: [] };
  const manifest = manifestOf(ONE, {
    files: [await writer.end()],
    cluster: {
      postgres: '18.4',
      systemIdentifier: '1',
      timeline: 1,
      startLsn: '0/2000028',
      endLsn: '0/2000150',
      segmentBytes: 16 * 1024 * 1024,
      migrations: [],
      base: emptyFile,
      fileList: emptyFile,
    },
  });
  const restoreFolder = join(folder, 'into');
  const restore = (): Promise<unknown> =>
    restoreBackup({ target, key, manifest, coverage: null, into: restoreFolder });
  const firstRestore = restore();
  await target.requested.promise;
  const file = join(restoreFolder, 'postgres', 'of-the-first');
  writeFileSync(file, '');
  await expect(restore()).rejects.toThrow(`${restoreFolder} is in use by the process ${process.pid}`);
  expect(existsSync(file)).toBe(true);
  target.allowed.resolve();
  // The base backup of this test is empty, so the restore fails.
  await expect(firstRestore).rejects.toThrow();
  // An interrupted restore is resumed, and its lock was released when it failed.
  expect(existsSync(join(restoreFolder, 'owner.json'))).toBe(false);
  await expect(restore()).rejects.not.toThrow('in use');
  expect(existsSync(file)).toBe(false);
});
