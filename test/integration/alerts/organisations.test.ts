import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { Ledger, Limits, type BudgetScope } from '#product/billing';
import { Client } from 'pg';
import type { Loose } from '../../support/alert-receivers';
import { written } from '../../support/a-record';
import { addKey } from '../../support/people';
import { chatRecord } from '../../support/records';
import type { Person } from '../admin/house';
import { AlertHouse, DAY, HOUR, MINUTE, PATH } from './alert-house';

const USD = 1_000_000_000n;

let house: AlertHouse;
let owner: Person;
let database: Client;

beforeAll(async () => {
  house = await AlertHouse.open();
  owner = await house.house.person('org_owner');
  database = new Client(house.house.app.environment['MIGRATION_DATABASE_URL']);
  await database.connect();
  await house.channel(owner, 'webhook');
});
afterAll(async () => {
  await database.query('DELETE FROM spending_bucket');
  await database.query('UPDATE spending_window SET spent = 0');
  await database.end();
  await house.close();
});
beforeEach(async () => {
  house.receivers.clear();
  await house.query('DELETE FROM alert');
});

const told = () =>
  house.receivers.of('webhook').map(({ type, data }) => {
    const { kind, severity } = data as Loose;
    return [type, kind, severity];
  });

/** A budget without a period does not end while a test moves the clock. */
async function setBudget(
  scope: BudgetScope,
  limit: bigint,
  period: 'monthly' | 'total' = 'total',
): Promise<void> {
  const limits = house.service(Limits);
  await house.house.app.database.transaction((tx) => limits.set(tx, scope, { period, limit }), {
    withoutActivity: 'a test',
  });
  await database.query('SELECT open_spending_windows($1::text[], $2::bigint[], now())', [
    [scope.kind],
    [scope.id],
  ]);
}

const spend = (scope: BudgetScope, spent: bigint): Promise<unknown> =>
  database.query('UPDATE spending_window SET spent = $3 WHERE kind = $1 AND owner_id = $2', [
    ...[scope.kind, scope.id, spent.toString()],
  ]);

/** Requests of an organisation: so many dollars a day, for so many days that end yesterday, and so many today. */
async function spendDaily(organisationId: number, userId: number, perDay: readonly number[]): Promise<void> {
  const key = await addKey(house.house.app, userId);
  const today = Math.floor(Date.now() / DAY) * DAY;
  const records = perDay.map((dollars, place): RequestRecord => {
    const at = today - (perDay.length - 1 - place) * DAY;
    return chatRecord(userId, key.id, {
      organisationId,
      createdAt: new Date(at + 1_000),
      costNano: BigInt(Math.round(dollars * 100)) * (USD / 100n),
    });
  });
  await house.house.app.database.transaction((tx) => insertRequestRecords(tx, records.map(written)), {
    withoutActivity: 'a test',
  });
}

test('a budget is one alert, told at each of its steps, and over when its limit is raised', async () => {
  const scope = { kind: 'organisation', id: house.house.ours } as const;
  await setBudget(scope, 10n * USD);
  await spend(scope, 4n * USD);
  await house.pass();
  expect(await house.alerts('budget-used')).toEqual([]);
  for (const [spent, severity] of [
    [5n, 'info'],
    [8n, 'warning'],
    [10n, 'urgent'],
  ] as const) {
    await spend(scope, spent * USD);
    await house.pass();
    await house.pass();
    expect(await house.alerts('budget-used')).toMatchObject([
      { severity, state: 'firing', organisation_id: scope.id },
    ]);
  }
  expect(told()).toEqual([
    ['alert.triggered', 'budget-used', 'info'],
    ['alert.raised', 'budget-used', 'warning'],
    ['alert.raised', 'budget-used', 'urgent'],
  ]);
  expect(house.receivers.of('webhook')[2]).toMatchObject({
    data: { text: expect.stringContaining('$10.00 of $10.00') },
  });
  await spend(scope, 2n * USD);
  await house.pass();
  await house.pass(4 * MINUTE);
  expect(told()).toHaveLength(3);
  await house.pass(2 * MINUTE);
  expect(told()[3]).toEqual(['alert.resolved', 'budget-used', 'urgent']);
});

test('what comes back before it was over for a while does not fire anew', async () => {
  const scope = { kind: 'organisation', id: house.house.ours } as const;
  await setBudget(scope, 10n * USD);
  for (let turn = 0; turn < 6; turn += 1) {
    await spend(scope, (turn % 2 === 0 ? 6n : 1n) * USD);
    await house.pass(2 * MINUTE);
  }
  expect(await house.alerts('budget-used')).toHaveLength(1);
  expect(told()).toEqual([['alert.triggered', 'budget-used', 'info']]);
  await spend(scope, 0n);
});

test('other mails tell of budgets and balances: a channel of mails leaves them out', async () => {
  await house.channel(owner, 'mail');
  const scope = { kind: 'organisation', id: house.house.ours } as const;
  await setBudget(scope, 10n * USD);
  await spend(scope, 10n * USD - 1_000_000n);
  await house.pass();
  expect(house.receivers.of('webhook')[0]).toMatchObject({
    data: { text: expect.stringContaining('$9.999 of $10.00') },
  });
  const rows = await house.query<{ kind: string }>(
    `SELECT c.kind FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id`,
  );
  expect(rows).toEqual([{ kind: 'webhook' }]);
  await spend(scope, 0n);
});

test('rules say which steps count, what is watched at all, and until when nobody is told', async () => {
  const scope = { kind: 'organisation', id: house.house.ours } as const;
  await setBudget(scope, 10n * USD);
  await spend(scope, 7n * USD);
  const rule = (more: object) =>
    house.house.post(owner, `${PATH}/rules/budget-used`, { enabled: true, first: 70, second: 90, ...more });
  expect((await rule({ muted_until: new Date(house.now + HOUR).toISOString() })).status).toBe(200);
  await house.pass();
  expect(await house.alerts('budget-used')).toMatchObject([{ severity: 'info', facts: { percent: 70 } }]);
  expect(told()).toEqual([]);
  await house.pass(61 * MINUTE);
  expect(told()).toEqual([['alert.triggered', 'budget-used', 'info']]);
  await spend(scope, 8n * USD);
  await house.pass();
  expect(told()).toHaveLength(1);
  expect((await rule({ enabled: false })).status).toBe(200);
  await house.pass();
  await house.pass(6 * MINUTE);
  expect(told()[1]).toEqual(['alert.resolved', 'budget-used', 'info']);

  for (const [body, param] of [
    [{ first: 0 }, 'first'],
    [{ dollars: 3 }, 'dollars'],
    [{ channels: [1] }, 'channels'],
  ] as const)
    expect(await rule(body)).toMatchObject({ status: 422, body: { param } });
  expect((await rule({ enabled: true, first: 50, second: 80 })).status).toBe(200);
  expect((await house.house.post(owner, `${PATH}/rules/disk-low`, { enabled: false })).status).toBe(404);
  await spend(scope, 0n);
});

test('nobody is told in quiet hours, but of what is urgent; what fires on is told after them, and again after a day', async () => {
  const scope = { kind: 'organisation', id: house.house.ours } as const;
  const hour = (ahead: number) => new Date(house.now + ahead * HOUR).toISOString().slice(11, 16);
  const settings = {
    ...{ time_zone: 'UTC', urgent_breaks_quiet: true, repeat_hours: 24 },
    ...{ quiet_from: hour(-1), quiet_to: hour(2) },
  };
  expect((await house.house.post(owner, `${PATH}/settings`, settings)).status).toBe(200);
  await setBudget(scope, 10n * USD);
  await spend(scope, 6n * USD);
  await house.pass();
  expect(told()).toEqual([]);
  await spend(scope, 10n * USD);
  await house.pass();
  expect(told()).toEqual([['alert.triggered', 'budget-used', 'urgent']]);
  await spend(scope, 6n * USD);
  const other = { kind: 'user', id: owner.id } as const;
  await setBudget(other, 10n * USD);
  await spend(other, 6n * USD);
  await house.pass();
  expect(told()).toHaveLength(1);
  await house.pass(2 * HOUR);
  expect(told()).toHaveLength(2);
  await house.pass(24 * HOUR);
  expect(told().map(([type]) => type)).toEqual(expect.arrayContaining(['alert.repeated']));
  for (const each of [scope, other]) await spend(each, 0n);
  expect(await house.house.post(owner, `${PATH}/settings`, { ...settings, quiet_to: null })).toMatchObject({
    status: 422,
    body: { param: 'quiet_to' },
  });
  await house.house.post(owner, `${PATH}/settings`, { ...settings, quiet_from: null, quiet_to: null });
});

test('a day that costs five times its usual is found, and what is usual is said', async () => {
  const [organisationId, calm] = [house.house.theirs, await house.house.organisation()];
  const [one, two] = [
    await house.house.person('org_owner', { organisationId }),
    await house.house.person('org_owner', { organisationId: calm }),
  ];
  await spendDaily(organisationId, one.id, [...Array<number>(30).fill(20), 100]);
  await spendDaily(calm, two.id, [...Array<number>(30).fill(20), 30]);
  await house.query('DELETE FROM spend_day');
  house.now = Math.floor(Date.now() / DAY) * DAY + 12 * HOUR;
  // Eight weeks are summed in four looks.
  for (let turn = 0; turn < 5; turn += 1) await house.pass(16 * MINUTE);
  expect(await house.alerts('spend-anomaly')).toMatchObject([
    { organisation_id: organisationId, facts: { spent_nano: '100000000000', usual_nano: '20000000000' } },
  ]);
});

/** Eight weeks of finished days that cost so much each. */
const pastDays = (scope: string, id: number, perDay: bigint): Promise<unknown> =>
  house.query(
    `INSERT INTO spend_day (scope, number, day, cost_nano)
     SELECT s.scope, s.number, d::date, s.cost
       FROM generate_series(now() - interval '56 days', now() - interval '1 day', interval '1 day') AS d,
            (VALUES ($1, $2::bigint, $3::bigint), ('all', 0, 0)) AS s (scope, number, cost)
     ON CONFLICT DO NOTHING`,
    [scope, id, perDay.toString()],
  );

test('a budget that will run out before its period ends is told with the hour at which it does', async () => {
  const scope = { kind: 'organisation', id: await house.house.organisation() } as const;
  await setBudget(scope, 100n * USD, 'monthly');
  await spend(scope, 95n * USD);
  await pastDays('organisation', scope.id, 20n * USD);
  const noon = Math.floor(Date.now() / DAY) * DAY + 12 * HOUR;
  house.now = noon - 16 * MINUTE;
  await house.pass(16 * MINUTE);
  // Twenty more are usual today, and a quarter of them is left.
  expect(await house.alerts('budget-forecast')).toMatchObject([
    { organisation_id: scope.id, facts: { percent: 95, out_at: new Date(noon + 3 * HOUR).toISOString() } },
  ]);
  await spend(scope, 0n);
});

test('a wallet is told when it is low, and when it will be empty within a week; not where top-ups come by themselves', async () => {
  const { id } = await house.house.person('user', { billingExempt: false });
  const ledger = house.service(Ledger);
  await house.house.app.database.transaction(
    (tx) =>
      ledger.post(tx, {
        ...{ walletId: id, amount: 30n * USD, against: 'promotion', kind: 'welcome', ref: 'a wallet' },
      }),
    { withoutActivity: 'a test' },
  );
  await database.query('INSERT INTO billing_account (wallet_id, low_balance_nano) VALUES ($1, $2)', [
    ...[id, (50n * USD).toString()],
  ]);
  await database.query(
    `INSERT INTO payment (public_id, wallet_id, kind, live_mode, net_cents, fee_cents, gross_cents, state, paid_at)
     VALUES (gen_random_uuid(), $1, 'checkout', false, 500, 27, 527, 'paid', now())`,
    [id],
  );
  await pastDays('wallet', id, 10n * USD);
  house.now = Math.floor(Date.now() / DAY) * DAY + 12 * HOUR;
  await house.pass(16 * MINUTE);
  const facts = { balance_nano: (30n * USD).toString() };
  for (const kind of ['wallet-low', 'wallet-forecast'])
    expect(await house.alerts(kind)).toMatchObject([{ subject: `wallet ${id}`, state: 'firing', facts }]);
  await database.query(
    `UPDATE billing_account SET low_balance_nano = 0, automatic = true, threshold_nano = 1, top_up_cents = 1000,
            monthly_ceiling_cents = 10000 WHERE wallet_id = $1`,
    [id],
  );
  await house.pass(16 * MINUTE);
  await house.pass(16 * MINUTE);
  for (const kind of ['wallet-low', 'wallet-forecast'])
    expect(await house.alerts(kind)).toMatchObject([{ state: 'resolved' }]);
  await database.query('DELETE FROM payment WHERE wallet_id = $1', [id]);
});

test('keys that end soon are told to their organisation', async () => {
  const person = await house.house.person('user');
  house.now = Math.max(house.now, Date.now());
  const soon = await addKey(house.house.app, person.id, { expiresAt: new Date(house.now + 3 * DAY) });
  await addKey(house.house.app, person.id, { expiresAt: new Date(house.now + 40 * DAY) });
  await house.pass(16 * MINUTE);
  expect(await house.alerts('key-ending')).toMatchObject([
    { organisation_id: house.house.ours, subject: `key ${soon.id}` },
  ]);
  expect(told()).toEqual([['alert.triggered', 'key-ending', 'warning']]);
});

test('an organisation sees its own alerts alone, and a department those of its own', async () => {
  const [department] = await house.query<{ id: number }>(
    `INSERT INTO department (organisation_id, name) VALUES ($1, 'Research') RETURNING id`,
    [house.house.ours],
  );
  const head = await house.house.person('department_admin', { departmentId: department!.id });
  const stranger = await house.house.person('org_admin', { organisationId: house.house.theirs });
  const scopes = [
    { kind: 'department', id: department!.id },
    { kind: 'user', id: owner.id },
  ] as const;
  for (const scope of scopes) {
    await setBudget(scope, 10n * USD);
    await spend(scope, 9n * USD);
  }
  await house.pass();
  const [first, second] = await house.alerts('budget-used');
  const seen = async (person: Person): Promise<string[]> => {
    const { text } = await house.house.get(person, PATH);
    return [first!, second!].filter(({ id }) => text.includes(`${PATH}/${id}`)).map(({ subject }) => subject);
  };
  expect((await seen(owner)).sort()).toEqual([`department ${department!.id}`, `user ${owner.id}`]);
  expect(await seen(head)).toEqual([`department ${department!.id}`]);
  expect(await seen(stranger)).toEqual([]);
  const [own, foreign] = first!.subject.startsWith('department') ? [first!, second!] : [second!, first!];
  expect((await house.house.get(head, `${PATH}/${own.id}`)).text).toContain('department Research');
  for (const person of [head, stranger]) {
    expect((await house.house.get(person, `${PATH}/${foreign.id}`)).status).toBe(404);
    expect((await house.house.post(person, `${PATH}/${foreign.id}/acknowledge`)).status).toBe(404);
  }
  for (const path of ['rules', 'channels'])
    expect((await house.house.get(head, `${PATH}/${path}`)).status).toBe(403);
  expect((await house.house.post(head, `${PATH}/${own.id}/acknowledge`)).status).toBe(200);
  expect((await house.alerts('budget-used')).find(({ id }) => id === own.id)).toMatchObject({
    state: 'acknowledged',
  });
  for (const scope of scopes) await spend(scope, 0n);
});

test('channels of others are as those that do not exist', async () => {
  const stranger = await house.house.person('org_owner', { organisationId: house.house.theirs });
  const [channel] = await house.query<{ id: number }>(
    'SELECT id FROM alert_channel WHERE organisation_id = $1',
    [house.house.ours],
  );
  const form = { name: 'mine now', least_severity: 'info', language: 'en' };
  for (const act of ['update', 'test', 'remove'])
    expect((await house.house.post(stranger, `${PATH}/channels/${channel!.id}/${act}`, form)).status).toBe(
      404,
    );
  expect((await house.house.get(stranger, `${PATH}/channels`)).text).not.toContain('our webhook');
});
