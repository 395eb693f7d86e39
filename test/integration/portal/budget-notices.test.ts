import { Client } from 'pg';
import { BillingAlerts, type BudgetScope, Limits } from '#product/billing';
import { PersonalSettings } from '#product/identity';
import { Outbox, type OutboxMail } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { addKey, addUser, signIn } from '../../support/users';
import { until } from '../../support/until';
import { sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';

const USD = 1_000_000_000n;
const HOUR_MS = 3_600_000;
const budgetScopes = (of: BudgetOwner): readonly BudgetScope[] => [
  { kind: 'key', id: of.keyId },
  { kind: 'key_model', id: of.keyModelId },
  { kind: 'user', id: of.userId },
  { kind: 'project', id: of.projectId },
  { kind: 'organisation', id: of.organisationId },
];

interface BudgetOwner {
  readonly userId: number;
  readonly keyId: number;
  readonly keyPublicId: string;
  readonly keyPath: string;
  readonly keyModelId: number;
  readonly projectId: number;
  readonly organisationId: number;
}

let app: TestApp;
let owner: Client;

const service = <T>(type: abstract new (...given: never[]) => T): T =>
  app.application.get<T>(type, { strict: false });
const insertRow = async (sql: string, values: unknown[]): Promise<number> => {
  const [row] = await app.database.query<{ id: number }>(`${sql} RETURNING id`, values);
  return Number(row?.id);
};

/** Creates the owner of an organisation with a project that they pay for and a key. */
async function createOwner(name: string): Promise<BudgetOwner> {
  const userId = await addUser(app, 'org_owner');
  const organisationId = await insertRow('INSERT INTO organisation (name, slug) VALUES ($1, $1)', [name]);
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    userId,
    organisationId,
  ]);
  const key = await addKey(app, userId);
  return {
    userId,
    organisationId,
    keyId: key.id,
    keyPublicId: key.publicId,
    keyPath: `/dashboard/keys/${key.id}`,
    keyModelId: await insertRow("INSERT INTO key_model (key_id, model) VALUES ($1, 'sim-small')", [key.id]),
    projectId: await insertRow(
      'INSERT INTO project (name, created_by, organisation_id) VALUES ($1, $2, $3)',
      [`${name}-project`, userId, organisationId],
    ),
  };
}

async function setBudgets(scopes: readonly BudgetScope[]): Promise<void> {
  await app.database.transaction(async (tx) => {
    for (const scope of scopes) await service(Limits).set(tx, scope, { period: 'monthly', limit: 10n * USD });
  });
  await owner.query('SELECT open_spending_windows($1::text[], $2::bigint[], now())', [
    scopes.map(({ kind }) => kind),
    scopes.map(({ id }) => id),
  ]);
}

const spend = async (scopes: readonly BudgetScope[], nano: bigint): Promise<void> => {
  for (const { kind, id } of scopes)
    await owner.query('UPDATE spending_window SET spent = $3 WHERE kind = $1 AND owner_id = $2', [
      kind,
      id,
      nano.toString(),
    ]);
};

const pageOf = async (userId: number, path = '/dashboard'): Promise<string> =>
  (
    await sendRaw(app.url, {
      path,
      headers: { cookie: await signIn(app, userId), accept: 'text/html' },
    })
  ).body.replaceAll('&#x3D;', '=');

/** The budget banners of a page, as `tone: budget`. */
const bannersOf = async (userId: number): Promise<string[]> =>
  [
    ...(await pageOf(userId)).matchAll(
      /class="banner banner-(\w+)"[^]*?<p>(?:\d+% of a budget is used|A budget is used up): ([^,]+),/g,
    ),
  ]
    .map(([, tone, what]) => `${tone}: ${what}`)
    .toSorted();

const mailsTo = async (userId: number, count: number): Promise<OutboxMail[]> => {
  const [row] = await app.database.query<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
    userId,
  ]);
  const mails = async () => (await service(Outbox).list()).filter(({ to }) => to === row?.email);
  await until(async () => (await mails()).length >= count);
  return mails();
};

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9', environment: { NODE_ENV: 'development' } });
  owner = new Client(app.environment['MIGRATION_DATABASE_URL']);
  await owner.connect();
});
afterAll(async () => {
  // The spending was simulated, and the ledger is verified at the end.
  await owner.query('DELETE FROM spending_bucket');
  await owner.query('UPDATE spending_window SET spent = 0');
  await owner.end();
  await app.close();
});

test('the page shows the budgets for which emails are sent, to the same users, until usage falls below half', async () => {
  const [head, stranger] = [await createOwner('north'), await createOwner('south')];
  const scopes = budgetScopes(head);
  await setBudgets(scopes);
  await spend(scopes, 4n * USD);
  expect(await bannersOf(head.userId)).toEqual([]);

  const about = [
    'key test',
    'key test: sim-small',
    'organisation north',
    'project north-project',
    'your own budget',
  ];
  for (const [spent, tone] of [
    [5n, 'info'],
    [8n, 'warn'],
    [10n, 'bad'],
  ] as const) {
    await spend(scopes, spent * USD);
    expect(await bannersOf(head.userId)).toEqual(about.map((what) => `${tone}: ${what}`));
  }
  expect(await pageOf(head.userId)).toContain(`href="${head.keyPath}"`);
  expect(await bannersOf(stranger.userId)).toEqual([]);
  await spend(scopes, 10n * USD - 1_000_000n);
  for (const page of [await pageOf(head.userId), await pageOf(head.userId, head.keyPath)])
    expect(page).toContain('$9.999 of $10.00');
  await spend(scopes, 10n * USD);

  await service(BillingAlerts).checkAll();
  const emails = await mailsTo(head.userId, about.length);
  expect(emails.map(({ subject }) => subject).toSorted()).toEqual(
    about.map((what) => `100% of a budget is used: ${what}`).toSorted(),
  );

  await spend(scopes, 1n * USD);
  expect(await bannersOf(head.userId)).toEqual([]);
});

test('a zero budget, a raised budget and an expired key show the correct notice', async () => {
  const head = await createOwner('east');
  const key = { kind: 'key', id: head.keyId } as const;
  await app.database.transaction((tx) => service(Limits).set(tx, key, { period: 'monthly', limit: 0n }));
  expect(await bannersOf(head.userId)).toEqual(['bad: key test']);
  await setBudgets([key]);
  await spend([key], 9n * USD);
  expect(await bannersOf(head.userId)).toEqual(['warn: key test']);
  await app.database.query("UPDATE api_key SET status = 'revoked', revoked_at = now() WHERE id = $1", [
    head.keyId,
  ]);
  expect(await bannersOf(head.userId)).toEqual([]);
});

test('a user who disabled budget notices sees none, but is still told about an expiring key', async () => {
  const head = await createOwner('west');
  const ownScope = { kind: 'user', id: head.userId } as const;
  await setBudgets([ownScope]);
  await spend([ownScope], 9n * USD);
  await app.database.query("UPDATE api_key SET expires_at = now() + interval '1 day' WHERE id = $1", [
    head.keyId,
  ]);
  expect(await bannersOf(head.userId)).toEqual(['warn: your own budget']);
  await app.database.transaction((tx) => service(PersonalSettings).muteNotices(tx, head.userId, ['budget']), {
    withoutActivity: 'test',
  });
  expect(await bannersOf(head.userId)).toEqual([]);
  expect(await pageOf(head.userId)).toContain('Key test ends');
});

test("the low-balance notice uses the owner's threshold and ignores credit", async () => {
  const { userId } = await addCustomer(app, 'careful', 20n * USD);
  const cookie = await signIn(app, userId);
  const lowBalanceBanner = async (): Promise<string | undefined> =>
    /Only \$[\d.]+ is left in the wallet|The balance is used up\. \$[\d.]+ of credit is left/.exec(
      await pageOf(userId),
    )?.[0];
  expect(await lowBalanceBanner()).toBeUndefined();
  const saveResponse = await sendJson({ url: app.url, cookie }, '/dashboard/billing/low-balance', {
    low_balance: 25,
  });
  expect(saveResponse.status).toBe(200);
  expect(await lowBalanceBanner()).toBe('Only $20.00 is left in the wallet');
  await app.database.transaction((tx) => service(Limits).setCreditLimit(tx, userId, 50n * USD));
  expect(await lowBalanceBanner()).toBe('Only $20.00 is left in the wallet');
  await owner.query("UPDATE spending_window SET spent = spent + $2 WHERE kind = 'wallet' AND owner_id = $1", [
    userId,
    (21n * USD).toString(),
  ]);
  expect(await lowBalanceBanner()).toBe('The balance is used up. $49.00 of credit is left');
});

test('page, email and API report when the next part of a rolling budget frees up and when all of it has', async () => {
  const head = await createOwner('round');
  const key = { kind: 'key', id: head.keyId } as const;
  await app.database.transaction((tx) =>
    service(Limits).set(tx, key, { period: 'rolling', limit: 10n * USD }),
  );
  await owner.query('SELECT open_spending_windows($1::text[], $2::bigint[], now())', [['key'], [head.keyId]]);
  const { rows } = await owner.query<{ id: string }>(
    `SELECT id FROM spending_window WHERE kind = 'key' AND owner_id = $1`,
    [head.keyId],
  );
  const windowId = rows[0]?.id;
  const hour = (ago: number): Date => new Date(Math.floor(Date.now() / HOUR_MS - ago) * HOUR_MS);
  const [old, young] = [hour(100), hour(5)];
  for (const [at, spent] of [
    [old, 2n * USD],
    [young, 6n * USD],
  ] as const)
    await owner.query('INSERT INTO spending_bucket (window_id, hour, spent) VALUES ($1, $2, $3)', [
      windowId,
      at,
      spent.toString(),
    ]);
  await spend([key], 8n * USD);
  const freesUpAt = (at: Date): string => new Date(at.getTime() + 720 * HOUR_MS).toISOString();

  const state = await service(Limits).state(key);
  expect(state).toMatchObject({
    spent: 8n * USD,
    resetsAt: new Date(freesUpAt(young)),
    freesNext: { at: new Date(freesUpAt(old)), amount: 2n * USD },
  });
  const rootKey = await addKey(app, null, { kind: 'root' });
  const keyResponse = await fetch(`${app.url}/v1/manage/keys/${head.keyPublicId}`, {
    headers: { authorization: `Bearer ${rootKey.text}` },
  });
  expect(await keyResponse.json()).toMatchObject({
    resets_at: freesUpAt(young),
    frees_next: { at: freesUpAt(old), amount: 2 },
  });
  for (const page of [await pageOf(head.userId), await pageOf(head.userId, head.keyPath)]) {
    expect(page).toMatch(/\$2\.00 becomes available again [^<]+ UTC, all of it by [^<]+ UTC\./);
    expect(page).not.toMatch(/Resets \d/);
  }
  await service(BillingAlerts).checkAll();
  const [mail] = await mailsTo(head.userId, 1);
  expect(mail?.subject).toContain('key test');
  expect(mail?.text).toContain('resume as spending becomes older than 30 days');
});
