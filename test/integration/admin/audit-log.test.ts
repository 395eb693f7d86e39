import { ActivityLog, type NewActivity } from '#product/audit';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { sealAll } from '../../support/seal';
import { addUser, signIn } from '../../support/people';
import { administer } from '../../support/postgres';
import { ask } from '../web/raw-exchange';

let app: TestApp;
let ours: number;
let theirs: number;

const organisation = async (slug: string): Promise<number> => {
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: `The ${slug}`, slug });
  await organisations.insert(row);
  return row.id;
};
const person = async (role: UserRole, organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const put = (label: string, entry: Partial<NewActivity> = {}) =>
  app.database.transaction((tx) =>
    app.application.get(ActivityLog, { strict: false }).write(tx, {
      action: 'key.changed',
      object: { type: 'key', id: `id-${label}`, label },
      concerns: { organisationId: ours },
      actor: { kind: 'system', label: 'the command line' },
      ...entry,
    }),
  );
const open = (path: string, cookie: string) =>
  ask(app.url, { path, headers: { cookie, accept: 'text/html' } });
const labelsOf = (body: string) => [...body.matchAll(/>(Label \w+)<\/a>/g)].map(([, label]) => label);

beforeAll(async () => {
  app = await startTestApp();
  [ours, theirs] = [await organisation('ours'), await organisation('theirs')];
});
afterAll(() => app.close());

describe('the audit log', () => {
  test('shows organisations their own entries and the platform all', async () => {
    await put('Label one');
    await put('Label two', { concerns: { organisationId: theirs } });
    const admin = await person('org_admin', ours);
    const platform = await person('platform_admin');
    expect(labelsOf((await open('/dashboard/admin/audit', admin.cookie)).body)).toEqual(['Label one']);
    const all = (await open('/dashboard/admin/audit', platform.cookie)).body;
    expect(labelsOf(all)).toEqual(['Label two', 'Label one']);
    expect(all).toContain('The theirs');
    expect(all).toMatch(/<p class="help">[^<]*newest 50,000 entries/);
    expect(all.match(/class="banner /g)).toHaveLength(1);
    expect(
      (await open('/dashboard/admin/audit', (await person('department_admin', ours)).cookie)).status,
    ).toBe(403);
    expect((await open('/dashboard/admin/audit', (await person('user', ours)).cookie)).status).toBe(403);
  });

  test('says up to when it is sealed, and when nothing seals', async () => {
    const owner = await person('org_owner', await organisation('sealed'));
    const page = async () => (await open('/dashboard/admin/audit', owner.cookie)).body;
    expect(await page()).toContain('Nothing is sealed yet');
    const [{ id } = { id: 0 }] = await app.database.query<{ id: number }>(
      "SELECT id FROM organisation WHERE slug = 'sealed'",
    );
    await put('Label sealed', { concerns: { organisationId: id } });
    await sealAll(app);
    expect(await page()).toMatch(/Entries up to \d+ \w+ \d{4}, [\d:]+ are sealed/);
    // As it is while no node gets its turn: an entry of an hour ago waits.
    const url = String(app.environment['MIGRATION_DATABASE_URL']);
    const late = await app.database.transaction(async (tx) => {
      await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('switchboard.activity-seal', 0))");
      await administer(
        url,
        `INSERT INTO activity_unsealed (entry_id, since)
         SELECT id, now() - interval '1 hour' FROM activity WHERE object_label = 'Label sealed'`,
      );
      const shown = await page();
      await administer(url, 'DELETE FROM activity_unsealed');
      return shown;
    });
    expect(late).toContain('no node is sealing them');
  });

  test('is filtered by who, what, object and days of the reader’s zone', async () => {
    const { userId } = await person('org_owner', theirs);
    const { cookie } = await person('org_admin', theirs);
    await put('Label three', {
      action: 'user.role-changed',
      object: { type: 'account', id: 7, label: 'Label three' },
      concerns: { organisationId: theirs },
      actor: {
        kind: 'user',
        userId,
        role: 'org_owner',
        organisationId: theirs,
        departmentId: null,
        label: 'Ada (ada@example.com)',
      },
    });
    const found = async (query: string) =>
      labelsOf((await open(`/dashboard/admin/audit?${query}`, cookie)).body);
    expect(await found(`actor=${userId}`)).toEqual(['Label three']);
    expect(await found('actor=ADA')).toEqual(['Label three']);
    expect(await found('actor=nobody')).toEqual([]);
    expect(await found('action=user.role-changed')).toEqual(['Label three']);
    expect(await found('type=key')).toEqual(['Label two']);
    expect(await found('object=7&type=account')).toEqual(['Label three']);
    expect(await found('object=three')).toEqual(['Label three']);
    const today = new Date().toISOString().slice(0, 10);
    expect(await found(`from=${today}&to=${today}&action=&type=`)).toHaveLength(2);
    expect(await found('to=2020-01-01')).toEqual([]);
    const empty = (await open('/dashboard/admin/audit?to=2020-01-01', cookie)).body;
    expect(empty).toContain('Nothing matches these filters');
  });

  test('opens what changed without scripts, as text', async () => {
    await put('Label four', {
      changes: { name: ['<i>before</i>', 'after'], limit: [null, 5] },
      reason: 'asked by letter',
    });
    const { cookie } = await person('org_admin', ours);
    const body = (await open('/dashboard/admin/audit?object=Label+four', cookie)).body;
    expect(body).toContain('asked by letter');
    expect(body).toContain('<ins>after</ins>');
    expect(body).not.toContain('<i>before');
    expect(body).toMatch(/class="diff-added"><th scope="row">limit/);
  });

  test.each(['from=2026-13-01', 'to=yesterday', 'action=none', 'type=none', 'from=2026-02-02&to=2026-02-01'])(
    'refuses %s',
    async (query) => {
      const { cookie } = await person('org_admin', ours);
      for (const path of ['/dashboard/admin/audit', '/dashboard/admin/audit/export'])
        expect((await open(`${path}?${query}`, cookie)).status).toBe(422);
    },
  );

  test('refuses a cursor that is none of its own', async () => {
    const { cookie } = await person('org_admin', ours);
    expect((await open('/dashboard/admin/audit?cursor=x', cookie)).status).toBe(422);
    expect((await open('/dashboard/admin/audit/export?who=1', cookie)).status).toBe(422);
  });

  test('the file holds what the page shows, and that it was taken is on record', async () => {
    const { cookie, userId } = await person('org_admin', ours);
    await put('Label five', { object: { type: 'key', id: 'five', label: '=Label five' } });
    const { headers, body } = await open('/dashboard/admin/audit/export?object=five', cookie);
    expect(headers['x-svc-export-capped-at']).toBe('50000');
    expect(headers['content-disposition']).toMatch(/audit_\d{4}-\d\d-\d\d_utc\.csv/);
    const lines = body.trimEnd().split('\r\n');
    expect(lines[0]).toMatch(/^occurred_at,entry_id,action,/);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain("'=Label five");
    const entries = await app.database.query<{ action: string; changes: object }>(
      'SELECT action, changes FROM activity WHERE actor_user_id = $1 AND organisation_id = $2',
      [userId, ours],
    );
    expect(entries).toEqual([{ action: 'log.exported', changes: { object: [null, 'five'] } }]);
    expect((await open('/dashboard/admin/audit/export', (await person('user', ours)).cookie)).status).toBe(
      403,
    );
  });

  test('one person’s entries are a link away', async () => {
    const { cookie, userId } = await person('org_owner', ours);
    await open('/dashboard/admin/audit/export', cookie);
    const { body } = await open('/dashboard/admin/audit', cookie);
    expect(body).toContain(`/dashboard/admin/audit?actor&#x3D;${userId}`);
  });
});

test('the cap of the setting cuts the file', async () => {
  const capped = await startTestApp({
    environment: { AUDIT_EXPORT_MAX_ROWS: '2' },
    sharedDatabase: {
      url: app.environment.DATABASE_URL ?? '',
      ownerUrl: app.environment.MIGRATION_DATABASE_URL ?? '',
    },
  });
  try {
    const cookie = await signIn(capped, await addUser(capped, 'platform_owner'));
    const { headers, body } = await ask(capped.url, {
      path: '/dashboard/admin/audit/export',
      headers: { cookie },
    });
    expect(headers['x-svc-export-capped-at']).toBe('2');
    expect(body.trimEnd().split('\r\n')).toHaveLength(3);
  } finally {
    await capped.close();
  }
});
