import { SeededRandom } from '../../system/seeded-random';
import type { RequestRecord } from '../../../src/audit';
import { formatMoney } from '#product/views';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { createChatRecord, storeRecords } from '../../support/records';

/** Time zones at both ends of the day, and with half-hour and quarter-hour offsets. */
const zones = [
  'UTC',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'Asia/Kathmandu',
  'America/St_Johns',
  'Europe/Berlin',
] as const;
const spans = [7, 30, 90] as const;
const models = ['alpha', 'beta'] as const;
const CASES = 6;
const CENT = 10_000_000n;

interface PeriodCharge {
  readonly at: number;
  readonly nano: bigint;
  readonly userId: number;
  readonly key: number;
  readonly model: string;
}

let app: TestApp;
let ada: { readonly userId: number; readonly cookie: string };
let bob: number;
let keys: readonly number[];
let charges: readonly PeriodCharge[];

const days = new Map<string, Intl.DateTimeFormat>();
function dayInZone(zone: string, at: number): string {
  const day = days.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  days.set(zone, day);
  return day.format(at);
}

/** Returns the first of a number of days ending today. */
const firstDay = (zone: string, count: number): string =>
  new Date(Date.parse(dayInZone(zone, Date.now())) - (count - 1) * 86_400_000).toISOString().slice(0, 10);

/** Instants on both sides of midnight in every zone, at and near the start of each period. */
function instants(now: number): number[] {
  const instantList = [now - 1_000, now - 3_600_000];
  for (const zone of zones)
    for (const daysBack of [0, 1, 6, 7, 29, 30, 31, 89, 90]) {
      // Bisection finds the day boundary independently of the code under test.
      let [before, after] = [now - (daysBack + 1) * 86_400_000, now - daysBack * 86_400_000];
      const day = dayInZone(zone, after);
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2);
        if (dayInZone(zone, middle) === day) after = middle;
        else before = middle;
      }
      instantList.push(before, after, after + 900_000);
    }
  return [...new Set(instantList)].filter((at) => at < now);
}

beforeAll(async () => {
  app = await startTestApp();
  await app.database.query("SELECT ensure_request_record_partitions((now() - interval '4 months')::date, 6)");
  const userId = await addUser(app, 'platform_admin');
  ada = { userId, cookie: await signIn(app, userId) };
  bob = await addUser(app);
  keys = [(await addKey(app, userId)).id, (await addKey(app, userId)).id, (await addKey(app, bob)).id];
  charges = instants(Date.now()).map((at, place) => ({
    at,
    nano: CENT * BigInt(place + 1),
    userId: place % 3 === 2 ? bob : userId,
    key: keys[place % 3]!,
    model: models[place % 2]!,
  }));
  await storeRecords(
    app,
    charges.map(({ at, nano, userId: owner, key, model }): RequestRecord =>
      createChatRecord(owner, key, {
        createdAt: new Date(at),
        costNano: nano,
        model,
        servedModel: model,
        inputTokens: 100,
        cacheReadTokens: 40,
        cacheWriteTokens: 7,
        outputTokens: 20,
        reasoningTokens: 5,
      }),
    ),
  );
});
afterAll(() => app.close());

async function getBody(path: string): Promise<string> {
  const answer = await fetch(app.url + path, {
    headers: { accept: 'text/html,application/json', cookie: ada.cookie },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${text.slice(0, 300)}`);
  return text.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&');
}

/** Repeats the check if midnight in the zone passed while it ran. */
async function withinOneDay<PeriodReading>(
  zone: string,
  readPages: () => Promise<PeriodReading>,
): Promise<PeriodReading> {
  for (;;) {
    const day = dayInZone(zone, Date.now());
    const reading = await readPages();
    if (dayInZone(zone, Date.now()) === day) return reading;
  }
}

const setZone = (zone: string) =>
  app.database.query('UPDATE user_account SET time_zone = $1 WHERE id = $2', [zone, ada.userId]);
const sumOf = (list: readonly PeriodCharge[]): bigint => list.reduce((sum, { nano }) => sum + nano, 0n);
const moneyOf = (list: readonly PeriodCharge[]): string => formatMoney('en', sumOf(list));
const chargesWithin = (zone: string, count: number): PeriodCharge[] => {
  const first = firstDay(zone, count);
  return charges.filter(({ at }) => dayInZone(zone, at) >= first);
};
const ofAda = ({ userId }: PeriodCharge): boolean => userId === ada.userId;

const textOf = (html: string): string => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
/** Returns the figure under a label of a tile or list. */
function figure(page: string, label: string): string {
  const figureHtml = new RegExp(`<dt>${label}\\b[\\s\\S]*?<dd[^>]*>([\\s\\S]*?)</dd>`).exec(page)?.[1];
  if (figureHtml === undefined) throw new Error(`there is no figure "${label}"`);
  return textOf(figureHtml).trim();
}
const scopeOf = (page: string): string => textOf(/<p class="scope">([\s\S]*?)<\/p>/.exec(page)?.[1] ?? '');
function columnOf(file: string, name: string): string[] {
  const [head = '', ...lines] = file.trimEnd().split('\r\n');
  return lines.map((line) => line.split(',')[head.split(',').indexOf(name)] ?? '');
}
const nanoOfDollars = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
};
const total = (data: string): bigint =>
  BigInt((JSON.parse(data) as { total: { cost_nano: string } }).total.cost_nano);

describe.each(zones)('Time zone %s', (zone) => {
  beforeAll(() => setZone(zone));

  test.each(spans)(
    'the overview, usage page and usage data have the same sum for the last %i days',
    (count) =>
      withinOneDay(zone, async () => {
        const expected = chargesWithin(zone, count).filter(ofAda);
        const overview = await getBody(`/dashboard?days=${count}`);
        const usage = await getBody(`/dashboard/usage?days=${count}`);
        expect(figure(overview, 'Spend')).toContain(moneyOf(expected));
        expect(figure(usage, 'Cost')).toContain(moneyOf(expected));
        expect(total(await getBody(`/dashboard/api/usage?days=${count}`))).toBe(sumOf(expected));
        // Both pages print the same start; the end is the time of the request.
        const periodStart = (page: string) => scopeOf(page).split(' – ')[0];
        expect(periodStart(overview)).toMatch(/^ ?Last \d+ days · \d+ \w+ \d{4}, \d\d:\d\d$/);
        expect(periodStart(usage)).toBe(periodStart(overview));
      }),
  );

  test('key pages, the request log and the administration have the same sums', () =>
    withinOneDay(zone, async () => {
      const expected = chargesWithin(zone, 30);
      const list = await getBody('/dashboard/keys');
      for (const key of keys.slice(0, 2)) {
        const ofKey = moneyOf(expected.filter((charge) => charge.key === key));
        const page = await getBody(`/dashboard/keys/${key}`);
        expect(figure(page, 'Spend')).toContain(ofKey);
        expect(figure(await getBody(`/dashboard/usage?days=30&key=${key}`), 'Cost')).toContain(ofKey);
        const row = list.split('<tr').find((part) => part.includes(`href="/dashboard/keys/${key}"`)) ?? '';
        expect(textOf(row)).toContain(ofKey);
      }
      for (const [hours, count] of [
        [168, 7],
        [720, 30],
      ] as const) {
        const home = await getBody(`/dashboard/admin?hours=${hours}`);
        expect(figure(home, 'Cost')).toContain(moneyOf(chargesWithin(zone, count)));
        expect(scopeOf(home)).toMatch(/Last \d+ days · \d+ \w+ \d{4}, 00:00 – /);
        const { steps } = JSON.parse(await getBody(`/dashboard/admin/api/dashboard?hours=${hours}`)) as {
          steps: { begins: string }[];
        };
        expect(steps.map(({ begins }) => dayInZone(zone, Date.parse(begins)))).toHaveLength(count);
      }
      const userPage = await getBody(`/dashboard/admin/users/${bob}?tab=usage`);
      for (const model of models)
        expect(textOf(userPage)).toContain(
          moneyOf(expected.filter((charge) => charge.userId === bob && charge.model === model)),
        );
    }));

  test('files and data agree for random filters', async () => {
    const random = new SeededRandom(zones.indexOf(zone) + 1);
    for (let turn = 0; turn < CASES; turn += 1) {
      const count = random.pick(spans);
      const [key, model] = [random.pick([null, ...keys.slice(0, 2)]), random.pick([null, ...models])];
      const query = new URLSearchParams({
        days: String(count),
        ...(key === null ? {} : { key: String(key) }),
        ...(model === null ? {} : { model }),
      }).toString();
      await withinOneDay(zone, async () => {
        const expected = chargesWithin(zone, count).filter(
          (charge) =>
            ofAda(charge) &&
            (key === null || charge.key === key) &&
            (model === null || charge.model === model),
        );
        const file = await getBody(`/dashboard/usage/export?${query}`);
        const log = await getBody(`/dashboard/request-log/export?${query}`);
        expect([
          query,
          total(await getBody(`/dashboard/api/usage?${query}`)),
          columnOf(file, 'cost_nano').reduce((sum, cell) => sum + BigInt(cell), 0n),
          columnOf(log, 'cost').reduce((sum, cell) => sum + nanoOfDollars(cell), 0n),
        ]).toEqual([query, sumOf(expected), sumOf(expected), sumOf(expected)]);
      });
    }
  });
});

test('the current month is the UTC budget month, and the page says so', () =>
  withinOneDay('UTC', async () => {
    await setZone('Pacific/Kiritimati');
    const month = `${dayInZone('UTC', Date.now()).slice(0, 7)}-01`;
    const expected = charges.filter(({ at, userId }) => userId === bob && dayInZone('UTC', at) >= month);
    const usersPage = await getBody('/dashboard/admin/users');
    const row = usersPage.split('<tr').find((part) => part.includes(`/dashboard/admin/users/${bob}"`)) ?? '';
    expect(textOf(row)).toContain(moneyOf(expected));
    expect(scopeOf(usersPage)).toMatch(/This month · 1 \w+ \d{4}, 00:00 – .* · UTC/);
    const usageQuery = `user_id=${bob}&from=${month}&zone=UTC`;
    expect(total(await getBody(`/dashboard/admin/api/usage?${usageQuery}`))).toBe(sumOf(expected));
  }));

test('a token type has one name and one sum on a page', async () => {
  await setZone('UTC');
  const page = await getBody('/dashboard/usage?days=90');
  const names = [...page.matchAll(/<(?:th|dt)[^>]*>([^<]*(?:nput|utput)[^<]*)/g)].map(([, name = '']) =>
    name.trim(),
  );
  expect(new Set(names)).toEqual(
    new Set([
      'Uncached input',
      'Cached input',
      'Output without reasoning',
      'All input tokens',
      'All output tokens',
    ]),
  );
  const row = (await getBody('/dashboard')).split('<tr').at(-1) ?? '';
  expect(textOf(row)).toContain('172');
});
