import { checkBackups } from '../../../src/commands/doctor/backup-checks';
import { loadSettings } from '../../../src/platform';
import { ObjectStoreStandIn } from '../../support/object-store';

let store: ObjectStoreStandIn;
beforeAll(async () => {
  store = await ObjectStoreStandIn.open();
});
afterAll(() => store.close());

const check = () =>
  checkBackups(
    loadSettings(
      {
        NODE_ENV: 'test',
        LOG_LEVEL: 'silent',
        BACKUP_TARGET: store.locationText('house/'),
        BACKUP_TARGET_KEY: `${store.key.accessKeyId}:${store.key.secretAccessKey}`,
        BACKUP_KEY: 'a key of the tests, long enough for anybody',
      },
      { createsSecrets: false },
    ),
  );

// "doctor: a target it cannot write is a warning with exit 0".
test('doctor fails for a backup target that can be listed but not written', async () => {
  store.fail('access-denied', 100, ({ method }) => method === 'PUT');
  const finding = await check();
  store.heal();
  expect(finding).toMatchObject({
    verdict: 'fail',
    what: 'backups',
    found: expect.stringMatching(/^s3:\/\/records\/house\/ cannot be written: .*403/),
  });
});

test('doctor leaves no objects in a writable backup target', async () => {
  expect(await check()).toMatchObject({
    verdict: 'warn',
    found: expect.stringContaining('there is none yet'),
  });
  expect(store.keys).toEqual([]);
});
