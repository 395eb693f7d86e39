import fc from 'fast-check';
import { RequestLogQuery, type WrittenRecord, serialiseRecord } from '#product/audit';
import { PostgresMoneyStore } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { administer } from '../../support/postgres';
import { costing, key, MoneyHouse, wallet } from '../billing/money-support';

const platform = { kind: 'platform' } as const;
const HOUR_MS = 3_600_000;
const begin = Date.parse('2026-10-05T07:00:00Z');

let house: MoneyHouse;
let log: RequestLogQuery;
let store: PostgresMoneyStore;
let runs = 0;

beforeAll(async () => {
  house = await MoneyHouse.open();
  log = new RequestLogQuery(house.database);
  store = new PostgresMoneyStore(house.database);
  await house.credit(1, 1_000_000_000_000n);
  await house.database.query("SELECT ensure_request_record_partitions('2026-10-01', 2)");
});
afterAll(() => house.close());

const instants = fc.oneof(
  fc.constantFrom(0, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1, 2 * HOUR_MS - 1, 2 * HOUR_MS),
  fc.integer({ min: 0, max: 3 * HOUR_MS - 1 }),
);
const requests = fc.array(
  fc.record({
    at: instants,
    key: fc.integer({ min: 1, max: 2 }),
    model: fc.constantFrom('a', 'b'),
    tagged: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

test('a label is found wherever in their hours its requests came, also of hours whose times were not kept', async () => {
  await fc.assert(
    fc.asyncProperty(requests, requests, fc.boolean(), async (earlier, later, isForgotten) => {
      const tag = `tag ${(runs += 1)}`;
      const wanted: string[] = [];
      const settle = (some: readonly Request[]) => {
        const records = some.map((request) => recordOf(request, tag));
        wanted.push(...records.filter((_, place) => some[place]?.tagged).map(({ requestId }) => requestId));
        return store.settle({ lease: null, number: 0, records, releases: [] });
      };
      await settle(earlier);
      if (isForgotten)
        await administer(house.test.ownerUrl, 'UPDATE usage_label_hour SET first_at = NULL, last_at = NULL');
      await settle(later);
      const { rows } = await log.page(platform, { tag }, { limit: 50 });
      expect(rows.map(({ requestId }) => requestId).sort()).toEqual(wanted.sort());
    }),
    { numRuns: 40 },
  );
});

interface Request {
  readonly at: number;
  readonly key: number;
  readonly model: string;
  readonly tagged: boolean;
}

const recordOf = ({ at, key: keyId, model, tagged }: Request, tag: string): WrittenRecord =>
  serialiseRecord(uuidv7(), begin + at, {
    ...costing(1n, [key(1), wallet(1)]),
    keyId,
    model,
    servedModel: model,
    tags: tagged ? [tag] : null,
  });
