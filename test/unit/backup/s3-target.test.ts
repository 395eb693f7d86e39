import { S3Target } from '../../../src/backup/target/s3-target';
import { BackupKey } from '../../../src/backup/seal/backup-key';
import { PartStore } from '../../../src/backup/parts/part-store';
import { loadSettings, storageLocation } from '../../../src/platform';
import { ObjectStoreStandIn } from '../../support/object-store';

let store: ObjectStoreStandIn;
let target: S3Target;
const settings = loadSettings({ NODE_ENV: 'test', LOG_LEVEL: 'silent' }, { createsSecrets: false });
const open = (secretAccessKey = store.key.secretAccessKey): S3Target =>
  new S3Target(storageLocation.read(store.placeText('house'))!, { ...store.key, secretAccessKey }, settings);

beforeAll(async () => {
  store = await ObjectStoreStandIn.open();
  target = open();
});
afterAll(async () => {
  target.close();
  await store.close();
});

test('a bucket keeps objects as a folder does', async () => {
  await target.open();
  expect(await target.get('wal/none')).toBeNull();
  await target.put('wal/two', Buffer.from('2'));
  await target.put('wal/one', Buffer.alloc(20_000_000, 1));
  await target.put('backups/one', Buffer.from('b'));
  expect(await target.list('wal/')).toEqual([
    { name: 'wal/one', bytes: 20_000_000 },
    { name: 'wal/two', bytes: 1 },
  ]);
  expect((await target.get('wal/one'))?.equals(Buffer.alloc(20_000_000, 1))).toBe(true);
  await target.delete('wal/one');
  await target.delete('wal/one');
  expect(await target.list('wal/')).toHaveLength(1);
});

test('what passes by itself is tried again; a wrong secret is told at once', async () => {
  for (const fault of ['slow-down', 'cut-after', 'internal-error'] as const) store.fail(fault);
  await target.put('wal/three', Buffer.from('3'));
  store.fail('cut-in-body');
  expect(await target.get('wal/three')).toEqual(Buffer.from('3'));
  const stranger = open('another secret of nobody');
  await expect(stranger.put('wal/four', Buffer.from('4'))).rejects.toThrow(
    /^s3:\/\/records\/house\/: the store answered 403/,
  );
  stranger.close();
});

test('a byte that a store changed is found', async () => {
  const parts = new PartStore(
    target,
    new BackupKey('a key of the tests, long enough for anybody'),
    'backups/one/',
  );
  const part = await parts.put(Buffer.alloc(100_000, 7));
  store.fail('flipped-byte');
  await expect(parts.get(part)).rejects.toThrow(/is damaged|another checksum/);
  expect((await parts.get(part)).equals(Buffer.alloc(100_000, 7))).toBe(true);
});
