import { tmpdir } from 'node:os';
import { Notifications, OwnWrites } from '#inside/platform/database/index';
import { CatalogueService } from '#product/catalogue';
import { priceRates } from '#product/kernel';
import { loadSettings } from '#product/platform';
import { type Proxy, proxyTo } from '../../support/proxy';
import { CatalogueHouse, connect } from './catalogue-house';
import { until } from '../../support/until';

interface Node {
  readonly catalogue: CatalogueService;
  /** From now on it looks at the revision where an announcement says so, and at no other time. */
  looksWhenTold(): void;
  stop(): Promise<void>;
}

let house: CatalogueHouse;
let queries: Proxy;
let announcements: Proxy;
let node: Node;

async function startNode(): Promise<Node> {
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
    const isLook = /clock_timestamp.* FROM catalogue_revision/s.test(sql);
    if (isLook && !looksAnyTime && !isTold) return Promise.reject(new Error('it is not time to look'));
    return query(sql, parameters);
  });
  const writes = new OwnWrites(database, notifications, loadSettings({ DATA_FOLDER: tmpdir() }));
  const catalogue = new CatalogueService(database, notifications, writes);
  await catalogue.onModuleInit();
  return {
    catalogue,
    looksWhenTold: () => void (looksAnyTime = false),
    stop: async () => {
      await catalogue.beforeApplicationShutdown();
      await notifications.onApplicationShutdown();
      await database.source.destroy();
    },
  };
}

beforeEach(async () => {
  house = await CatalogueHouse.open();
  queries = await proxyTo(house.test.url);
  announcements = await proxyTo(house.test.url);
  await house.provider('north');
  await house.models('m');
  await house.write((tx) =>
    house.editor.setLanes(tx, 'm', [{ provider: 'north', upstreamModel: 'm', region: 'eu' }]),
  );
  await house.write((tx) =>
    house.prices.addPrice(tx, { model: 'm', rates: priceRates({ input: 1n }), source: 'test' }),
  );
  node = await startNode();
});

afterEach(async () => {
  await node.stop();
  await queries.close();
  await announcements.close();
  await house.close();
});

const state = (): string | undefined => node.catalogue.snapshot.model('m')?.state;

test('an announced change is in force without waiting for the next look at the revision', async () => {
  node.looksWhenTold();
  for (const wanted of ['paused', 'active', 'hidden', 'paused', 'active', 'hidden', 'active'] as const) {
    await house.write((tx) => house.editor.setState(tx, 'm', wanted));
    await until(() => state() === wanted);
  }
});

test('without announcements a change is in force with a later look', async () => {
  announcements.freeze();
  await house.write((tx) => house.editor.setState(tx, 'm', 'paused'));
  await until(() => state() === 'paused');
});

test('a change that is rolled back is never seen', async () => {
  const before = node.catalogue.snapshot;
  const attempt = house.write(async (tx) => {
    await house.editor.setState(tx, 'm', 'paused');
    throw new Error('never mind');
  });
  await expect(attempt).rejects.toThrow('never mind');
  await node.catalogue.reload();
  expect(state()).toBe('active');
  expect(node.catalogue.snapshot.revision).toBe(before.revision);
});

test('while the database is away the last copy serves and schedules flip; then it catches up', async () => {
  const night = await house.write((tx) =>
    house.prices.addPrice(tx, {
      model: 'm',
      rates: priceRates({ input: 2n }),
      validFrom: null,
      source: 'test',
    }),
  );
  const startsAt = new Date(Date.now() + 3_600_000);
  await house.write((tx) => house.prices.upsertSchedule(tx, 'm', { priceId: night.id, startsAt }));
  await until(() => node.catalogue.snapshot.model('m')?.schedules.length === 1);
  await queries.cut();
  await announcements.cut();
  await house.write((tx) => house.editor.setState(tx, 'm', 'paused'));
  await until(() => node.catalogue.stalenessMs > 700);
  const priceAt = (instant: number): number | undefined => {
    const found = node.catalogue.resolve('m', instant);
    return found.kind === 'found' ? found.lanes[0]?.price.id : undefined;
  };
  expect(priceAt(startsAt.getTime() - 1)).not.toBe(night.id);
  expect(priceAt(startsAt.getTime())).toBe(night.id);
  await queries.restore();
  await announcements.restore();
  await until(() => state() === 'paused');
  await until(() => node.catalogue.stalenessMs < 700);
});

test('whoever reloads after a change sees the change, even when a read was under way', async () => {
  for (let round = 0; round < 10; round += 1) {
    const underWay = node.catalogue.reload();
    const wanted = round % 2 === 0 ? 'hidden' : 'active';
    await house.write((tx) => house.editor.setState(tx, 'm', wanted));
    await node.catalogue.reload();
    expect(state()).toBe(wanted);
    await underWay;
  }
});
