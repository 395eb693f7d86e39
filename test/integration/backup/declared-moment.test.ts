import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { chooseBackup, restoreBackup, takeBackup, withTarget } from '#product/backup';
import { loadSettings } from '#product/platform';
import { queryRows } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';

/*
 * "A restore declares a moment that it does not hold. endedAt is the clock after the last upload, the data
 * ends at the stop of the base backup: 22 committed records missing on a folder, 293 acknowledged calls (30 s) with a
 * slow store, exit 0. Every one-off backup /mnt/other has it."
 */
const folder = makeScratchFolder('switchboard-declared-');
const target = join(folder, 'target');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface AcknowledgedCall {
  readonly id: number;
  readonly sentAt: Date;
  readonly acknowledgedAt: Date;
}

test('a one-off backup to a slow store declares only the moment up to which it has all data', async () => {
  mkdirSync(target);
  const settings = loadSettings({
    NODE_ENV: 'test',
    DATA_FOLDER: join(folder, 'data'),
    BACKUP_KEY: 'a key of the tests, long enough for anybody',
  });
  const server = await startEmbeddedPostgres({ dataFolder: settings.dataFolder, durable: false });
  const client = new Client({ connectionString: server.ownerUrl });
  await client.connect();
  const databaseTime = async (): Promise<Date> =>
    (await client.query<{ now: Date }>('SELECT clock_timestamp() AS now')).rows[0]!.now;
  const calls: AcknowledgedCall[] = [];
  const restoreFolder = join(folder, 'restored');
  try {
    await client.query('CREATE TABLE migrations (id int, name text)');
    await client.query('CREATE TABLE call (id int)');
    const moment = await withTarget(settings, target, async ({ target: store, key }) => {
      // Ten calls are acknowledged while the store uploads one object.
      const originalPut = store.put.bind(store);
      store.put = async (name, bytes) => {
        for (let count = 0; count < 10; count += 1) {
          const sentAt = await databaseTime();
          await client.query('INSERT INTO call VALUES ($1)', [calls.length]);
          calls.push({ id: calls.length, sentAt, acknowledgedAt: await databaseTime() });
        }
        await originalPut(name, bytes);
      };
      const { manifest } = await takeBackup({
        target: store,
        key,
        dataFolder: settings.dataFolder,
        product: 'test',
        database: server,
        bytesPerSecond: 1024 ** 3,
      });
      await chooseBackup(store, key, { at: new Date(manifest.endedAt) }).then(
        () => undefined,
        (error: Error) => expect(error.message).toContain('leads to one moment only'),
      );
      return (
        await restoreBackup({
          ...(await chooseBackup(store, key, {})),
          target: store,
          key,
          into: restoreFolder,
        })
      ).moment;
    });
    const restoredDatabase = await startEmbeddedPostgres({ dataFolder: restoreFolder, durable: false });
    const rows = await queryRows<{ id: number }>(restoredDatabase.ownerUrl, 'SELECT id FROM call');
    await restoredDatabase.stop();
    const restoredIds = new Set(rows.map(({ id }) => id));
    const earlierCalls = calls.filter(({ acknowledgedAt }) => acknowledgedAt <= moment);
    const laterCalls = calls.filter(({ sentAt }) => sentAt > moment);
    expect(earlierCalls.length).toBeGreaterThan(0);
    expect(laterCalls.length).toBeGreaterThan(0);
    expect(earlierCalls.filter(({ id }) => !restoredIds.has(id))).toEqual([]);
    expect(laterCalls.filter(({ id }) => restoredIds.has(id))).toEqual([]);
  } finally {
    await client.end();
    await server.stop();
  }
}, 180_000);

test('a data folder of another PostgreSQL major version is refused with an explanation', async () => {
  const dataFolder = join(folder, 'other-major');
  const cluster = join(dataFolder, 'postgres', 'cluster');
  mkdirSync(cluster, { recursive: true });
  writeFileSync(join(cluster, 'PG_VERSION'), '17\n');
  await expect(startEmbeddedPostgres({ dataFolder, durable: false })).rejects.toThrow(
    /is of PostgreSQL 17, and this build has PostgreSQL 18\.\d+, which cannot read its files\. .*"database:move"/,
  );
});
