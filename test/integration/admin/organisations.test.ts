import { randomUUID } from 'node:crypto';
import { Ledger, Limits, verifyMoney } from '#product/billing';
import { addKey } from '../../support/users';
import { PortalFixture, type Person } from './portal-fixture';

const page = '/dashboard/admin/organisations';

describe('Administration of organisations, departments and projects', () => {
  let fixture: PortalFixture;
  let platformAdmin: Person;

  beforeAll(async () => {
    fixture = await PortalFixture.open();
    platformAdmin = await fixture.person('platform_admin');
  });
  afterAll(() => fixture.close());

  const credit = (walletId: number, amount: bigint) =>
    fixture.app.database.transaction((tx) =>
      fixture.app.application
        .get(Ledger)
        .post(tx, { walletId, amount, against: 'adjustment', kind: 'test', ref: `${walletId} ${amount}` }),
    );
  const payerOf = async (table: string, id: number): Promise<number | null> =>
    (
      await fixture.row<{ payer: number | null }>(
        `SELECT billing_user_id AS payer FROM ${table} WHERE id = $1`,
        [id],
      )
    ).payer;
  const balanceOf = async (id: number) => (await fixture.app.application.get(Ledger).wallet(id)).balance;

  test('the list, new, detail and merge pages open for the platform and are refused to others', async () => {
    for (const path of [
      page,
      `${page}/new`,
      `${page}/${fixture.ownOrganisation}`,
      `${page}/merge`,
      '/dashboard/admin/departments',
      '/dashboard/admin/projects',
      '/dashboard/admin/projects/new',
      '/dashboard/admin/users/invites',
      '/dashboard/admin/users/invite',
      '/dashboard/admin/promotions',
      `${page}/export`,
      `${page}/merge?target_org_id=${fixture.ownOrganisation}&source_org_ids=${fixture.otherOrganisation}`,
    ]) {
      expect([path, (await fixture.get(platformAdmin, path)).status]).toEqual([path, 200]);
      expect([path, (await fixture.get(await fixture.person('user'), path)).status]).toEqual([path, 403]);
    }
    expect((await fixture.get(await fixture.person('org_owner'), page)).status).toBe(403);
  });

  test('a page states its purpose once, as a heading', async () => {
    for (const [path, words] of [
      ['/dashboard/admin/promotions', 'New promotion'],
      [`${page}/merge`, 'Merge organisations'],
    ] as const) {
      const { text } = await fixture.get(platformAdmin, path);
      const headings = text.match(new RegExp(`(<h2[^>]*>|act-label">)${words}<`, 'g'));
      expect([path, headings]).toEqual([path, [`act-label">${words}<`]]);
    }
  });

  test('a used short name, a stale version and a payer from another organisation are refused', async () => {
    const id = await fixture.organisation();
    const { slug } = await fixture.row<{ slug: string }>('SELECT slug FROM organisation WHERE id = $1', [id]);
    expect((await fixture.post(platformAdmin, page, { name: 'Twice', slug })).status).toBe(409);
    expect((await fixture.post(platformAdmin, `${page}/${id}`, { name: 'One', version: 1 })).status).toBe(
      200,
    );
    expect((await fixture.post(platformAdmin, `${page}/${id}`, { name: 'Two', version: 1 })).status).toBe(
      409,
    );
    const stranger = await fixture.person('user');
    expect(
      (await fixture.post(platformAdmin, `${page}/${id}`, { billing_user_id: stranger.id })).status,
    ).toBe(404);
    expect((await fixture.post(platformAdmin, `${page}/${id}`, { monthly_budget: 9 })).status).toBe(200);
    const budget = await fixture.app.application.get(Limits).state({ kind: 'organisation', id });
    expect(budget?.limit).toBe(9_000_000_000n);
  });

  test("the organisation page starts with the operator's key figures, each linked to its list", async () => {
    const id = await fixture.organisation();
    const owner = await fixture.person('org_owner', { organisationId: id });
    await fixture.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      id,
      owner.id,
    ]);
    await credit(owner.id, 12_500_000_000n);
    const department = await fixture.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Harbour') RETURNING id`,
      [id],
    );
    const limits = fixture.app.application.get(Limits);
    await fixture.app.database.transaction((tx) =>
      limits.set(tx, { kind: 'department', id: department.id }, { limit: 7_000_000_000n, period: 'monthly' }),
    );
    await fixture.post(owner, '/dashboard/admin/projects', { name: 'Cranes' });
    const [first, second] = [await addKey(fixture.app, owner.id), await addKey(fixture.app, owner.id)];
    await fixture.app.database.query(`UPDATE api_key SET status = 'disabled' WHERE id = $1`, [second.id]);
    const otherKey = await addKey(fixture.app, (await fixture.person('user')).id);

    const inactivePage = (await fixture.get(platformAdmin, `${page}/${id}`)).text;
    expect(inactivePage).not.toContain('/dashboard/keys?organisation');
    expect(inactivePage).toContain('action="/dashboard/toggle-admin-mode"');
    expect(inactivePage).toContain('$12.50');
    expect(inactivePage).toMatch(/Harbour[^]*\$0\.00 of \$7\.00/);
    for (const [list, count] of [
      [`/dashboard/admin/users?org_id=${id}`, 1],
      [`/dashboard/admin/departments?org_id=${id}`, 1],
      [`/dashboard/admin/projects?org_id=${id}`, 1],
    ])
      expect(inactivePage.replaceAll('&#x3D;', '=')).toContain(`<a href="${list}">${count}</a>`);

    const operator = await fixture.person('platform_admin');
    await fixture.post(operator, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
    const activePage = (await fixture.get(operator, `${page}/${id}`)).text.replaceAll('&#x3D;', '=');
    expect(activePage).toContain(`<a href="/dashboard/keys?organisation=${id}&amp;status=active">1</a>`);
    expect(activePage).toContain(`/dashboard/usage?organisation=${id}&amp;from=`);
    const keys = (await fixture.get(operator, `/dashboard/keys?organisation=${id}&status=active`)).text;
    expect(keys).toContain(first.publicId);
    expect(keys).not.toContain(second.publicId);
    expect(keys).not.toContain(otherKey.publicId);
    const keyPage = (await fixture.get(operator, `/dashboard/keys/${first.id}`)).text;
    expect(keyPage).toContain(`href="${page}/${id}"`);
    expect(keyPage).toContain(`href="/dashboard/admin/users/${owner.id}"`);
    expect((await fixture.get(owner, `/dashboard/keys/${first.id}`)).text).not.toContain(`href="${page}`);
  });

  test('an organisation with users cannot be deleted', async () => {
    const id = await fixture.organisation();
    await fixture.person('user', { organisationId: id });
    const refusal = await fixture.send(platformAdmin, 'DELETE', `${page}/${id}`);
    expect(refusal.status).toBe(409);
    expect(refusal.text).toContain('1 users');
  });

  test('a merge moves users, departments, projects, keys and wallets together, or nothing', async () => {
    const [target, source] = [await fixture.organisation(), await fixture.organisation()];
    const targetOwner = await fixture.person('org_owner', { organisationId: target });
    const sourceOwner = await fixture.person('org_owner', { organisationId: source });
    await fixture.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      source,
      sourceOwner.id,
    ]);
    const departments = await Promise.all(
      [target, source].map((id) =>
        fixture.row<{ id: number }>(
          `INSERT INTO department (organisation_id, name) VALUES ($1, 'Sales') RETURNING id`,
          [id],
        ),
      ),
    );
    const member = await fixture.person('user', {
      organisationId: source,
      departmentId: departments[1]?.id ?? null,
    });
    const projectResponse = await fixture.post(sourceOwner, '/dashboard/admin/projects', { name: 'Moon' });
    await fixture.app.database.query(
      'UPDATE api_key SET organisation_id = $2, user_id = NULL WHERE id = $1',
      [(await addKey(fixture.app, member.id)).id, source],
    );
    await credit(sourceOwner.id, 7n);
    await credit(targetOwner.id, 3n);
    const inviteResponse = await fixture.post(sourceOwner, '/dashboard/admin/users/invite', {
      email: `${source}@example.com`,
      role: 'user',
      department_id: departments[1]?.id,
    });
    expect(inviteResponse.status).toBe(200);
    const form = {
      target_org_id: target,
      source_org_ids: String(source),
      billing_user_id: targetOwner.email,
    };
    await fixture.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      target,
      targetOwner.id,
    ]);
    const { text: review } = await fixture.get(
      platformAdmin,
      `${page}/merge?target_org_id=${target}&source_org_ids=${source}`,
    );
    expect(review).toMatch(
      new RegExp(
        `name="billing_user_id" type="email" value="${targetOwner.email}" .*list="billing_user_id-sugg`,
      ),
    );
    expect(review).toContain(`<option value="${sourceOwner.email}">`);

    const stranger = await fixture.person('user');
    const refusal = await fixture.post(platformAdmin, `${page}/merge`, {
      ...form,
      billing_user_id: stranger.id,
    });
    expect(refusal.status).toBe(404);
    for (const [named, status] of [
      [stranger.email, 404],
      ['nowhere@example.com', 404],
      ['no address', 422],
    ] as const) {
      const answer = await fixture.post(platformAdmin, `${page}/merge`, { ...form, billing_user_id: named });
      expect([named, answer.status]).toEqual([named, status]);
      expect(answer.text).toMatch(/billing_user_id|active user/);
    }
    expect(
      (
        await fixture.post(platformAdmin, `${page}/merge`, {
          ...form,
          [`role_${sourceOwner.id}`]: 'platform_owner',
        })
      ).status,
    ).toBe(403);
    expect(await balanceOf(sourceOwner.id)).toBe(7n);

    const mergeResponse = await fixture.post(platformAdmin, `${page}/merge`, {
      ...form,
      [`role_${sourceOwner.id}`]: 'org_admin',
    });
    expect([mergeResponse.status, mergeResponse.text]).toEqual([200, expect.stringContaining('true')]);
    expect(await Promise.all([sourceOwner.id, targetOwner.id].map(balanceOf))).toEqual([0n, 10n]);
    const movedUsers = await fixture.app.database.query<object>(
      'SELECT id, role, department_id FROM user_account WHERE organisation_id = $1 ORDER BY id',
      [target],
    );
    expect(movedUsers).toEqual([
      { id: targetOwner.id, role: 'org_owner', department_id: null },
      { id: sourceOwner.id, role: 'org_admin', department_id: null },
      { id: member.id, role: 'user', department_id: departments[1]?.id },
    ]);
    expect((await fixture.get(sourceOwner, '/dashboard/activity')).status).toBe(303);
    const remainingRows = await fixture.app.database.query<object>(
      `SELECT 1 FROM organisation WHERE id = $1 UNION ALL SELECT 1 FROM project WHERE organisation_id = $1
       UNION ALL SELECT 1 FROM api_key WHERE organisation_id = $1 UNION ALL SELECT 1 FROM department WHERE organisation_id = $1`,
      [source],
    );
    expect(remainingRows).toEqual([]);
    const project = await fixture.row('SELECT organisation_id FROM project WHERE id = $1', [
      projectResponse.body['id'],
    ]);
    expect(project).toEqual({ organisation_id: target });
    const invite = await fixture.row('SELECT organisation_id FROM invite WHERE email = $1', [
      `${source}@example.com`,
    ]);
    expect(invite).toEqual({ organisation_id: target });
    const { checks } = await verifyMoney(fixture.app.database);
    expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
  });

  test('departments are created in the own organisation, renamed, and removed once empty', async () => {
    const admin = await fixture.person('org_admin');
    const path = '/dashboard/admin/departments';
    const createResponse = await fixture.post(admin, path, { name: 'Research', monthly_budget: 5 });
    expect(createResponse.status).toBe(200);
    const id = Number(createResponse.body['id']);
    expect((await fixture.post(admin, path, { name: 'Research' })).status).toBe(409);
    expect(
      (await fixture.post(admin, path, { name: 'Spies', org_id: fixture.otherOrganisation })).status,
    ).toBe(404);
    const stranger = await fixture.person('org_admin', { organisationId: fixture.otherOrganisation });
    expect((await fixture.post(stranger, `${path}/${id}`, { name: 'Ours' })).status).toBe(404);
    const member = await fixture.person('user', { departmentId: id });
    expect((await fixture.post(admin, `${path}/${id}/delete`)).status).toBe(409);
    await fixture.post(admin, `/dashboard/admin/users/${member.id}/department`, { department_id: null });
    const email = 'late@example.com';
    await fixture.post(admin, '/dashboard/admin/users/invite', { email, role: 'user', department_id: id });
    expect((await fixture.post(admin, `${path}/${id}/delete`)).status).toBe(200);
    expect(await fixture.row('SELECT department_id FROM invite WHERE email = $1', [email])).toEqual({
      department_id: null,
    });
  });

  test('project visibility depends on the role, members and payer belong to the organisation, and archiving ends its keys', async () => {
    const path = '/dashboard/admin/projects';
    const admin = await fixture.person('org_admin');
    const head = await fixture.person('department_admin', {
      departmentId: (
        await fixture.row<{ id: number }>(
          `INSERT INTO department (organisation_id, name) VALUES ($1, 'Lab') RETURNING id`,
          [fixture.ownOrganisation],
        )
      ).id,
    });
    const createResponse = await fixture.post(admin, path, { name: 'Mercury' });
    const id = Number(createResponse.body['id']);
    expect((await fixture.get(head, path)).text).not.toContain('Mercury');
    expect((await fixture.get(head, `${path}/${id}`)).status).toBe(404);
    const stranger = await fixture.person('user', { organisationId: fixture.otherOrganisation });
    expect((await fixture.post(admin, `${path}/${id}/members`, { user_id: stranger.id })).status).toBe(404);
    expect((await fixture.post(admin, `${path}/${id}`, { billing_user_id: stranger.id })).status).toBe(404);
    expect((await fixture.post(admin, `${path}/${id}/members`, { user_id: head.id })).status).toBe(200);
    expect((await fixture.get(head, path)).text).toContain('Mercury');
    expect((await fixture.get(admin, `${path}/${id}`)).text).toContain(head.email);
    expect(
      (await fixture.post(admin, `${path}/${id}`, { billing_user_id: admin.id, monthly_budget: 3 })).status,
    ).toBe(200);
    const key = await addKey(fixture.app, admin.id);
    await fixture.app.database.query('UPDATE api_key SET project_id = $2 WHERE id = $1', [key.id, id]);
    expect((await fixture.post(admin, `${path}/${id}/archive`)).status).toBe(200);
    expect(await fixture.row('SELECT status FROM api_key WHERE id = $1', [key.id])).toEqual({
      status: 'revoked',
    });
    expect((await fixture.post(admin, `${path}/${id}`, { name: 'Again' })).status).toBe(409);
  });

  test("forms accept a user's email address, and an unknown address marks its field", async () => {
    const organisationId = await fixture.organisation();
    const person = await fixture.person('user', { organisationId });
    const stranger = await fixture.person('user');
    const addressOf = async ({ id }: { readonly id: number }): Promise<string> =>
      (await fixture.row<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [id])).email;
    const email = (await addressOf(person)).toUpperCase();
    const otherAddress = await addressOf(stranger);
    const promotionForm = { name: 'Welcome', scope: 'user', amount: '1' };
    const promotions = '/dashboard/admin/promotions';
    expect(
      (await fixture.post(platformAdmin, promotions, { ...promotionForm, user_id: ` ${email} ` })).status,
    ).toBe(200);
    expect(await balanceOf(person.id)).toBe(1_000_000_000n);
    const unknownUserResponse = await fixture.post(platformAdmin, promotions, {
      ...promotionForm,
      user_id: 'absent@house.example',
    });
    expect([unknownUserResponse.status, unknownUserResponse.body]).toEqual([
      404,
      expect.objectContaining({ param: 'user_id', details: { reason: 'unknown-person' } }),
    ]);

    const adjustPath = '/dashboard/admin/billing/adjust';
    const booking = { amount: '0.50', direction: 'credit', reason: 'a courtesy', token: randomUUID() };
    expect((await fixture.post(platformAdmin, adjustPath, { ...booking, user_id: email })).status).toBe(200);
    expect(await balanceOf(person.id)).toBe(1_500_000_000n);
    expect((await fixture.post(platformAdmin, adjustPath, { ...booking, user_id: '' })).status).toBe(422);

    const organisation = `/dashboard/admin/organisations/${organisationId}`;
    const markup = { percent: '5', valid_from: '2031-01-31T12:00' };
    expect((await fixture.post(platformAdmin, `${organisation}/markup`, markup)).text).toContain(
      '2031-01-31T12:00:00.000Z',
    );
    expect((await fixture.post(platformAdmin, organisation, { billing_user_id: email })).status).toBe(200);
    expect(await payerOf('organisation', organisationId)).toBe(person.id);
    expect((await fixture.post(platformAdmin, organisation, { billing_user_id: otherAddress })).status).toBe(
      404,
    );
    expect((await fixture.get(platformAdmin, organisation)).text).toContain(
      `value="${await addressOf(person)}"`,
    );
    const projectResponse = await fixture.post(platformAdmin, '/dashboard/admin/projects', {
      name: 'Tides',
      org_id: organisationId,
    });
    const project = `/dashboard/admin/projects/${Number(projectResponse.body['id'])}`;
    expect((await fixture.post(platformAdmin, project, { billing_user_id: email })).status).toBe(200);
    expect((await fixture.post(platformAdmin, `${project}/members`, { user_id: email })).status).toBe(200);
    expect((await fixture.post(platformAdmin, `${project}/members`, { user_id: otherAddress })).status).toBe(
      404,
    );
    expect(await payerOf('project', Number(projectResponse.body['id']))).toBe(person.id);
    expect((await fixture.post(platformAdmin, project, { billing_user_id: '' })).status).toBe(200);
    expect(await payerOf('project', Number(projectResponse.body['id']))).toBeNull();
  });

  test('invitations are limited to the own organisation and lower roles, and a resend voids the older link', async () => {
    const path = '/dashboard/admin/users/invite';
    const admin = await fixture.person('org_admin');
    const sendInvite = (json: object) => fixture.post(admin, path, json);
    expect(
      (await sendInvite({ email: 'new@example.com', role: 'user', org_id: fixture.otherOrganisation }))
        .status,
    ).toBe(403);
    expect((await sendInvite({ email: 'new@example.com', role: 'org_owner' })).status).toBe(403);
    expect((await sendInvite({ email: admin.email, role: 'user' })).status).toBe(409);
    const firstInvite = await sendInvite({
      email: 'a@example.com\nb@example.com',
      role: 'user',
      language: 'de',
    });
    expect(firstInvite.body['invites']).toHaveLength(2);
    const [id] = firstInvite.body['invites'] as number[];
    const resendResponse = await fixture.post(admin, `${path}/${id}/resend`);
    expect(resendResponse.status).toBe(200);
    expect((await fixture.get(admin, '/dashboard/admin/users/invites')).text).toContain('a@example.com');
    const rows = await fixture.app.database.query<{ revoked: boolean }>(
      `SELECT revoked_at IS NOT NULL AS revoked FROM invite WHERE email = 'a@example.com' ORDER BY id`,
    );
    expect(rows).toEqual([{ revoked: true }, { revoked: false }]);
  });
});
