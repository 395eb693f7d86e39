import { Client } from 'pg';
import { BillingAlerts, type BudgetScope, Limits } from '#product/billing';
import { PersonalSettings } from '#product/identity';
import { Outbox, type OutboxMail } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { addKey, addUser, signIn } from '../../support/people';
import { until } from '../../support/until';
import { sendJson } from '../web/from-page';
import { ask } from '../web/raw-exchange';

const USD = 1_000_000_000n;
const HOUR_MS = 3_600_000;
const scopesOf = (of: Person): readonly BudgetScope[] => [
  { kind: 'key', id: of.keyId },
  { kind: 'key_model', id: of.keyModelId },
  { kind: 'user', id: of.userId },
  { kind: 'project', id: of.projectId },
  { kind: 'organisation', id: of.organisationId },
];

interface Person {
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
const made = async (sql: string, values: unknown[]): Promise<number> => {
  const [row] = await app.database.query<{ id: number }>(`${sql} RETURNING id`, values);
  return Number(row?.id);
};

/** The owner of an organisation, with a project that they pay and a key. */
async function headOf(name: string): Promise<Person> {
  const userId = await addUser(app, 'org_owner');
  const organisationId = await made('INSERT INTO organisation (name, slug) VALUES ($1, $1)', [name]);
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
    keyModelId: await made("INSERT INTO key_model (key_id, model) VALUES ($1, 'sim-small')", [key.id]),
    projectId: await made('INSERT INTO project (name, created_by, organisation_id) VALUES ($1, $2, $3)', [
      `${name}-project`,
      userId,
      organisationId,
    ]),
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
    await ask(app.url, {
      path,
      headers: { cookie: await signIn(app, userId), accept: 'text/html' },
    })
  ).body.replaceAll('&#x3D;', '=');

/** The banners about budgets, as `tone: what they are about`. */
const bannersOf = async (userId: number): Promise<string[]> =>
  [
    ...(await pageOf(userId)).matchAll(
      /class="banner banner-(\w+)"[^]*?<p>(?:\d+% of a budget is used|A budget is used up): ([^,]+),/g,
    ),
  ]
    .map(([, tone, what]) => `${tone}: ${what}`)
    .toSorted();

const mailsTo = async (userId: number, most: number): Promise<OutboxMail[]> => {
  const [row] = await app.database.query<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [
    userId,
  ]);
  const mails = async () => (await service(Outbox).list()).filter(({ to }) => to === row?.email);
  await until(async () => (await mails()).length >= most);
  return mails();
};

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9', environment: { NODE_ENV: 'development' } });
  owner = new Client(app.environment['MIGRATION_DATABASE_URL']);
  await owner.connect();
});
afterAll(async () => {
  // Nothing was spent in truth, and the books are checked at the end.
  await owner.query('DELETE FROM spending_bucket');
  await owner.query('UPDATE spending_window SET spent = 0');
  await owner.end();
  await app.close();
});

test('the page names the budgets that mails tell of, to the same people, until they are below half again', async () => {
  const [head, stranger] = [await headOf('north'), await headOf('south')];
  const scopes = scopesOf(head);
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
  const told = await mailsTo(head.userId, about.length);
  expect(told.map(({ subject }) => subject).toSorted()).toEqual(
    about.map((what) => `100% of a budget is used: ${what}`).toSorted(),
  );

  await spend(scopes, 1n * USD);
  expect(await bannersOf(head.userId)).toEqual([]);
});

test('a budget of nothing, a raise and an ended key are seen for what they are', async () => {
  const head = await headOf('east');
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

test('who switched the notices of budgets off sees none, but still hears of a key that ends', async () => {
  const head = await headOf('west');
  const own = { kind: 'user', id: head.userId } as const;
  await setBudgets([own]);
  await spend([own], 9n * USD);
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

test('the balance is called low from the amount that its owner set, credit not counted', async () => {
  const { userId } = await addCustomer(app, 'careful', 20n * USD);
  const cookie = await signIn(app, userId);
  const low = async (): Promise<string | undefined> =>
    /Only \$[\d.]+ is left in the wallet|The balance is used up\. \$[\d.]+ of credit is left/.exec(
      await pageOf(userId),
    )?.[0];
  expect(await low()).toBeUndefined();
  const set = await sendJson({ url: app.url, cookie }, '/dashboard/billing/low-balance', {
    low_balance: 25,
  });
  expect(set.status).toBe(200);
  expect(await low()).toBe('Only $20.00 is left in the wallet');
  await app.database.transaction((tx) => service(Limits).setCreditLimit(tx, userId, 50n * USD));
  expect(await low()).toBe('Only $20.00 is left in the wallet');
  await owner.query("UPDATE spending_window SET spent = spent + $2 WHERE kind = 'wallet' AND owner_id = $1", [
    userId,
    (21n * USD).toString(),
  ]);
  expect(await low()).toBe('The balance is used up. $49.00 of credit is left');
});

test('a rolling budget says what becomes available next and when all of it has: page, mail and interface', async () => {
  const head = await headOf('round');
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
  const leaves = (at: Date): string => new Date(at.getTime() + 720 * HOUR_MS).toISOString();

  const state = await service(Limits).state(key);
  expect(state).toMatchObject({
    spent: 8n * USD,
    resetsAt: new Date(leaves(young)),
    freesNext: { at: new Date(leaves(old)), amount: 2n * USD },
  });
  const root = await addKey(app, null, { kind: 'root' });
  const shown = await fetch(`${app.url}/v1/manage/keys/${head.keyPublicId}`, {
    headers: { authorization: `Bearer ${root.text}` },
  });
  expect(await shown.json()).toMatchObject({
    resets_at: leaves(young),
    frees_next: { at: leaves(old), amount: 2 },
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
