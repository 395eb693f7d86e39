import { ActivityLog, type NewActivity } from '#product/audit';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { sealAll } from '../../support/seal';
import { addUser, signIn } from '../../support/users';
import { administer } from '../../support/postgres';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let ownOrganisation: number;
let otherOrganisation: number;

const organisation = async (slug: string): Promise<number> => {
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: `The ${slug}`, slug });
  await organisations.insert(row);
  return row.id;
};
const signInAs = async (role: UserRole, organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const addEntry = (label: string, entry: Partial<NewActivity> = {}) =>
  app.database.transaction((tx) =>
    app.application.get(ActivityLog, { strict: false }).write(tx, {
      action: 'key.changed',
      object: { type: 'key', id: `id-${label}`, label },
      concerns: { organisationId: ownOrganisation },
      actor: { kind: 'system', label: 'the command line' },
      ...entry,
    }),
  );
const getPage = (path: string, cookie: string) =>
  sendRaw(app.url, { path, headers: { cookie, accept: 'text/html' } });
const labelsOf = (body: string) => [...body.matchAll(/>(Label \w+)<\/a>/g)].map(([, label]) => label);

beforeAll(async () => {
  app = await startTestApp();
  [ownOrganisation, otherOrganisation] = [await organisation('ours'), await organisation('theirs')];
});
afterAll(() => app.close());

describe('The audit log', () => {
  test('shows organisations their own entries and the platform all entries', async () => {
    await addEntry('Label one');
    await addEntry('Label two', { concerns: { organisationId: otherOrganisation } });
    const admin = await signInAs('org_admin', ownOrganisation);
    const platformAdmin = await signInAs('platform_admin');
    expect(labelsOf((await getPage('/dashboard/admin/audit', admin.cookie)).body)).toEqual(['Label one']);
    const allEntries = (await getPage('/dashboard/admin/audit', platformAdmin.cookie)).body;
    expect(labelsOf(allEntries)).toEqual(['Label two', 'Label one']);
    expect(allEntries).toContain('The theirs');
    expect(allEntries).toMatch(/<p class="help">[^<]*newest 50,000 entries/);
    expect(allEntries.match(/class="banner /g)).toHaveLength(1);
    expect(
      (await getPage('/dashboard/admin/audit', (await signInAs('department_admin', ownOrganisation)).cookie))
        .status,
    ).toBe(403);
    expect(
      (await getPage('/dashboard/admin/audit', (await signInAs('user', ownOrganisation)).cookie)).status,
    ).toBe(403);
  });

  test('shows the time up to which it is sealed, and a warning when sealing has stopped', async () => {
    const owner = await signInAs('org_owner', await organisation('sealed'));
    const page = async () => (await getPage('/dashboard/admin/audit', owner.cookie)).body;
    expect(await page()).toContain('Nothing is sealed yet');
    const [{ id } = { id: 0 }] = await app.database.query<{ id: number }>(
      "SELECT id FROM organisation WHERE slug = 'sealed'",
    );
    await addEntry('Label sealed', { concerns: { organisationId: id } });
    await sealAll(app);
    expect(await page()).toMatch(/Entries up to \d+ \w+ \d{4}, [\d:]+ are sealed/);
    // An hour-old unsealed entry, as if no node had run the sealing job.
    const url = String(app.environment['MIGRATION_DATABASE_URL']);
    const unsealedEntry = await app.database.transaction(async (tx) => {
      await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('switchboard.activity-seal', 0))");
      await administer(
        url,
        `INSERT INTO activity_unsealed (entry_id, since)
         SELECT id, now() - interval '1 hour' FROM activity WHERE object_label = 'Label sealed'`,
      );
      const pageText = await page();
      await administer(url, 'DELETE FROM activity_unsealed');
      return pageText;
    });
    expect(unsealedEntry).toContain('no node is sealing them');
  });

  test("filters by actor, action, object and days in the reader's time zone", async () => {
    const { userId } = await signInAs('org_owner', otherOrganisation);
    const { cookie } = await signInAs('org_admin', otherOrganisation);
    await addEntry('Label three', {
      action: 'user.role-changed',
      object: { type: 'account', id: 7, label: 'Label three' },
      concerns: { organisationId: otherOrganisation },
      actor: {
        kind: 'user',
        userId,
        role: 'org_owner',
        organisationId: otherOrganisation,
        departmentId: null,
        label: 'Ada (ada@example.com)',
      },
    });
    const labelsFor = async (query: string) =>
      labelsOf((await getPage(`/dashboard/admin/audit?${query}`, cookie)).body);
    expect(await labelsFor(`actor=${userId}`)).toEqual(['Label three']);
    expect(await labelsFor('actor=ADA')).toEqual(['Label three']);
    expect(await labelsFor('actor=nobody')).toEqual([]);
    expect(await labelsFor('action=user.role-changed')).toEqual(['Label three']);
    expect(await labelsFor('type=key')).toEqual(['Label two']);
    expect(await labelsFor('object=7&type=account')).toEqual(['Label three']);
    expect(await labelsFor('object=three')).toEqual(['Label three']);
    const today = new Date().toISOString().slice(0, 10);
    expect(await labelsFor(`from=${today}&to=${today}&action=&type=`)).toHaveLength(2);
    expect(await labelsFor('to=2020-01-01')).toEqual([]);
    const emptyPage = (await getPage('/dashboard/admin/audit?to=2020-01-01', cookie)).body;
    expect(emptyPage).toContain('Nothing matches these filters');
  });

  test('shows changes without JavaScript, escaped as text', async () => {
    await addEntry('Label four', {
      changes: { name: ['<i>before</i>', 'after'], limit: [null, 5] },
      reason: 'asked by letter',
    });
    const { cookie } = await signInAs('org_admin', ownOrganisation);
    const body = (await getPage('/dashboard/admin/audit?object=Label+four', cookie)).body;
    expect(body).toContain('asked by letter');
    expect(body).toContain('<ins>after</ins>');
    expect(body).not.toContain('<i>before');
    expect(body).toMatch(/class="diff-added"><th scope="row">limit/);
  });

  test.each(['from=2026-13-01', 'to=yesterday', 'action=none', 'type=none', 'from=2026-02-02&to=2026-02-01'])(
    'refuses %s',
    async (query) => {
      const { cookie } = await signInAs('org_admin', ownOrganisation);
      for (const path of ['/dashboard/admin/audit', '/dashboard/admin/audit/export'])
        expect((await getPage(`${path}?${query}`, cookie)).status).toBe(422);
    },
  );

  test('refuses a cursor from elsewhere', async () => {
    const { cookie } = await signInAs('org_admin', ownOrganisation);
    expect((await getPage('/dashboard/admin/audit?cursor=x', cookie)).status).toBe(422);
    expect((await getPage('/dashboard/admin/audit/export?who=1', cookie)).status).toBe(422);
  });

  test('exports the entries of the page and records the export', async () => {
    const { cookie, userId } = await signInAs('org_admin', ownOrganisation);
    await addEntry('Label five', { object: { type: 'key', id: 'five', label: '=Label five' } });
    const { headers, body } = await getPage('/dashboard/admin/audit/export?object=five', cookie);
    expect(headers['x-svc-export-capped-at']).toBe('50000');
    expect(headers['content-disposition']).toMatch(/audit_\d{4}-\d\d-\d\d_utc\.csv/);
    const lines = body.trimEnd().split('\r\n');
    expect(lines[0]).toMatch(/^occurred_at,entry_id,action,/);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain("'=Label five");
    const entries = await app.database.query<{ action: string; changes: object }>(
      'SELECT action, changes FROM activity WHERE actor_user_id = $1 AND organisation_id = $2',
      [userId, ownOrganisation],
    );
    expect(entries).toEqual([{ action: 'log.exported', changes: { object: [null, 'five'] } }]);
    expect(
      (await getPage('/dashboard/admin/audit/export', (await signInAs('user', ownOrganisation)).cookie))
        .status,
    ).toBe(403);
  });

  test('links to the entries of one user', async () => {
    const { cookie, userId } = await signInAs('org_owner', ownOrganisation);
    await getPage('/dashboard/admin/audit/export', cookie);
    const { body } = await getPage('/dashboard/admin/audit', cookie);
    expect(body).toContain(`/dashboard/admin/audit?actor&#x3D;${userId}`);
  });
});

test('the configured maximum truncates the export', async () => {
  const cappedApp = await startTestApp({
    environment: { AUDIT_EXPORT_MAX_ROWS: '2' },
    sharedDatabase: {
      url: app.environment.DATABASE_URL ?? '',
      ownerUrl: app.environment.MIGRATION_DATABASE_URL ?? '',
    },
  });
  try {
    const cookie = await signIn(cappedApp, await addUser(cappedApp, 'platform_owner'));
    const { headers, body } = await sendRaw(cappedApp.url, {
      path: '/dashboard/admin/audit/export',
      headers: { cookie },
    });
    expect(headers['x-svc-export-capped-at']).toBe('2');
    expect(body.trimEnd().split('\r\n')).toHaveLength(3);
  } finally {
    await cappedApp.close();
  }
});
