import { Chance } from '../../system/chance';
import type { RequestRecord } from '../../../src/audit';
import { formatMoney } from '#product/views';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { chatRecord, putRecords } from '../../support/records';

/** Zones on both edges of the day, and with offsets of half an hour and of a quarter. */
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

interface Charge {
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
let charges: readonly Charge[];

const days = new Map<string, Intl.DateTimeFormat>();
function dayIn(zone: string, at: number): string {
  const day = days.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  days.set(zone, day);
  return day.format(at);
}

/** The first day of so many that end today. */
const firstDay = (zone: string, count: number): string =>
  new Date(Date.parse(dayIn(zone, Date.now())) - (count - 1) * 86_400_000).toISOString().slice(0, 10);

/** Both sides of midnight in every zone, where the periods begin and around them. */
function instants(now: number): number[] {
  const places = [now - 1_000, now - 3_600_000];
  for (const zone of zones)
    for (const back of [0, 1, 6, 7, 29, 30, 31, 89, 90]) {
      // The change of days is found by halves, so that nothing of what is tested computes it.
      let [before, after] = [now - (back + 1) * 86_400_000, now - back * 86_400_000];
      const day = dayIn(zone, after);
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2);
        if (dayIn(zone, middle) === day) after = middle;
        else before = middle;
      }
      places.push(before, after, after + 900_000);
    }
  return [...new Set(places)].filter((at) => at < now);
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
  await putRecords(
    app,
    charges.map(({ at, nano, userId: owner, key, model }): RequestRecord =>
      chatRecord(owner, key, {
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

async function read(path: string): Promise<string> {
  const answer = await fetch(app.url + path, {
    headers: { accept: 'text/html,application/json', cookie: ada.cookie },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${text.slice(0, 300)}`);
  return text.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&');
}

/** The finding belongs to one day of the zone: it is read again when midnight came in between. */
async function steady<Found>(zone: string, look: () => Promise<Found>): Promise<Found> {
  for (;;) {
    const day = dayIn(zone, Date.now());
    const found = await look();
    if (dayIn(zone, Date.now()) === day) return found;
  }
}

const settle = (zone: string) =>
  app.database.query('UPDATE user_account SET time_zone = $1 WHERE id = $2', [zone, ada.userId]);
const sumOf = (list: readonly Charge[]): bigint => list.reduce((sum, { nano }) => sum + nano, 0n);
const moneyOf = (list: readonly Charge[]): string => formatMoney('en', sumOf(list));
const within = (zone: string, count: number): Charge[] => {
  const first = firstDay(zone, count);
  return charges.filter(({ at }) => dayIn(zone, at) >= first);
};
const ofAda = ({ userId }: Charge): boolean => userId === ada.userId;

const textOf = (html: string): string => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
/** The figure under a label of a tile or of a list of figures. */
function figure(page: string, label: string): string {
  const found = new RegExp(`<dt>${label}\\b[\\s\\S]*?<dd[^>]*>([\\s\\S]*?)</dd>`).exec(page)?.[1];
  if (found === undefined) throw new Error(`there is no figure "${label}"`);
  return textOf(found).trim();
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

describe.each(zones)('%s', (zone) => {
  beforeAll(() => settle(zone));

  test.each(spans)('the overview, usage and its data sum the same calls of the last %i days', (count) =>
    steady(zone, async () => {
      const expected = within(zone, count).filter(ofAda);
      const overview = await read(`/dashboard?days=${count}`);
      const usage = await read(`/dashboard/usage?days=${count}`);
      expect(figure(overview, 'Spend')).toContain(moneyOf(expected));
      expect(figure(usage, 'Cost')).toContain(moneyOf(expected));
      expect(total(await read(`/dashboard/api/usage?days=${count}`))).toBe(sumOf(expected));
      // Both print the same beginning; the end is the minute of reading.
      const begin = (page: string) => scopeOf(page).split(' – ')[0];
      expect(begin(overview)).toMatch(/^ ?Last \d+ days · \d+ \w+ \d{4}, \d\d:\d\d$/);
      expect(begin(usage)).toBe(begin(overview));
    }),
  );

  test('so do the pages of keys, the log and the administration', () =>
    steady(zone, async () => {
      const expected = within(zone, 30);
      const list = await read('/dashboard/keys');
      for (const key of keys.slice(0, 2)) {
        const ofKey = moneyOf(expected.filter((charge) => charge.key === key));
        const page = await read(`/dashboard/keys/${key}`);
        expect(figure(page, 'Spend')).toContain(ofKey);
        expect(figure(await read(`/dashboard/usage?days=30&key=${key}`), 'Cost')).toContain(ofKey);
        const row = list.split('<tr').find((part) => part.includes(`href="/dashboard/keys/${key}"`)) ?? '';
        expect(textOf(row)).toContain(ofKey);
      }
      for (const [hours, count] of [
        [168, 7],
        [720, 30],
      ] as const) {
        const home = await read(`/dashboard/admin?hours=${hours}`);
        expect(figure(home, 'Cost')).toContain(moneyOf(within(zone, count)));
        expect(scopeOf(home)).toMatch(/Last \d+ days · \d+ \w+ \d{4}, 00:00 – /);
        const { steps } = JSON.parse(await read(`/dashboard/admin/api/dashboard?hours=${hours}`)) as {
          steps: { begins: string }[];
        };
        expect(steps.map(({ begins }) => dayIn(zone, Date.parse(begins)))).toHaveLength(count);
      }
      const person = await read(`/dashboard/admin/users/${bob}?tab=usage`);
      for (const model of models)
        expect(textOf(person)).toContain(
          moneyOf(expected.filter((charge) => charge.userId === bob && charge.model === model)),
        );
    }));

  test('files and data agree over filters by chance', async () => {
    const chance = new Chance(zones.indexOf(zone) + 1);
    for (let turn = 0; turn < CASES; turn += 1) {
      const count = chance.pick(spans);
      const [key, model] = [chance.pick([null, ...keys.slice(0, 2)]), chance.pick([null, ...models])];
      const query = new URLSearchParams({
        days: String(count),
        ...(key === null ? {} : { key: String(key) }),
        ...(model === null ? {} : { model }),
      }).toString();
      await steady(zone, async () => {
        const expected = within(zone, count).filter(
          (charge) =>
            ofAda(charge) &&
            (key === null || charge.key === key) &&
            (model === null || charge.model === model),
        );
        const file = await read(`/dashboard/usage/export?${query}`);
        const log = await read(`/dashboard/request-log/export?${query}`);
        expect([
          query,
          total(await read(`/dashboard/api/usage?${query}`)),
          columnOf(file, 'cost_nano').reduce((sum, cell) => sum + BigInt(cell), 0n),
          columnOf(log, 'cost').reduce((sum, cell) => sum + nanoOfDollars(cell), 0n),
        ]).toEqual([query, sumOf(expected), sumOf(expected), sumOf(expected)]);
      });
    }
  });
});

test('this month is the month of budgets, and says so', () =>
  steady('UTC', async () => {
    await settle('Pacific/Kiritimati');
    const month = `${dayIn('UTC', Date.now()).slice(0, 7)}-01`;
    const expected = charges.filter(({ at, userId }) => userId === bob && dayIn('UTC', at) >= month);
    const people = await read('/dashboard/admin/users');
    const row = people.split('<tr').find((part) => part.includes(`/dashboard/admin/users/${bob}"`)) ?? '';
    expect(textOf(row)).toContain(moneyOf(expected));
    expect(scopeOf(people)).toMatch(/This month · 1 \w+ \d{4}, 00:00 – .* · UTC/);
    const asked = `user_id=${bob}&from=${month}&zone=UTC`;
    expect(total(await read(`/dashboard/admin/api/usage?${asked}`))).toBe(sumOf(expected));
  }));

test('a kind of tokens has one name on a page, and one sum', async () => {
  await settle('UTC');
  const page = await read('/dashboard/usage?days=90');
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
  const row = (await read('/dashboard')).split('<tr').at(-1) ?? '';
  expect(textOf(row)).toContain('172');
});
