import 'reflect-metadata';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { fromUnknown } from '#product/kernel';
import { BigintColumn, Database } from '#inside/platform/database/index';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Proxy, proxyTo } from '../../support/proxy';

@Entity({ name: 'purse' })
class Purse {
  @PrimaryColumn()
  id: number;

  @BigintColumn()
  nano: bigint;

  @Column({ type: 'text', nullable: true })
  note: string | null;
}

let own: TestDatabase;
let proxy: Proxy;
let database: Database;

beforeAll(async () => {
  own = await createTestDatabase();
  await administer(own.ownerUrl, 'CREATE TABLE purse (id int PRIMARY KEY, nano bigint NOT NULL, note text)');
  await administer(own.ownerUrl, 'GRANT ALL ON purse TO switchboard_app');
  proxy = await proxyTo(own.url);
  const source = new DataSource(serviceDataSourceOptions({ url: proxy.url, entities: [Purse], poolSize: 4 }));
  database = new Database(await source.initialize());
});

afterAll(async () => {
  await database.source.destroy();
  await proxy.close();
  await own.drop();
});

beforeEach(async () => {
  await database.query('DELETE FROM purse');
  await database.source.manager.insert(Purse, [
    { id: 1, nano: 10n },
    { id: 2, nano: 10n },
  ]);
});

const nano = async (id: number) => (await database.source.manager.findOneByOrFail(Purse, { id })).nano;

test('the service works as the application role, with a time limit on every statement', async () => {
  const rows = await database.query(
    `SELECT current_user AS role, current_setting('statement_timeout') AS timeout,
            current_setting('application_name') AS name`,
  );
  expect(rows).toEqual([{ role: 'switchboard_app', timeout: '30s', name: 'switchboard' }]);
  await expect(database.query('CREATE TABLE other (id int)')).rejects.toThrow('permission denied');
});

test('amounts beyond what a number holds keep every digit', async () => {
  const amount = 9_007_199_254_740_993n;
  await database.source.manager.update(Purse, { id: 1 }, { nano: amount });
  expect(await nano(1)).toBe(amount);
  expect(await database.source.manager.countBy(Purse, { nano: amount })).toBe(1);
});

test('a condition on nothing is refused instead of matching everything', async () => {
  const id = undefined as unknown as number;
  await expect(database.source.manager.findBy(Purse, { id })).rejects.toThrow('undefined');
});

test('a transaction happens as a whole or not at all', async () => {
  const broken = database.transaction(async (tx) => {
    await tx.increment(Purse, { id: 1 }, 'nano', 5);
    throw new Error('changed its mind');
  });
  await expect(broken).rejects.toThrow('changed its mind');
  expect(await nano(1)).toBe(10n);
  expect(await database.transaction((tx) => tx.increment(Purse, { id: 1 }, 'nano', 5))).toMatchObject({
    affected: 1,
  });
  expect(await nano(1)).toBe(15n);
});

test('a transaction inside another is refused, one after another is not', async () => {
  const nested = database.transaction(() => database.transaction(() => Promise.resolve()));
  await expect(nested).rejects.toThrow('hand its tx on');
  await database.transaction(() => Promise.resolve());
  await expect(database.transaction(() => Promise.resolve('done'))).resolves.toBe('done');
});

/** Both take their first purse, then want the other's: one of them has to give way. */
function crosswise(attempts: number) {
  const runs = [0, 0];
  const bothHold = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transfer = (me: 0 | 1) =>
    database.transaction(
      async (tx) => {
        runs[me] = (runs[me] ?? 0) + 1;
        await tx.increment(Purse, { id: 1 + me }, 'nano', 1);
        bothHold[me]?.resolve();
        await bothHold[1 - me]?.promise;
        await tx.increment(Purse, { id: 2 - me }, 'nano', 1);
      },
      { attempts },
    );
  return { runs, outcome: Promise.allSettled([transfer(0), transfer(1)]) };
}

test('a deadlock breaks one transaction off, which runs again when the caller allows it', async () => {
  const { runs, outcome } = crosswise(3);
  expect((await outcome).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(runs.reduce((sum, count) => sum + count)).toBe(3);
  expect([await nano(1), await nano(2)]).toEqual([12n, 12n]);
});

test('without leave nothing runs twice', async () => {
  const { runs, outcome } = crosswise(1);
  expect((await outcome).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(runs).toEqual([1, 1]);
});

test('a database that is gone is service_unavailable, and comes back by itself', async () => {
  await database.ping();
  await proxy.cut();
  await expect(database.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
  const failure = await database.query('SELECT 1').catch((error: unknown) => error);
  expect(fromUnknown(failure).code).toBe('service_unavailable');
  await proxy.restore();
  await database.ping();
  expect(await nano(1)).toBe(10n);
});

test('a connection that breaks within a transaction is service_unavailable', async () => {
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

test('a connection that ends as it begins is service_unavailable, and ends nothing else', async () => {
  await proxy.cut();
  await proxy.restore();
  proxy.endNewcomers();
  for (let round = 0; round < 2; round += 1) {
    const failure = await database.query('SELECT 1').catch((error: unknown) => error);
    expect(fromUnknown(failure).code).toBe('service_unavailable');
  }
  await proxy.cut();
  await proxy.restore();
  expect(await nano(1)).toBe(10n);
});

test('a database that falls silent fails the ping in time', async () => {
  proxy.freeze();
  const started = performance.now();
  await expect(database.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(performance.now() - started).toBeLessThan(4_000);
  await proxy.cut();
  await proxy.restore();
});
