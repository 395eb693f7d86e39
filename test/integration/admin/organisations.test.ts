import { randomUUID } from 'node:crypto';
import { Ledger, Limits, verifyMoney } from '#product/billing';
import { addKey } from '../../support/people';
import { House, type Person } from './house';

const page = '/dashboard/admin/organisations';

describe('the administration of organisations, departments and projects', () => {
  let house: House;
  let platform: Person;

  beforeAll(async () => {
    house = await House.open();
    platform = await house.person('platform_admin');
  });
  afterAll(() => house.close());

  const credit = (walletId: number, amount: bigint) =>
    house.app.database.transaction((tx) =>
      house.app.application
        .get(Ledger)
        .post(tx, { walletId, amount, against: 'adjustment', kind: 'test', ref: `${walletId} ${amount}` }),
    );
  const payerOf = async (table: string, id: number): Promise<number | null> =>
    (
      await house.row<{ payer: number | null }>(
        `SELECT billing_user_id AS payer FROM ${table} WHERE id = $1`,
        [id],
      )
    ).payer;
  const balanceOf = async (id: number) => (await house.app.application.get(Ledger).wallet(id)).balance;

  test('pages: list, new, one, merge, and their refusal to others', async () => {
    for (const path of [
      page,
      `${page}/new`,
      `${page}/${house.ours}`,
      `${page}/merge`,
      '/dashboard/admin/departments',
      '/dashboard/admin/projects',
      '/dashboard/admin/projects/new',
      '/dashboard/admin/users/invites',
      '/dashboard/admin/users/invite',
      '/dashboard/admin/promotions',
      `${page}/export`,
      `${page}/merge?target_org_id=${house.ours}&source_org_ids=${house.theirs}`,
    ]) {
      expect([path, (await house.get(platform, path)).status]).toEqual([path, 200]);
      expect([path, (await house.get(await house.person('user'), path)).status]).toEqual([path, 403]);
    }
    expect((await house.get(await house.person('org_owner'), page)).status).toBe(403);
  });

  test('what a page is for is said once as a heading', async () => {
    for (const [path, words] of [
      ['/dashboard/admin/promotions', 'New promotion'],
      [`${page}/merge`, 'Merge organisations'],
    ] as const) {
      const { text } = await house.get(platform, path);
      const said = text.match(new RegExp(`(<h2[^>]*>|act-label">)${words}<`, 'g'));
      expect([path, said]).toEqual([path, [`act-label">${words}<`]]);
    }
  });

  test('a taken short name, an edit of an older version, and a payer from elsewhere are refused', async () => {
    const id = await house.organisation();
    const { slug } = await house.row<{ slug: string }>('SELECT slug FROM organisation WHERE id = $1', [id]);
    expect((await house.post(platform, page, { name: 'Twice', slug })).status).toBe(409);
    expect((await house.post(platform, `${page}/${id}`, { name: 'One', version: 1 })).status).toBe(200);
    expect((await house.post(platform, `${page}/${id}`, { name: 'Two', version: 1 })).status).toBe(409);
    const stranger = await house.person('user');
    expect((await house.post(platform, `${page}/${id}`, { billing_user_id: stranger.id })).status).toBe(404);
    expect((await house.post(platform, `${page}/${id}`, { monthly_budget: 9 })).status).toBe(200);
    const budget = await house.app.application.get(Limits).state({ kind: 'organisation', id });
    expect(budget?.limit).toBe(9_000_000_000n);
  });

  test('its page shows what an operator wants to see first, each number with the list it counts', async () => {
    const id = await house.organisation();
    const owner = await house.person('org_owner', { organisationId: id });
    await house.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      id,
      owner.id,
    ]);
    await credit(owner.id, 12_500_000_000n);
    const department = await house.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Harbour') RETURNING id`,
      [id],
    );
    const limits = house.app.application.get(Limits);
    await house.app.database.transaction((tx) =>
      limits.set(tx, { kind: 'department', id: department.id }, { limit: 7_000_000_000n, period: 'monthly' }),
    );
    await house.post(owner, '/dashboard/admin/projects', { name: 'Cranes' });
    const [first, second] = [await addKey(house.app, owner.id), await addKey(house.app, owner.id)];
    await house.app.database.query(`UPDATE api_key SET status = 'disabled' WHERE id = $1`, [second.id]);
    const elsewhere = await addKey(house.app, (await house.person('user')).id);

    const closed = (await house.get(platform, `${page}/${id}`)).text;
    expect(closed).not.toContain('/dashboard/keys?organisation');
    expect(closed).toContain('action="/dashboard/toggle-admin-mode"');
    expect(closed).toContain('$12.50');
    expect(closed).toMatch(/Harbour[^]*\$0\.00 of \$7\.00/);
    for (const [list, count] of [
      [`/dashboard/admin/users?org_id=${id}`, 1],
      [`/dashboard/admin/departments?org_id=${id}`, 1],
      [`/dashboard/admin/projects?org_id=${id}`, 1],
    ])
      expect(closed.replaceAll('&#x3D;', '=')).toContain(`<a href="${list}">${count}</a>`);

    const operator = await house.person('platform_admin');
    await house.post(operator, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
    const open = (await house.get(operator, `${page}/${id}`)).text.replaceAll('&#x3D;', '=');
    expect(open).toContain(`<a href="/dashboard/keys?organisation=${id}&amp;status=active">1</a>`);
    expect(open).toContain(`/dashboard/usage?organisation=${id}&amp;from=`);
    const keys = (await house.get(operator, `/dashboard/keys?organisation=${id}&status=active`)).text;
    expect(keys).toContain(first.publicId);
    expect(keys).not.toContain(second.publicId);
    expect(keys).not.toContain(elsewhere.publicId);
    const shown = (await house.get(operator, `/dashboard/keys/${first.id}`)).text;
    expect(shown).toContain(`href="${page}/${id}"`);
    expect(shown).toContain(`href="/dashboard/admin/users/${owner.id}"`);
    expect((await house.get(owner, `/dashboard/keys/${first.id}`)).text).not.toContain(`href="${page}`);
  });

  test('an organisation with people stays', async () => {
    const id = await house.organisation();
    await house.person('user', { organisationId: id });
    const refused = await house.send(platform, 'DELETE', `${page}/${id}`);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('1 users');
  });

  test('a merge moves people, departments, projects, keys and wallets, or nothing', async () => {
    const [target, source] = [await house.organisation(), await house.organisation()];
    const keeper = await house.person('org_owner', { organisationId: target });
    const leader = await house.person('org_owner', { organisationId: source });
    await house.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      source,
      leader.id,
    ]);
    const departments = await Promise.all(
      [target, source].map((id) =>
        house.row<{ id: number }>(
          `INSERT INTO department (organisation_id, name) VALUES ($1, 'Sales') RETURNING id`,
          [id],
        ),
      ),
    );
    const member = await house.person('user', {
      organisationId: source,
      departmentId: departments[1]?.id ?? null,
    });
    const made = await house.post(leader, '/dashboard/admin/projects', { name: 'Moon' });
    await house.app.database.query('UPDATE api_key SET organisation_id = $2, user_id = NULL WHERE id = $1', [
      (await addKey(house.app, member.id)).id,
      source,
    ]);
    await credit(leader.id, 7n);
    await credit(keeper.id, 3n);
    const invited = await house.post(leader, '/dashboard/admin/users/invite', {
      email: `${source}@example.com`,
      role: 'user',
      department_id: departments[1]?.id,
    });
    expect(invited.status).toBe(200);
    const form = { target_org_id: target, source_org_ids: String(source), billing_user_id: keeper.email };
    await house.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      target,
      keeper.id,
    ]);
    const { text: review } = await house.get(
      platform,
      `${page}/merge?target_org_id=${target}&source_org_ids=${source}`,
    );
    expect(review).toMatch(
      new RegExp(`name="billing_user_id" type="email" value="${keeper.email}" .*list="billing_user_id-sugg`),
    );
    expect(review).toContain(`<option value="${leader.email}">`);

    const stranger = await house.person('user');
    const refused = await house.post(platform, `${page}/merge`, { ...form, billing_user_id: stranger.id });
    expect(refused.status).toBe(404);
    for (const [named, status] of [
      [stranger.email, 404],
      ['nowhere@example.com', 404],
      ['no address', 422],
    ] as const) {
      const answer = await house.post(platform, `${page}/merge`, { ...form, billing_user_id: named });
      expect([named, answer.status]).toEqual([named, status]);
      expect(answer.text).toMatch(/billing_user_id|active user/);
    }
    expect(
      (await house.post(platform, `${page}/merge`, { ...form, [`role_${leader.id}`]: 'platform_owner' }))
        .status,
    ).toBe(403);
    expect(await balanceOf(leader.id)).toBe(7n);

    const merged = await house.post(platform, `${page}/merge`, {
      ...form,
      [`role_${leader.id}`]: 'org_admin',
    });
    expect([merged.status, merged.text]).toEqual([200, expect.stringContaining('true')]);
    expect(await Promise.all([leader.id, keeper.id].map(balanceOf))).toEqual([0n, 10n]);
    const people = await house.app.database.query<object>(
      'SELECT id, role, department_id FROM user_account WHERE organisation_id = $1 ORDER BY id',
      [target],
    );
    expect(people).toEqual([
      { id: keeper.id, role: 'org_owner', department_id: null },
      { id: leader.id, role: 'org_admin', department_id: null },
      { id: member.id, role: 'user', department_id: departments[1]?.id },
    ]);
    expect((await house.get(leader, '/dashboard/activity')).status).toBe(303);
    const left = await house.app.database.query<object>(
      `SELECT 1 FROM organisation WHERE id = $1 UNION ALL SELECT 1 FROM project WHERE organisation_id = $1
       UNION ALL SELECT 1 FROM api_key WHERE organisation_id = $1 UNION ALL SELECT 1 FROM department WHERE organisation_id = $1`,
      [source],
    );
    expect(left).toEqual([]);
    const project = await house.row('SELECT organisation_id FROM project WHERE id = $1', [made.body['id']]);
    expect(project).toEqual({ organisation_id: target });
    const invite = await house.row('SELECT organisation_id FROM invite WHERE email = $1', [
      `${source}@example.com`,
    ]);
    expect(invite).toEqual({ organisation_id: target });
    const { checks } = await verifyMoney(house.app.database);
    expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
  });

  test('departments: made within the own organisation, renamed, and removed once empty', async () => {
    const admin = await house.person('org_admin');
    const path = '/dashboard/admin/departments';
    const made = await house.post(admin, path, { name: 'Research', monthly_budget: 5 });
    expect(made.status).toBe(200);
    const id = Number(made.body['id']);
    expect((await house.post(admin, path, { name: 'Research' })).status).toBe(409);
    expect((await house.post(admin, path, { name: 'Spies', org_id: house.theirs })).status).toBe(404);
    const stranger = await house.person('org_admin', { organisationId: house.theirs });
    expect((await house.post(stranger, `${path}/${id}`, { name: 'Ours' })).status).toBe(404);
    const member = await house.person('user', { departmentId: id });
    expect((await house.post(admin, `${path}/${id}/delete`)).status).toBe(409);
    await house.post(admin, `/dashboard/admin/users/${member.id}/department`, { department_id: null });
    const email = 'late@example.com';
    await house.post(admin, '/dashboard/admin/users/invite', { email, role: 'user', department_id: id });
    expect((await house.post(admin, `${path}/${id}/delete`)).status).toBe(200);
    expect(await house.row('SELECT department_id FROM invite WHERE email = $1', [email])).toEqual({
      department_id: null,
    });
  });

  test('projects: seen by role, members and payer from one’s own people, keys end with it', async () => {
    const path = '/dashboard/admin/projects';
    const admin = await house.person('org_admin');
    const head = await house.person('department_admin', {
      departmentId: (
        await house.row<{ id: number }>(
          `INSERT INTO department (organisation_id, name) VALUES ($1, 'Lab') RETURNING id`,
          [house.ours],
        )
      ).id,
    });
    const made = await house.post(admin, path, { name: 'Mercury' });
    const id = Number(made.body['id']);
    expect((await house.get(head, path)).text).not.toContain('Mercury');
    expect((await house.get(head, `${path}/${id}`)).status).toBe(404);
    const stranger = await house.person('user', { organisationId: house.theirs });
    expect((await house.post(admin, `${path}/${id}/members`, { user_id: stranger.id })).status).toBe(404);
    expect((await house.post(admin, `${path}/${id}`, { billing_user_id: stranger.id })).status).toBe(404);
    expect((await house.post(admin, `${path}/${id}/members`, { user_id: head.id })).status).toBe(200);
    expect((await house.get(head, path)).text).toContain('Mercury');
    expect((await house.get(admin, `${path}/${id}`)).text).toContain(head.email);
    expect(
      (await house.post(admin, `${path}/${id}`, { billing_user_id: admin.id, monthly_budget: 3 })).status,
    ).toBe(200);
    const key = await addKey(house.app, admin.id);
    await house.app.database.query('UPDATE api_key SET project_id = $2 WHERE id = $1', [key.id, id]);
    expect((await house.post(admin, `${path}/${id}/archive`)).status).toBe(200);
    expect(await house.row('SELECT status FROM api_key WHERE id = $1', [key.id])).toEqual({
      status: 'revoked',
    });
    expect((await house.post(admin, `${path}/${id}`, { name: 'Again' })).status).toBe(409);
  });

  test('a person is named by mail address wherever a form asks for one; an unknown address marks its field', async () => {
    const organisationId = await house.organisation();
    const person = await house.person('user', { organisationId });
    const stranger = await house.person('user');
    const addressOf = async ({ id }: { readonly id: number }): Promise<string> =>
      (await house.row<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [id])).email;
    const email = (await addressOf(person)).toUpperCase();
    const other = await addressOf(stranger);
    const given = { name: 'Welcome', scope: 'user', amount: '1' };
    const promotions = '/dashboard/admin/promotions';
    expect((await house.post(platform, promotions, { ...given, user_id: ` ${email} ` })).status).toBe(200);
    expect(await balanceOf(person.id)).toBe(1_000_000_000n);
    const unknown = await house.post(platform, promotions, { ...given, user_id: 'absent@house.example' });
    expect([unknown.status, unknown.body]).toEqual([
      404,
      expect.objectContaining({ param: 'user_id', details: { reason: 'unknown-person' } }),
    ]);

    const desk = '/dashboard/admin/billing/adjust';
    const booking = { amount: '0.50', direction: 'credit', reason: 'a courtesy', token: randomUUID() };
    expect((await house.post(platform, desk, { ...booking, user_id: email })).status).toBe(200);
    expect(await balanceOf(person.id)).toBe(1_500_000_000n);
    expect((await house.post(platform, desk, { ...booking, user_id: '' })).status).toBe(422);

    const organisation = `/dashboard/admin/organisations/${organisationId}`;
    const markup = { percent: '5', valid_from: '2031-01-31T12:00' };
    expect((await house.post(platform, `${organisation}/markup`, markup)).text).toContain(
      '2031-01-31T12:00:00.000Z',
    );
    expect((await house.post(platform, organisation, { billing_user_id: email })).status).toBe(200);
    expect(await payerOf('organisation', organisationId)).toBe(person.id);
    expect((await house.post(platform, organisation, { billing_user_id: other })).status).toBe(404);
    expect((await house.get(platform, organisation)).text).toContain(`value="${await addressOf(person)}"`);
    const made = await house.post(platform, '/dashboard/admin/projects', {
      name: 'Tides',
      org_id: organisationId,
    });
    const project = `/dashboard/admin/projects/${Number(made.body['id'])}`;
    expect((await house.post(platform, project, { billing_user_id: email })).status).toBe(200);
    expect((await house.post(platform, `${project}/members`, { user_id: email })).status).toBe(200);
    expect((await house.post(platform, `${project}/members`, { user_id: other })).status).toBe(404);
    expect(await payerOf('project', Number(made.body['id']))).toBe(person.id);
    expect((await house.post(platform, project, { billing_user_id: '' })).status).toBe(200);
    expect(await payerOf('project', Number(made.body['id']))).toBeNull();
  });

  test('promotions: once each under concurrency, spent first, and the rest posted back at the end', async () => {
    const path = '/dashboard/admin/promotions';
    const person = await house.person('user');
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        house.post(platform, path, { name: 'Hello', scope: 'everyone', amount: '0.000000100' }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await balanceOf(person.id)).toBe(400n);
    const ids = answers.map(({ body }) => Number(body['id']));
    for (const id of ids) {
      expect((await house.post(platform, `${path}/${id}/update`, { end: true, reason: 'over' })).status).toBe(
        200,
      );
    }
    expect(await balanceOf(person.id)).toBe(0n);
    const other = await house.organisation();
    expect(
      (await house.post(platform, path, { name: 'x', scope: 'organisation', org_id: other, amount: 1 }))
        .status,
    ).toBe(404);
  });

  test('a promotion of more wallets than are read at once is taken back from all of them', async () => {
    const path = '/dashboard/admin/promotions';
    await house.app.database.query(
      `INSERT INTO user_account (email, display_name, status)
       SELECT 'many-' || n || '@example.com', 'many', 'active' FROM generate_series(1, 501) AS n`,
    );
    const made = await house.post(platform, path, { name: 'All', scope: 'everyone', amount: '0.000000100' });
    const id = Number(made.body['id']);
    const ended = await house.post(platform, `${path}/${id}/update`, { end: true, reason: 'over' });
    expect(ended.status).toBe(200);
    const { left } = await house.row<{ left: number }>(
      'SELECT count(*)::integer AS "left" FROM promotion_credit WHERE grant_id = $1 AND remaining > 0',
      [id],
    );
    expect(left).toBe(0);
  });

  test('invitations: one’s own organisation, roles below one’s own, and an older link ends', async () => {
    const path = '/dashboard/admin/users/invite';
    const admin = await house.person('org_admin');
    const ask = (json: object) => house.post(admin, path, json);
    expect((await ask({ email: 'new@example.com', role: 'user', org_id: house.theirs })).status).toBe(403);
    expect((await ask({ email: 'new@example.com', role: 'org_owner' })).status).toBe(403);
    expect((await ask({ email: admin.email, role: 'user' })).status).toBe(409);
    const first = await ask({ email: 'a@example.com\nb@example.com', role: 'user', language: 'de' });
    expect(first.body['invites']).toHaveLength(2);
    const [id] = first.body['invites'] as number[];
    const again = await house.post(admin, `${path}/${id}/resend`);
    expect(again.status).toBe(200);
    expect((await house.get(admin, '/dashboard/admin/users/invites')).text).toContain('a@example.com');
    const rows = await house.app.database.query<{ revoked: boolean }>(
      `SELECT revoked_at IS NOT NULL AS revoked FROM invite WHERE email = 'a@example.com' ORDER BY id`,
    );
    expect(rows).toEqual([{ revoked: true }, { revoked: false }]);
  });
});
