import { serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { PostgresMoneyStore } from '#inside/billing/engine/store/postgres-money-store';
import { formatMoney } from '#product/views';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { signIn } from '../../support/users';

/** Clock changes of an hour and of half an hour, in both directions, within the queried weeks. */
const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Europe/London'] as const;
const FROM = '2026-09-30';
const TO = '2026-11-03';

interface TotalsCharge {
  readonly at: number;
  readonly nano: bigint;
}

let app: TestApp;
let ada: Customer;
let cookie: string;
let charges: readonly TotalsCharge[];

const days = new Map<string, Intl.DateTimeFormat>();
function dayInZone(zone: string, at: number): string {
  const day = days.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  days.set(zone, day);
  return day.format(at);
}
const sumOf = (list: readonly TotalsCharge[]): bigint => list.reduce((sum, { nano }) => sum + nano, 0n);

/** Instants on both sides of every quarter hour at which a day can start, and of repeated hours. */
function instants(): number[] {
  const instantList: number[] = [];
  for (const day of [
    '2026-10-01',
    '2026-10-04',
    '2026-10-05',
    '2026-10-25',
    '2026-10-26',
    '2026-11-01',
    '2026-11-02',
  ]) {
    const midnight = Date.parse(`${day}T00:00:00Z`);
    for (let quarter = -48; quarter <= 48; quarter += 1) {
      const at = midnight + quarter * 900_000;
      instantList.push(at - 1, at);
    }
  }
  return [...new Set(instantList)];
}

beforeAll(async () => {
  app = await startTestApp();
  ada = await addCustomer(app, 'ada', 1_000_000_000_000n);
  cookie = await signIn(app, ada.userId);
  await app.database.query("SELECT ensure_request_record_partitions('2026-09-01', 3)");
  // Amounts with pairwise different sums, down to the nano-dollar.
  charges = instants().map((at, index) => ({ at, nano: 1_000_003n * BigInt(index + 1) + 7n }));
  const owners = { keyId: ada.keyId, userId: ada.userId, walletId: ada.userId };
  const records = charges.map(({ at, nano }, index) =>
    serialiseRecord(
      uuidv7(),
      at,
      ordinaryOutcome({
        ...owners,
        costNano: nano,
        model: `model-${index % 3}`,
        servedModel: `model-${index % 3}`,
      }),
    ),
  );
  const store = new PostgresMoneyStore(app.database);
  await store.settle({ lease: null, number: 1, records, releases: [] });
});
afterAll(() => app.close());

async function getBody(path: string, headers: Record<string, string> = { cookie }): Promise<string> {
  const answer = await fetch(app.url + path, {
    headers: { accept: 'text/html,application/json', ...headers },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${text.slice(0, 300)}`);
  return text;
}

interface TokenSums {
  readonly cost_nano: string;
}
interface UsageResponse {
  readonly total: TokenSums;
  readonly groups?: readonly TokenSums[];
  readonly data: readonly (TokenSums & { readonly start: string })[];
}
const nanoOf = (list: readonly TokenSums[]): bigint =>
  list.reduce((sum, { cost_nano }) => sum + BigInt(cost_nano), 0n);

/** Parses dollars as written in files into nano-dollars. */
function nanoOfDollars(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const nano = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
  return text.startsWith('-') ? -nano : nano;
}

function columnOf(file: string, name: string): string[] {
  const [head = '', ...lines] = file.trimEnd().split('\r\n');
  const columnIndex = head.split(',').indexOf(name);
  if (columnIndex === -1) throw new Error(`no column ${name} in ${head}`);
  return lines.map((line) => line.split(',')[columnIndex] ?? '');
}

describe.each(zones)('Time zone %s', (zone) => {
  const usageQuery = new URLSearchParams({ from: FROM, to: TO, zone, bucket: 'day' }).toString();
  const chargesWithin = () =>
    charges.filter(({ at }) => dayInZone(zone, at) >= FROM && dayInZone(zone, at) <= TO);

  test('every day has its own exact sum in the page data and in the API of the key', async () => {
    const expected = new Map<string, bigint>();
    for (const charge of chargesWithin()) {
      const day = dayInZone(zone, charge.at);
      expected.set(day, (expected.get(day) ?? 0n) + charge.nano);
    }
    const ownUsage = JSON.parse(
      await getBody(`/dashboard/api/usage?${usageQuery}&group_by=model`),
    ) as UsageResponse;
    const keyUsage = JSON.parse(
      await getBody(`/v1/usage?${usageQuery}`, { 'x-api-key': ada.key }),
    ) as UsageResponse;
    for (const usage of [ownUsage, keyUsage]) {
      const dayUsage = usage.data
        .filter(({ cost_nano }) => cost_nano !== '0')
        .map(({ start, cost_nano }) => [dayInZone(zone, Date.parse(start)), BigInt(cost_nano)]);
      expect(dayUsage).toEqual([...expected].sort(([a], [b]) => (a < b ? -1 : 1)));
      expect(BigInt(usage.total.cost_nano)).toBe(sumOf(chargesWithin()));
    }
    expect(nanoOf(ownUsage.groups ?? [])).toBe(sumOf(chargesWithin()));
  });

  test('the file, the tiles and the table under the chart show the same total', async () => {
    const total = sumOf(chargesWithin());
    const file = await getBody(`/dashboard/usage/export?${usageQuery}&group_by=model`);
    expect(columnOf(file, 'cost_nano').reduce((sum, cell) => sum + BigInt(cell), 0n)).toBe(total);
    expect(columnOf(file, 'cost').reduce((sum, cell) => sum + nanoOfDollars(cell), 0n)).toBe(total);
    const page = await getBody(`/dashboard/usage?${usageQuery}`);
    const formattedTotal = formatMoney('en', total);
    const tiles = page.slice(page.indexOf('class="tiles"'), page.indexOf('</dl>'));
    const foot = page.slice(page.indexOf('<tfoot>'), page.indexOf('</tfoot>'));
    expect([tiles.includes(formattedTotal), foot.includes(formattedTotal)]).toEqual([true, true]);
  });
});

test.each([
  ['2026-09-30', '2026-10-31'],
  ['2026-10-01', '2026-10-31'],
  ['2026-10-25', '2026-10-25'],
  ['2026-11-01', '2026-11-03'],
])('the statement and the ledger from %s to %s match the usage in UTC', async (from, to) => {
  const chargesWithin = charges.filter(
    ({ at }) => dayInZone('UTC', at) >= from && dayInZone('UTC', at) <= to,
  );
  const usage = JSON.parse(
    await getBody(`/dashboard/api/usage?from=${from}&to=${to}&zone=UTC&bucket=day`),
  ) as UsageResponse;
  expect(BigInt(usage.total.cost_nano)).toBe(sumOf(chargesWithin));
  const ledger = await getBody('/dashboard/billing/ledger/export');
  const kinds = columnOf(ledger, 'kind');
  const days = columnOf(ledger, 'at').map((at) => at.slice(0, 10));
  const spent = columnOf(ledger, 'amount_usd')
    .filter(
      (_, place) => kinds[place] === 'usage' && (days[place] ?? '') >= from && (days[place] ?? '') <= to,
    )
    .reduce((sum, cell) => sum - nanoOfDollars(cell), 0n);
  expect(spent).toBe(sumOf(chargesWithin));
  const statement = await getBody(`/dashboard/billing/statements?from=${from}&to=${to}`);
  expect(statement.includes(formatMoney('en', sumOf(chargesWithin)))).toBe(true);
});

test('the settlements of the ledger equal the total charges', async () => {
  const [row] = await app.database.query<{ spent: string }>(
    `SELECT -sum(e.amount) AS spent FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id
       JOIN ledger_transaction t ON t.id = e.transaction_id
      WHERE a.kind = 'wallet' AND a.owner_id = $1 AND t.kind = 'settlement'`,
    [ada.userId],
  );
  expect(BigInt(row?.spent ?? 0)).toBe(sumOf(charges));
});
