import { tmpdir } from 'node:os';
import { Notifications, OwnWrites } from '#inside/platform/database/index';
import { CatalogueService } from '#product/catalogue';
import { priceRates } from '#product/kernel';
import { loadSettings } from '#product/platform';
import { type DatabaseProxy, startDatabaseProxy } from '../../support/proxy';
import { CatalogueFixture, connect } from './catalogue-fixture';
import { until } from '../../support/until';

interface CatalogueNode {
  readonly catalogue: CatalogueService;
  /** From now on the node reads the revision only after an announcement. */
  pollOnlyWhenAnnounced(): void;
  stop(): Promise<void>;
}

let fixture: CatalogueFixture;
let queries: DatabaseProxy;
let announcements: DatabaseProxy;
let node: CatalogueNode;

async function startNode(): Promise<CatalogueNode> {
  const database = await connect(queries.url);
  const notifications = new Notifications({ url: announcements.url });
  await notifications.start();
  let [looksAnyTime, isTold] = [true, false];
  await notifications.on('catalogue', () => {
    isTold = true;
    queueMicrotask(() => (isTold = false));
  });
  const query = database.query.bind(database);
  jest.spyOn(database, 'query').mockImplementation((sql, parameters) => {
    const isPoll = /clock_timestamp.* FROM catalogue_revision/s.test(sql);
    if (isPoll && !looksAnyTime && !isTold) return Promise.reject(new Error('it is not time to look'));
    return query(sql, parameters);
  });
  const writes = new OwnWrites(database, notifications, loadSettings({ DATA_FOLDER: tmpdir() }));
  const catalogue = new CatalogueService(database, notifications, writes);
  await catalogue.onModuleInit();
  return {
    catalogue,
    pollOnlyWhenAnnounced: () => void (looksAnyTime = false),
    stop: async () => {
      await catalogue.beforeApplicationShutdown();
      await notifications.onApplicationShutdown();
      await database.source.destroy();
    },
  };
}

beforeEach(async () => {
  fixture = await CatalogueFixture.open();
  queries = await startDatabaseProxy(fixture.test.url);
  announcements = await startDatabaseProxy(fixture.test.url);
  await fixture.provider('north');
  await fixture.models('m');
  await fixture.write((tx) =>
    fixture.editor.setLanes(tx, 'm', [{ provider: 'north', upstreamModel: 'm', region: 'eu' }]),
  );
  await fixture.write((tx) =>
    fixture.prices.addPrice(tx, { model: 'm', rates: priceRates({ input: 1n }), source: 'test' }),
  );
  node = await startNode();
});

afterEach(async () => {
  await node.stop();
  await queries.close();
  await announcements.close();
  await fixture.close();
});

const state = (): string | undefined => node.catalogue.snapshot.model('m')?.state;

test('an announced change takes effect without waiting for the next poll', async () => {
  node.pollOnlyWhenAnnounced();
  for (const targetState of ['paused', 'active', 'hidden', 'paused', 'active', 'hidden', 'active'] as const) {
    await fixture.write((tx) => fixture.editor.setState(tx, 'm', targetState));
    await until(() => state() === targetState);
  }
});

test('a change takes effect at a later poll without announcements', async () => {
  announcements.freeze();
  await fixture.write((tx) => fixture.editor.setState(tx, 'm', 'paused'));
  await until(() => state() === 'paused');
});

test('a change that is rolled back is never visible', async () => {
  const snapshotBefore = node.catalogue.snapshot;
  const attempt = fixture.write(async (tx) => {
    await fixture.editor.setState(tx, 'm', 'paused');
    throw new Error('never mind');
  });
  await expect(attempt).rejects.toThrow('never mind');
  await node.catalogue.reload();
  expect(state()).toBe('active');
  expect(node.catalogue.snapshot.revision).toBe(snapshotBefore.revision);
});

test('during a database outage the last copy is used and schedules switch, and changes are read afterwards', async () => {
  const nightPrice = await fixture.write((tx) =>
    fixture.prices.addPrice(tx, {
      model: 'm',
      rates: priceRates({ input: 2n }),
      validFrom: null,
      source: 'test',
    }),
  );
  const startsAt = new Date(Date.now() + 3_600_000);
  await fixture.write((tx) => fixture.prices.upsertSchedule(tx, 'm', { priceId: nightPrice.id, startsAt }));
  await until(() => node.catalogue.snapshot.model('m')?.schedules.length === 1);
  await queries.cut();
  await announcements.cut();
  await fixture.write((tx) => fixture.editor.setState(tx, 'm', 'paused'));
  await until(() => node.catalogue.stalenessMs > 700);
  const priceAt = (instant: number): number | undefined => {
    const resolution = node.catalogue.resolve('m', instant);
    return resolution.kind === 'found' ? resolution.lanes[0]?.price.id : undefined;
  };
  expect(priceAt(startsAt.getTime() - 1)).not.toBe(nightPrice.id);
  expect(priceAt(startsAt.getTime())).toBe(nightPrice.id);
  await queries.restore();
  await announcements.restore();
  await until(() => state() === 'paused');
  await until(() => node.catalogue.stalenessMs < 700);
});

test('a reload after a change returns the change, even if a read was in progress', async () => {
  for (let round = 0; round < 10; round += 1) {
    const pendingReload = node.catalogue.reload();
    const targetState = round % 2 === 0 ? 'hidden' : 'active';
    await fixture.write((tx) => fixture.editor.setState(tx, 'm', targetState));
    await node.catalogue.reload();
    expect(state()).toBe(targetState);
    await pendingReload;
  }
});
