import 'reflect-metadata';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { fromUnknown } from '#product/kernel';
import { BigintColumn, Database } from '#inside/platform/database/index';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type DatabaseProxy, startDatabaseProxy } from '../../support/proxy';

@Entity({ name: 'purse' })
class Purse {
  @PrimaryColumn()
  id: number;

  @BigintColumn()
  nano: bigint;

  @Column({ type: 'text', nullable: true })
  note: string | null;
}

let ownDatabase: TestDatabase;
let proxy: DatabaseProxy;
let database: Database;

beforeAll(async () => {
  ownDatabase = await createTestDatabase();
  await administer(
    ownDatabase.ownerUrl,
    'CREATE TABLE purse (id int PRIMARY KEY, nano bigint NOT NULL, note text)',
  );
  await administer(ownDatabase.ownerUrl, 'GRANT ALL ON purse TO switchboard_app');
  proxy = await startDatabaseProxy(ownDatabase.url);
  const source = new DataSource(serviceDataSourceOptions({ url: proxy.url, entities: [Purse], poolSize: 4 }));
  database = new Database(await source.initialize());
});

afterAll(async () => {
  await database.source.destroy();
  await proxy.close();
  await ownDatabase.drop();
});

beforeEach(async () => {
  await database.query('DELETE FROM purse');
  await database.source.manager.insert(Purse, [
    { id: 1, nano: 10n },
    { id: 2, nano: 10n },
  ]);
});

const nano = async (id: number) => (await database.source.manager.findOneByOrFail(Purse, { id })).nano;

test('the service uses the application role, with a time limit on every statement', async () => {
  const rows = await database.query(
    `SELECT current_user AS role, current_setting('statement_timeout') AS timeout,
            current_setting('application_name') AS name`,
  );
  expect(rows).toEqual([{ role: 'switchboard_app', timeout: '30s', name: 'switchboard' }]);
  await expect(database.query('CREATE TABLE other (id int)')).rejects.toThrow('permission denied');
});

test('amounts beyond the number range keep every digit', async () => {
  const amount = 9_007_199_254_740_993n;
  await database.source.manager.update(Purse, { id: 1 }, { nano: amount });
  expect(await nano(1)).toBe(amount);
  expect(await database.source.manager.countBy(Purse, { nano: amount })).toBe(1);
});

test('an undefined condition is refused instead of matching every row', async () => {
  const id = undefined as unknown as number;
  await expect(database.source.manager.findBy(Purse, { id })).rejects.toThrow('undefined');
});

test('a transaction is atomic', async () => {
  const failedTransaction = database.transaction(async (tx) => {
    await tx.increment(Purse, { id: 1 }, 'nano', 5);
    throw new Error('changed its mind');
  });
  await expect(failedTransaction).rejects.toThrow('changed its mind');
  expect(await nano(1)).toBe(10n);
  expect(await database.transaction((tx) => tx.increment(Purse, { id: 1 }, 'nano', 5))).toMatchObject({
    affected: 1,
  });
  expect(await nano(1)).toBe(15n);
});

test('a nested transaction is refused, and consecutive ones work', async () => {
  const nestedTransaction = database.transaction(() => database.transaction(() => Promise.resolve()));
  await expect(nestedTransaction).rejects.toThrow('hand its tx on');
  await database.transaction(() => Promise.resolve());
  await expect(database.transaction(() => Promise.resolve('done'))).resolves.toBe('done');
});

/** Two transfers lock their purses in opposite order, so one of them is aborted. */
function runDeadlock(attempts: number) {
  const runs = [0, 0];
  const bothHold = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transfer = (index: 0 | 1) =>
    database.transaction(
      async (tx) => {
        runs[index] = (runs[index] ?? 0) + 1;
        await tx.increment(Purse, { id: 1 + index }, 'nano', 1);
        bothHold[index]?.resolve();
        await bothHold[1 - index]?.promise;
        await tx.increment(Purse, { id: 2 - index }, 'nano', 1);
      },
      { attempts },
    );
  return { runs, outcome: Promise.allSettled([transfer(0), transfer(1)]) };
}

test('a deadlock aborts one transaction, which is retried if the caller allows it', async () => {
  const { runs, outcome } = runDeadlock(3);
  expect((await outcome).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(runs.reduce((sum, count) => sum + count)).toBe(3);
  expect([await nano(1), await nano(2)]).toEqual([12n, 12n]);
});

test("a transaction is not retried without the caller's permission", async () => {
  const { runs, outcome } = runDeadlock(1);
  expect((await outcome).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(runs).toEqual([1, 1]);
});

test('an unreachable database returns service_unavailable and recovers automatically', async () => {
  await database.ping();
  await proxy.cut();
  await expect(database.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
  const failure = await database.query('SELECT 1').catch((error: unknown) => error);
  expect(fromUnknown(failure).code).toBe('service_unavailable');
  await proxy.restore();
  await database.ping();
  expect(await nano(1)).toBe(10n);
});

test('a connection broken within a transaction returns service_unavailable', async () => {
  const failure = await database
    .transaction(async (tx) => {
      await tx.increment(Purse, { id: 1 }, 'nano', 1);
      await proxy.cut();
      await tx.increment(Purse, { id: 1 }, 'nano', 1);
    })
    .catch((error: unknown) => error);
  expect(fromUnknown(failure).code).toBe('service_unavailable');
  await proxy.restore();
  expect(await nano(1)).toBe(10n);
});

test('a connection that ends at its start returns service_unavailable without further effects', async () => {
  await proxy.cut();
  await proxy.restore();
  proxy.endNewConnections();
  for (let round = 0; round < 2; round += 1) {
    const failure = await database.query('SELECT 1').catch((error: unknown) => error);
    expect(fromUnknown(failure).code).toBe('service_unavailable');
  }
  await proxy.cut();
  await proxy.restore();
  expect(await nano(1)).toBe(10n);
});

test('an unresponsive database fails the health ping in time', async () => {
  proxy.freeze();
  const startedAt = performance.now();
  await expect(database.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(performance.now() - startedAt).toBeLessThan(4_000);
  await proxy.cut();
  await proxy.restore();
});
