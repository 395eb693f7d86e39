import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { Ledger, Limits, type BudgetScope } from '#product/billing';
import { Client } from 'pg';
import type { LooseObject } from '../../support/alert-receivers';
import { toWrittenRecord } from '../../support/record-fixture';
import { addKey } from '../../support/users';
import { createChatRecord } from '../../support/records';
import type { Person } from '../admin/portal-fixture';
import { AlertFixture, DAY_MS, HOUR_MS, MINUTE_MS, ALERTS_PATH } from './alert-fixture';

const USD = 1_000_000_000n;

let fixture: AlertFixture;
let owner: Person;
let database: Client;

beforeAll(async () => {
  fixture = await AlertFixture.open();
  owner = await fixture.portal.person('org_owner');
  database = new Client(fixture.portal.app.environment['MIGRATION_DATABASE_URL']);
  await database.connect();
  await fixture.createChannel(owner, 'webhook');
});
afterAll(async () => {
  await database.query('DELETE FROM spending_bucket');
  await database.query('UPDATE spending_window SET spent = 0');
  await database.end();
  await fixture.close();
});
beforeEach(async () => {
  fixture.receivers.clear();
  await fixture.query('DELETE FROM alert');
});

const messageCount = () =>
  fixture.receivers.acceptedBy('webhook').map(({ type, data }) => {
    const { kind, severity } = data as LooseObject;
    return [type, kind, severity];
  });

/** A total budget has no period that could end when a test moves the clock. */
async function setBudget(
  scope: BudgetScope,
  limit: bigint,
  period: 'monthly' | 'total' = 'total',
): Promise<void> {
  const limits = fixture.getService(Limits);
  await fixture.portal.app.database.transaction((tx) => limits.set(tx, scope, { period, limit }), {
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

/** Inserts requests with these dollars per day; the last day is today. */
async function spendPerDay(organisationId: number, userId: number, perDay: readonly number[]): Promise<void> {
  const key = await addKey(fixture.portal.app, userId);
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const records = perDay.map((dollars, place): RequestRecord => {
    const at = today - (perDay.length - 1 - place) * DAY_MS;
    return createChatRecord(userId, key.id, {
      organisationId,
      createdAt: new Date(at + 1_000),
      costNano: BigInt(Math.round(dollars * 100)) * (USD / 100n),
    });
  });
  await fixture.portal.app.database.transaction(
    (tx) => insertRequestRecords(tx, records.map(toWrittenRecord)),
    {
      withoutActivity: 'a test',
    },
  );
}

test('a budget has one alert, updated at each threshold and resolved when the limit is raised', async () => {
  const scope = { kind: 'organisation', id: fixture.portal.ownOrganisation } as const;
  await setBudget(scope, 10n * USD);
  await spend(scope, 4n * USD);
  await fixture.poll();
  expect(await fixture.alerts('budget-used')).toEqual([]);
  for (const [spent, severity] of [
    [5n, 'info'],
    [8n, 'warning'],
    [10n, 'urgent'],
  ] as const) {
    await spend(scope, spent * USD);
    await fixture.poll();
    await fixture.poll();
    expect(await fixture.alerts('budget-used')).toMatchObject([
      { severity, state: 'firing', organisation_id: scope.id },
    ]);
  }
  expect(messageCount()).toEqual([
    ['alert.triggered', 'budget-used', 'info'],
    ['alert.raised', 'budget-used', 'warning'],
    ['alert.raised', 'budget-used', 'urgent'],
  ]);
  expect(fixture.receivers.acceptedBy('webhook')[2]).toMatchObject({
    data: { text: expect.stringContaining('$10.00 of $10.00') },
  });
  await spend(scope, 2n * USD);
  await fixture.poll();
  await fixture.poll(4 * MINUTE_MS);
  expect(messageCount()).toHaveLength(3);
  await fixture.poll(2 * MINUTE_MS);
  expect(messageCount()[3]).toEqual(['alert.resolved', 'budget-used', 'urgent']);
});

test('an alert that recurs before it stays resolved for a while does not fire again', async () => {
  const scope = { kind: 'organisation', id: fixture.portal.ownOrganisation } as const;
  await setBudget(scope, 10n * USD);
  for (let turn = 0; turn < 6; turn += 1) {
    await spend(scope, (turn % 2 === 0 ? 6n : 1n) * USD);
    await fixture.poll(2 * MINUTE_MS);
  }
  expect(await fixture.alerts('budget-used')).toHaveLength(1);
  expect(messageCount()).toEqual([['alert.triggered', 'budget-used', 'info']]);
  await spend(scope, 0n);
});

test('an email channel leaves out budgets and balances, which have their own emails', async () => {
  await fixture.createChannel(owner, 'mail');
  const scope = { kind: 'organisation', id: fixture.portal.ownOrganisation } as const;
  await setBudget(scope, 10n * USD);
  await spend(scope, 10n * USD - 1_000_000n);
  await fixture.poll();
  expect(fixture.receivers.acceptedBy('webhook')[0]).toMatchObject({
    data: { text: expect.stringContaining('$9.999 of $10.00') },
  });
  const rows = await fixture.query<{ kind: string }>(
    `SELECT c.kind FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id`,
  );
  expect(rows).toEqual([{ kind: 'webhook' }]);
  await spend(scope, 0n);
});

test('rules set thresholds, disable checks and mute alerts until a date', async () => {
  const scope = { kind: 'organisation', id: fixture.portal.ownOrganisation } as const;
  await setBudget(scope, 10n * USD);
  await spend(scope, 7n * USD);
  const submitRule = (more: object) =>
    fixture.portal.post(owner, `${ALERTS_PATH}/rules/budget-used`, {
      enabled: true,
      first: 70,
      second: 90,
      ...more,
    });
  expect((await submitRule({ muted_until: new Date(fixture.now + HOUR_MS).toISOString() })).status).toBe(200);
  await fixture.poll();
  expect(await fixture.alerts('budget-used')).toMatchObject([{ severity: 'info', facts: { percent: 70 } }]);
  expect(messageCount()).toEqual([]);
  await fixture.poll(61 * MINUTE_MS);
  expect(messageCount()).toEqual([['alert.triggered', 'budget-used', 'info']]);
  await spend(scope, 8n * USD);
  await fixture.poll();
  expect(messageCount()).toHaveLength(1);
  expect((await submitRule({ enabled: false })).status).toBe(200);
  await fixture.poll();
  await fixture.poll(6 * MINUTE_MS);
  expect(messageCount()[1]).toEqual(['alert.resolved', 'budget-used', 'info']);

  for (const [body, param] of [
    [{ first: 0 }, 'first'],
    [{ dollars: 3 }, 'dollars'],
    [{ channels: [1] }, 'channels'],
  ] as const)
    expect(await submitRule(body)).toMatchObject({ status: 422, body: { param } });
  expect((await submitRule({ enabled: true, first: 50, second: 80 })).status).toBe(200);
  expect((await fixture.portal.post(owner, `${ALERTS_PATH}/rules/disk-low`, { enabled: false })).status).toBe(
    404,
  );
  await spend(scope, 0n);
});

test('quiet hours delay all but urgent messages, and open alerts are repeated after them and daily', async () => {
  const scope = { kind: 'organisation', id: fixture.portal.ownOrganisation } as const;
  const hourIn = (ahead: number) => new Date(fixture.now + ahead * HOUR_MS).toISOString().slice(11, 16);
  const settings = {
    ...{ time_zone: 'UTC', urgent_breaks_quiet: true, repeat_hours: 24 },
    ...{ quiet_from: hourIn(-1), quiet_to: hourIn(2) },
  };
  expect((await fixture.portal.post(owner, `${ALERTS_PATH}/settings`, settings)).status).toBe(200);
  await setBudget(scope, 10n * USD);
  await spend(scope, 6n * USD);
  await fixture.poll();
  expect(messageCount()).toEqual([]);
  await spend(scope, 10n * USD);
  await fixture.poll();
  expect(messageCount()).toEqual([['alert.triggered', 'budget-used', 'urgent']]);
  await spend(scope, 6n * USD);
  const otherScope = { kind: 'user', id: owner.id } as const;
  await setBudget(otherScope, 10n * USD);
  await spend(otherScope, 6n * USD);
  await fixture.poll();
  expect(messageCount()).toHaveLength(1);
  await fixture.poll(2 * HOUR_MS);
  expect(messageCount()).toHaveLength(2);
  await fixture.poll(24 * HOUR_MS);
  expect(messageCount().map(([type]) => type)).toEqual(expect.arrayContaining(['alert.repeated']));
  for (const each of [scope, otherScope]) await spend(each, 0n);
  expect(
    await fixture.portal.post(owner, `${ALERTS_PATH}/settings`, { ...settings, quiet_to: null }),
  ).toMatchObject({
    status: 422,
    body: { param: 'quiet_to' },
  });
  await fixture.portal.post(owner, `${ALERTS_PATH}/settings`, {
    ...settings,
    quiet_from: null,
    quiet_to: null,
  });
});

test('a day with five times the usual cost fires an alert that reports the usual cost', async () => {
  const [organisationId, calm] = [fixture.portal.otherOrganisation, await fixture.portal.organisation()];
  const [one, two] = [
    await fixture.portal.person('org_owner', { organisationId }),
    await fixture.portal.person('org_owner', { organisationId: calm }),
  ];
  await spendPerDay(organisationId, one.id, [...Array<number>(30).fill(20), 100]);
  await spendPerDay(calm, two.id, [...Array<number>(30).fill(20), 30]);
  await fixture.query('DELETE FROM spend_day');
  fixture.now = Math.floor(Date.now() / DAY_MS) * DAY_MS + 12 * HOUR_MS;
  // Eight weeks of history are summed in four checks.
  for (let turn = 0; turn < 5; turn += 1) await fixture.poll(16 * MINUTE_MS);
  expect(await fixture.alerts('spend-anomaly')).toMatchObject([
    { organisation_id: organisationId, facts: { spent_nano: '100000000000', usual_nano: '20000000000' } },
  ]);
});

/** Inserts eight weeks of merged days with this cost each. */
const insertPastDays = (scope: string, id: number, perDay: bigint): Promise<unknown> =>
  fixture.query(
    `INSERT INTO spend_day (scope, number, day, cost_nano)
     SELECT s.scope, s.number, d::date, s.cost
       FROM generate_series(now() - interval '56 days', now() - interval '1 day', interval '1 day') AS d,
            (VALUES ($1, $2::bigint, $3::bigint), ('all', 0, 0)) AS s (scope, number, cost)
     ON CONFLICT DO NOTHING`,
    [scope, id, perDay.toString()],
  );

test('a budget forecast reports the hour at which the budget will be used up', async () => {
  const scope = { kind: 'organisation', id: await fixture.portal.organisation() } as const;
  await setBudget(scope, 100n * USD, 'monthly');
  await spend(scope, 95n * USD);
  await insertPastDays('organisation', scope.id, 20n * USD);
  const noon = Math.floor(Date.now() / DAY_MS) * DAY_MS + 12 * HOUR_MS;
  fixture.now = noon - 16 * MINUTE_MS;
  await fixture.poll(16 * MINUTE_MS);
  // Another 20 dollars are usual for today, and a quarter of that is left.
  expect(await fixture.alerts('budget-forecast')).toMatchObject([
    { organisation_id: scope.id, facts: { percent: 95, out_at: new Date(noon + 3 * HOUR_MS).toISOString() } },
  ]);
  await spend(scope, 0n);
});

test('a low wallet and one empty within a week fire an alert, unless automatic top-up is on', async () => {
  const { id } = await fixture.portal.person('user', { billingExempt: false });
  const ledger = fixture.getService(Ledger);
  await fixture.portal.app.database.transaction(
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
  await insertPastDays('wallet', id, 10n * USD);
  fixture.now = Math.floor(Date.now() / DAY_MS) * DAY_MS + 12 * HOUR_MS;
  await fixture.poll(16 * MINUTE_MS);
  const balanceDetails = { balance_nano: (30n * USD).toString() };
  for (const kind of ['wallet-low', 'wallet-forecast'])
    expect(await fixture.alerts(kind)).toMatchObject([
      { subject: `wallet ${id}`, state: 'firing', facts: balanceDetails },
    ]);
  await database.query(
    `UPDATE billing_account SET low_balance_nano = 0, automatic = true, threshold_nano = 1, top_up_cents = 1000,
            monthly_ceiling_cents = 10000 WHERE wallet_id = $1`,
    [id],
  );
  await fixture.poll(16 * MINUTE_MS);
  await fixture.poll(16 * MINUTE_MS);
  for (const kind of ['wallet-low', 'wallet-forecast'])
    expect(await fixture.alerts(kind)).toMatchObject([{ state: 'resolved' }]);
  await database.query('DELETE FROM payment WHERE wallet_id = $1', [id]);
});

test('keys that expire soon are reported to their organisation', async () => {
  const user = await fixture.portal.person('user');
  fixture.now = Math.max(fixture.now, Date.now());
  const expiringKey = await addKey(fixture.portal.app, user.id, {
    expiresAt: new Date(fixture.now + 3 * DAY_MS),
  });
  await addKey(fixture.portal.app, user.id, { expiresAt: new Date(fixture.now + 40 * DAY_MS) });
  await fixture.poll(16 * MINUTE_MS);
  expect(await fixture.alerts('key-ending')).toMatchObject([
    { organisation_id: fixture.portal.ownOrganisation, subject: `key ${expiringKey.id}` },
  ]);
  expect(messageCount()).toEqual([['alert.triggered', 'key-ending', 'warning']]);
});

test('an organisation sees only its own alerts, and a department only those of the department', async () => {
  const [department] = await fixture.query<{ id: number }>(
    `INSERT INTO department (organisation_id, name) VALUES ($1, 'Research') RETURNING id`,
    [fixture.portal.ownOrganisation],
  );
  const departmentAdmin = await fixture.portal.person('department_admin', { departmentId: department!.id });
  const otherAdmin = await fixture.portal.person('org_admin', {
    organisationId: fixture.portal.otherOrganisation,
  });
  const scopes = [
    { kind: 'department', id: department!.id },
    { kind: 'user', id: owner.id },
  ] as const;
  for (const scope of scopes) {
    await setBudget(scope, 10n * USD);
    await spend(scope, 9n * USD);
  }
  await fixture.poll();
  const [first, second] = await fixture.alerts('budget-used');
  const visibleAlerts = async (person: Person): Promise<string[]> => {
    const { text } = await fixture.portal.get(person, ALERTS_PATH);
    return [first!, second!]
      .filter(({ id }) => text.includes(`${ALERTS_PATH}/${id}`))
      .map(({ subject }) => subject);
  };
  expect((await visibleAlerts(owner)).sort()).toEqual([`department ${department!.id}`, `user ${owner.id}`]);
  expect(await visibleAlerts(departmentAdmin)).toEqual([`department ${department!.id}`]);
  expect(await visibleAlerts(otherAdmin)).toEqual([]);
  const [own, foreign] = first!.subject.startsWith('department') ? [first!, second!] : [second!, first!];
  expect((await fixture.portal.get(departmentAdmin, `${ALERTS_PATH}/${own.id}`)).text).toContain(
    'department Research',
  );
  for (const person of [departmentAdmin, otherAdmin]) {
    expect((await fixture.portal.get(person, `${ALERTS_PATH}/${foreign.id}`)).status).toBe(404);
    expect((await fixture.portal.post(person, `${ALERTS_PATH}/${foreign.id}/acknowledge`)).status).toBe(404);
  }
  for (const path of ['rules', 'channels'])
    expect((await fixture.portal.get(departmentAdmin, `${ALERTS_PATH}/${path}`)).status).toBe(403);
  expect((await fixture.portal.post(departmentAdmin, `${ALERTS_PATH}/${own.id}/acknowledge`)).status).toBe(
    200,
  );
  expect((await fixture.alerts('budget-used')).find(({ id }) => id === own.id)).toMatchObject({
    state: 'acknowledged',
  });
  for (const scope of scopes) await spend(scope, 0n);
});

test('channels of another organisation return 404', async () => {
  const otherOwner = await fixture.portal.person('org_owner', {
    organisationId: fixture.portal.otherOrganisation,
  });
  const [channel] = await fixture.query<{ id: number }>(
    'SELECT id FROM alert_channel WHERE organisation_id = $1',
    [fixture.portal.ownOrganisation],
  );
  const form = { name: 'mine now', least_severity: 'info', language: 'en' };
  for (const action of ['update', 'test', 'remove'])
    expect(
      (await fixture.portal.post(otherOwner, `${ALERTS_PATH}/channels/${channel!.id}/${action}`, form))
        .status,
    ).toBe(404);
  expect((await fixture.portal.get(otherOwner, `${ALERTS_PATH}/channels`)).text).not.toContain('our webhook');
});
