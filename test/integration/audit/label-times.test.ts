import fc from 'fast-check';
import { RequestLogQuery, type WrittenRecord, serialiseRecord } from '#product/audit';
import { PostgresMoneyStore } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { administer } from '../../support/postgres';
import { outcomeOf, key, MoneyFixture, wallet } from '../billing/money-fixture';

const platform = { kind: 'platform' } as const;
const HOUR_MS = 3_600_000;
const startMs = Date.parse('2026-10-05T07:00:00Z');

let fixture: MoneyFixture;
let log: RequestLogQuery;
let store: PostgresMoneyStore;
let runs = 0;

beforeAll(async () => {
  fixture = await MoneyFixture.open();
  log = new RequestLogQuery(fixture.database);
  store = new PostgresMoneyStore(fixture.database);
  await fixture.credit(1, 1_000_000_000_000n);
  await fixture.database.query("SELECT ensure_request_record_partitions('2026-10-01', 2)");
});
afterAll(() => fixture.close());

const instantArbitrary = fc.oneof(
  fc.constantFrom(0, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1, 2 * HOUR_MS - 1, 2 * HOUR_MS),
  fc.integer({ min: 0, max: 3 * HOUR_MS - 1 }),
);
const requestsArbitrary = fc.array(
  fc.record({
    at: instantArbitrary,
    key: fc.integer({ min: 1, max: 2 }),
    model: fc.constantFrom('a', 'b'),
    tagged: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

test('a label filter finds every request of the label, also in hours without recorded label times', async () => {
  await fc.assert(
    fc.asyncProperty(
      requestsArbitrary,
      requestsArbitrary,
      fc.boolean(),
      async (earlier, later, isForgotten) => {
        const tag = `tag ${(runs += 1)}`;
        const expectedIds: string[] = [];
        const settleRequests = (some: readonly LabelledRequest[]) => {
          const records = some.map((request) => recordOf(request, tag));
          expectedIds.push(
            ...records.filter((_, place) => some[place]?.tagged).map(({ requestId }) => requestId),
          );
          return store.settle({ lease: null, number: 0, records, releases: [] });
        };
        await settleRequests(earlier);
        if (isForgotten)
          await administer(
            fixture.test.ownerUrl,
            'UPDATE usage_label_hour SET first_at = NULL, last_at = NULL',
          );
        await settleRequests(later);
        const { rows } = await log.page(platform, { tag }, { limit: 50 });
        expect(rows.map(({ requestId }) => requestId).sort()).toEqual(expectedIds.sort());
      },
    ),
    { numRuns: 40 },
  );
});

interface LabelledRequest {
  readonly at: number;
  readonly key: number;
  readonly model: string;
  readonly tagged: boolean;
}

const recordOf = ({ at, key: keyId, model, tagged }: LabelledRequest, tag: string): WrittenRecord =>
  serialiseRecord(uuidv7(), startMs + at, {
    ...outcomeOf(1n, [key(1), wallet(1)]),
    keyId,
    model,
    servedModel: model,
    tags: tagged ? [tag] : null,
  });
