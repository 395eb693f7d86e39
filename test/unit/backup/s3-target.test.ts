import { S3Target } from '../../../src/backup/target/s3-target';
import { BackupKey } from '../../../src/backup/seal/backup-key';
import { PartStore } from '../../../src/backup/parts/part-store';
import { loadSettings, storageLocation } from '../../../src/platform';
import { ObjectStoreStandIn } from '../../support/object-store';

let store: ObjectStoreStandIn;
let target: S3Target;
const settings = loadSettings({ NODE_ENV: 'test', LOG_LEVEL: 'silent' }, { createsSecrets: false });
const open = (secretAccessKey = store.key.secretAccessKey): S3Target =>
  new S3Target(
    storageLocation.read(store.locationText('house'))!,
    { ...store.key, secretAccessKey },
    settings,
  );

beforeAll(async () => {
  store = await ObjectStoreStandIn.open();
  target = open();
});
afterAll(async () => {
  target.close();
  await store.close();
});

test('bucket stores objects like a folder', async () => {
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

test('temporary errors are retried, and a wrong secret is reported immediately', async () => {
  for (const fault of ['slow-down', 'cut-after', 'internal-error'] as const) store.fail(fault);
  await target.put('wal/three', Buffer.from('3'));
  store.fail('cut-in-body');
  expect(await target.get('wal/three')).toEqual(Buffer.from('3'));
  const targetWithWrongSecret = open('another secret of nobody');
  await expect(targetWithWrongSecret.put('wal/four', Buffer.from('4'))).rejects.toThrow(
    /^s3:\/\/records\/house\/: the store answered 403/,
  );
  targetWithWrongSecret.close();
});

test('object changed by the store is detected', async () => {
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
