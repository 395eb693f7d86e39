import { serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { PostgresMoneyStore } from '#inside/billing/engine/store/postgres-money-store';
import { formatMoney } from '#product/views';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { signIn } from '../../support/people';

/** Changes of clocks by an hour, by half an hour, and one in each direction, in the weeks that are asked about. */
const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Europe/London'] as const;
const FROM = '2026-09-30';
const TO = '2026-11-03';

interface Charge {
  readonly at: number;
  readonly nano: bigint;
}

let app: TestApp;
let ada: Customer;
let cookie: string;
let charges: readonly Charge[];

const days = new Map<string, Intl.DateTimeFormat>();
function dayIn(zone: string, at: number): string {
  const day = days.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  days.set(zone, day);
  return day.format(at);
}
const sumOf = (list: readonly Charge[]): bigint => list.reduce((sum, { nano }) => sum + nano, 0n);

/** Both sides of every quarter of an hour at which a day begins somewhere, and of the hours that clocks repeat. */
function instants(): number[] {
  const places: number[] = [];
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
      places.push(at - 1, at);
    }
  }
  return [...new Set(places)];
}

beforeAll(async () => {
  app = await startTestApp();
  ada = await addCustomer(app, 'ada', 1_000_000_000_000n);
  cookie = await signIn(app, ada.userId);
  await app.database.query("SELECT ensure_request_record_partitions('2026-09-01', 3)");
  // Costs of which no two sums are alike, down to the nano-dollar.
  charges = instants().map((at, place) => ({ at, nano: 1_000_003n * BigInt(place + 1) + 7n }));
  const owners = { keyId: ada.keyId, userId: ada.userId, walletId: ada.userId };
  const records = charges.map(({ at, nano }, place) =>
    serialiseRecord(
      uuidv7(),
      at,
      ordinaryOutcome({
        ...owners,
        costNano: nano,
        model: `model-${place % 3}`,
        servedModel: `model-${place % 3}`,
      }),
    ),
  );
  const store = new PostgresMoneyStore(app.database);
  await store.settle({ lease: null, number: 1, records, releases: [] });
});
afterAll(() => app.close());

async function read(path: string, headers: Record<string, string> = { cookie }): Promise<string> {
  const answer = await fetch(app.url + path, {
    headers: { accept: 'text/html,application/json', ...headers },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${text.slice(0, 300)}`);
  return text;
}

interface Sums {
  readonly cost_nano: string;
}
interface Usage {
  readonly total: Sums;
  readonly groups?: readonly Sums[];
  readonly data: readonly (Sums & { readonly start: string })[];
}
const nanoOf = (list: readonly Sums[]): bigint =>
  list.reduce((sum, { cost_nano }) => sum + BigInt(cost_nano), 0n);

/** Dollars as files write them, in nano-dollars. */
function nanoOfDollars(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const nano = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
  return text.startsWith('-') ? -nano : nano;
}

function columnOf(file: string, name: string): string[] {
  const [head = '', ...lines] = file.trimEnd().split('\r\n');
  const place = head.split(',').indexOf(name);
  if (place === -1) throw new Error(`no column ${name} in ${head}`);
  return lines.map((line) => line.split(',')[place] ?? '');
}

describe.each(zones)('%s', (zone) => {
  const asked = new URLSearchParams({ from: FROM, to: TO, zone, bucket: 'day' }).toString();
  const within = () => charges.filter(({ at }) => dayIn(zone, at) >= FROM && dayIn(zone, at) <= TO);

  test('every day has its own nano-dollars, in the data of the page and of the key', async () => {
    const expected = new Map<string, bigint>();
    for (const charge of within()) {
      const day = dayIn(zone, charge.at);
      expected.set(day, (expected.get(day) ?? 0n) + charge.nano);
    }
    const own = JSON.parse(await read(`/dashboard/api/usage?${asked}&group_by=model`)) as Usage;
    const ofKey = JSON.parse(await read(`/v1/usage?${asked}`, { 'x-api-key': ada.key })) as Usage;
    for (const usage of [own, ofKey]) {
      const found = usage.data
        .filter(({ cost_nano }) => cost_nano !== '0')
        .map(({ start, cost_nano }) => [dayIn(zone, Date.parse(start)), BigInt(cost_nano)]);
      expect(found).toEqual([...expected].sort(([a], [b]) => (a < b ? -1 : 1)));
      expect(BigInt(usage.total.cost_nano)).toBe(sumOf(within()));
    }
    expect(nanoOf(own.groups ?? [])).toBe(sumOf(within()));
  });

  test('so have the file, the tiles and the table under the chart', async () => {
    const total = sumOf(within());
    const file = await read(`/dashboard/usage/export?${asked}&group_by=model`);
    expect(columnOf(file, 'cost_nano').reduce((sum, cell) => sum + BigInt(cell), 0n)).toBe(total);
    expect(columnOf(file, 'cost').reduce((sum, cell) => sum + nanoOfDollars(cell), 0n)).toBe(total);
    const page = await read(`/dashboard/usage?${asked}`);
    const written = formatMoney('en', total);
    const tiles = page.slice(page.indexOf('class="tiles"'), page.indexOf('</dl>'));
    const foot = page.slice(page.indexOf('<tfoot>'), page.indexOf('</tfoot>'));
    expect([tiles.includes(written), foot.includes(written)]).toEqual([true, true]);
  });
});

test.each([
  ['2026-09-30', '2026-10-31'],
  ['2026-10-01', '2026-10-31'],
  ['2026-10-25', '2026-10-25'],
  ['2026-11-01', '2026-11-03'],
])('the statement and the ledger from %s to %s say what usage in UTC says', async (from, to) => {
  const within = charges.filter(({ at }) => dayIn('UTC', at) >= from && dayIn('UTC', at) <= to);
  const usage = JSON.parse(
    await read(`/dashboard/api/usage?from=${from}&to=${to}&zone=UTC&bucket=day`),
  ) as Usage;
  expect(BigInt(usage.total.cost_nano)).toBe(sumOf(within));
  const ledger = await read('/dashboard/billing/ledger/export');
  const kinds = columnOf(ledger, 'kind');
  const days = columnOf(ledger, 'at').map((at) => at.slice(0, 10));
  const spent = columnOf(ledger, 'amount_usd')
    .filter(
      (_, place) => kinds[place] === 'usage' && (days[place] ?? '') >= from && (days[place] ?? '') <= to,
    )
    .reduce((sum, cell) => sum - nanoOfDollars(cell), 0n);
  expect(spent).toBe(sumOf(within));
  const statement = await read(`/dashboard/billing/statements?from=${from}&to=${to}`);
  expect(statement.includes(formatMoney('en', sumOf(within)))).toBe(true);
});

test('the settlements of the ledger are what was charged in all', async () => {
  const [row] = await app.database.query<{ spent: string }>(
    `SELECT -sum(e.amount) AS spent FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id
       JOIN ledger_transaction t ON t.id = e.transaction_id
      WHERE a.kind = 'wallet' AND a.owner_id = $1 AND t.kind = 'settlement'`,
    [ada.userId],
  );
  expect(BigInt(row?.spent ?? 0)).toBe(sumOf(charges));
});
