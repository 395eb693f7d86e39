import { platformScope } from '#product/kernel';
import { KeysService } from '#product/keys';
import type { Ownership } from '../../../src/identity';
import { until } from '../../support/until';
import { mailTo } from '../accounts/account-fixture';
import { PortalFixture, type Person } from './portal-fixture';

const users = '/dashboard/admin/users';
const projects = '/dashboard/admin/projects';

describe('Keys and projects of a leaving user', () => {
  let fixture: PortalFixture;
  let platformAdmin: Person;
  let admin: Person;

  beforeAll(async () => {
    fixture = await PortalFixture.open();
    [platformAdmin, admin] = await Promise.all([
      fixture.person('platform_admin'),
      fixture.person('org_admin'),
    ]);
  });
  afterAll(() => fixture.close());

  const createProject = async (creator: Person, name: string, fields: object = {}): Promise<number> =>
    Number((await fixture.post(creator, projects, { name, ...fields })).body['id']);
  const createDepartment = async (organisationId: number, name: string): Promise<number> =>
    (
      await fixture.row<{ id: number }>(
        'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
        [organisationId, name],
      )
    ).id;
  const createKey = ({ id: userId }: Person, owner: Partial<Ownership> = {}) =>
    fixture.app.database.transaction((tx) =>
      fixture.app.application.get(KeysService).issue(platformScope, tx, {
        kind: 'client',
        name: 'test',
        createdBy: 'test',
        userId,
        organisationId: null,
        departmentId: null,
        projectId: null,
        ...owner,
      }),
    );
  const statusOf = async ({ id }: { readonly id: number }): Promise<string> =>
    (await fixture.row<{ status: string }>('SELECT status FROM api_key WHERE id = $1', [id])).status;
  const requestKey = (user: Person, projectId: number) =>
    fixture.post(user, '/dashboard/keys/new', { name: 'mine', project_id: projectId });
  const changesOf = async (action: string, id: number) =>
    (
      await fixture.row<{ changes: object }>(
        'SELECT changes FROM activity WHERE action = $1 AND object_id = $2 ORDER BY id DESC LIMIT 1',
        [action, String(id)],
      )
    ).changes;

  test('a user who leaves an organisation loses its projects and the keys owned by any part of it', async () => {
    const departmentId = await createDepartment(fixture.ownOrganisation, 'Harbour');
    const eve = await fixture.person('department_admin', { departmentId });
    const [made, joined] = [await createProject(eve, 'Made'), await createProject(admin, 'Joined')];
    const openProject = await createProject(platformAdmin, 'Of everybody');
    for (const [who, id] of [
      [admin, joined],
      [platformAdmin, openProject],
    ] as const)
      expect((await fixture.post(who, `${projects}/${id}/members`, { user_id: eve.id })).status).toBe(200);
    expect((await requestKey(eve, joined)).status).toBe(200);
    const [ofProject, ofDepartment, ofOrganisation] = [
      await createKey(eve, { projectId: joined }),
      await createKey(eve, { departmentId }),
      await createKey(eve, { organisationId: fixture.ownOrganisation }),
    ];
    const [ofNobodyElse, ofOpen] = [await createKey(eve), await createKey(eve, { projectId: openProject })];

    const moveResponse = await fixture.post(platformAdmin, `${users}/${eve.id}/org`, {
      org_id: fixture.otherOrganisation,
    });
    expect(moveResponse.status).toBe(200);
    expect(await Promise.all([ofProject, ofDepartment, ofOrganisation].map(statusOf))).toEqual([
      'revoked',
      'revoked',
      'revoked',
    ]);
    expect(await Promise.all([ofNobodyElse, ofOpen].map(statusOf))).toEqual(['active', 'active']);
    expect(await changesOf('user.organisation-changed', eve.id)).toMatchObject({
      projects_left: [0, 2],
      keys_revoked: [0, 4],
    });
    const { count: told } = await fixture.row<{ count: number }>(
      `SELECT count(*)::integer FROM activity WHERE action = 'user.organisation-changed' AND object_id = $1
          AND organisation_id = $2`,
      [String(eve.id), fixture.otherOrganisation],
    );
    expect(told).toBe(1);

    const otherDepartment = await createDepartment(fixture.otherOrganisation, 'Harbour');
    await fixture.app.database.query(
      `UPDATE user_account SET department_id = $2, role = 'department_admin' WHERE id = $1`,
      [eve.id, otherDepartment],
    );
    const movedUser = await fixture.signInAgain(eve);
    expect((await requestKey(movedUser, joined)).status).toBe(403);
    expect((await requestKey(movedUser, openProject)).status).toBe(200);
    // A stale membership row grants no access.
    await fixture.app.database.query('INSERT INTO project_member (project_id, user_id) VALUES ($1, $2)', [
      joined,
      eve.id,
    ]);
    expect((await requestKey(movedUser, joined)).status).toBe(403);
    expect((await fixture.get(movedUser, '/dashboard/keys/new')).text).not.toContain('>Joined<');
    for (const id of [made, joined]) {
      expect((await fixture.get(movedUser, `${projects}/${id}`)).status).toBe(404);
      expect((await fixture.post(movedUser, `${projects}/${id}`, { monthly_budget: 900 })).status).toBe(404);
    }
    expect((await fixture.get(movedUser, `${projects}/${openProject}`)).status).toBe(200);
  });

  test('a user who loses a platform role loses the keys of the organisations served in that role', async () => {
    const formerAdmin = await fixture.person('platform_admin');
    const projectId = await createProject(formerAdmin, 'Served', { org_id: fixture.ownOrganisation });
    expect((await requestKey(formerAdmin, projectId)).status).toBe(200);
    const key = await createKey(formerAdmin, { projectId });
    expect(
      (await fixture.post(platformAdmin, `${users}/${formerAdmin.id}/role`, { role: 'user' })).status,
    ).toBe(200);
    expect(await statusOf(key)).toBe('revoked');
  });

  test('an archived project gets no new keys by any route', async () => {
    const projectId = await createProject(admin, 'Over');
    const member = await fixture.person('user');
    await fixture.post(admin, `${projects}/${projectId}/members`, { user_id: member.id });
    const createKeyAs = (user: Person, owner: object) =>
      fixture.post(user, '/dashboard/keys/new', { name: 'late', project_id: projectId, ...owner });

    // The archive operation waits for a key in creation and revokes it too.
    const keyTransaction = fixture.app.database.transaction(async (tx) => {
      const key = await fixture.app.application.get(KeysService).issue(platformScope, tx, {
        kind: 'client',
        name: 'at the same time',
        createdBy: 'test',
        userId: member.id,
        organisationId: null,
        departmentId: null,
        projectId,
      });
      const archiveResponse = fixture.post(admin, `${projects}/${projectId}/archive`);
      await until(async () => {
        const waitingLocks = await fixture.app.database.query(
          `SELECT 1 FROM pg_locks held JOIN pg_locks waiting USING (transactionid)
            WHERE held.granted AND NOT waiting.granted AND held.pid IN (
              SELECT pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database())`,
        );
        return waitingLocks.length > 0;
      });
      return { key, archive: archiveResponse };
    });
    const { key, archive } = await keyTransaction;
    expect((await archive).status).toBe(200);
    expect(await statusOf(key)).toBe('revoked');

    const rootKey = fixture.app.firstKeys?.root ?? '';
    const managedResponse = await fetch(`${fixture.app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${rootKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'late', project_id: projectId }),
    });
    expect(managedResponse.status).toBe(409);
    for (const answer of [
      await createKeyAs(member, {}),
      await createKeyAs(admin, { user_id: member.id }),
      await createKeyAs(platformAdmin, { user_id: member.id }),
    ])
      expect(answer.status).toBe(409);
    const { count } = await fixture.row<{ count: number }>(
      "SELECT count(*)::integer FROM api_key WHERE project_id = $1 AND status <> 'revoked'",
      [projectId],
    );
    expect(count).toBe(0);
  });

  test('a billing configuration without a budget field leaves the budget unchanged', async () => {
    const person = await fixture.person('user');
    const setBilling = (form: object) => fixture.post(admin, `${users}/${person.id}/billing-config`, form);
    const prepaid = { billing_type: 'prepaid' };
    await setBilling({ ...prepaid, budget: 50 });
    expect((await setBilling(prepaid)).body).toMatchObject({
      user: { budget: 50, budget_period: 'monthly' },
    });
    expect((await setBilling({ ...prepaid, budget_period: 'daily' })).body).toMatchObject({
      user: { budget: 50, budget_period: 'daily' },
    });
    expect((await setBilling({ ...prepaid, budget: '7' })).body).toMatchObject({
      user: { budget: 7, budget_period: 'daily' },
    });
    expect((await setBilling({ ...prepaid, budget: null })).body).toMatchObject({ user: { budget: null } });
    expect((await setBilling({ ...prepaid, budget_period: 'daily' })).body).toMatchObject({
      user: { budget: null },
    });
  });

  describe('Role of an accepted invitation', () => {
    const invite = async (email: string, organisationId: number): Promise<string> => {
      const form = { email, role: 'user', org_id: organisationId };
      const inviteResponse = await fixture.post(platformAdmin, `${users}/invite`, form);
      expect(inviteResponse.status).toBe(200);
      const { name } = await fixture.row<{ name: string }>('SELECT name FROM organisation WHERE id = $1', [
        organisationId,
      ]);
      const { text } = await mailTo(fixture.app, email, new RegExp(name));
      return /\/invite\/([\w-]+)/.exec(text)?.[1] ?? '';
    };
    const accountOf = ({ id }: Person) =>
      fixture.row<{ role: string; organisation_id: number | null; version: number }>(
        'SELECT role, organisation_id, version FROM user_account WHERE id = $1',
        [id],
      );

    test('replaces the dormant role of a user without an organisation', async () => {
      const person = await fixture.person('org_owner', { organisationId: null });
      const token = await invite(person.email, fixture.ownOrganisation);
      expect((await fixture.post(person, `/invite/${token}/accept`, {})).status).toBeLessThan(400);
      expect(await accountOf(person)).toEqual({
        role: 'user',
        organisation_id: fixture.ownOrganisation,
        version: 2,
      });
    });

    test('counts once when two invitations are accepted at the same time', async () => {
      const person = await fixture.person('user', { organisationId: null });
      const [one, other] = [
        await invite(person.email, fixture.ownOrganisation),
        await invite(person.email, fixture.otherOrganisation),
      ];
      const statuses = await Promise.all(
        [one, other].map(async (token) => (await fixture.post(person, `/invite/${token}/accept`, {})).status),
      );
      expect(statuses.toSorted((first, second) => first - second)).toEqual([200, 409]);
      expect((await accountOf(person)).version).toBe(2);
    });

    test('is logged with the new role and the replaced one', async () => {
      const email = 'twice@example.com';
      const inviteUser = () => fixture.post(admin, `${users}/invite`, { email, role: 'user' });
      const [first] = (await inviteUser()).body['invites'] as number[];
      const [second] = (await inviteUser()).body['invites'] as number[];
      expect(await changesOf('invite.created', second ?? 0)).toEqual({
        role: [null, 'user'],
        replaced_invites: [null, [first]],
      });
    });
  });

  test('a user who leaves a project loses its keys, and other members keep theirs', async () => {
    const projectId = await createProject(admin, 'Shared');
    const [member, other] = [await fixture.person('user'), await fixture.person('user')];
    for (const { id } of [member, other])
      expect((await fixture.post(admin, `${projects}/${projectId}/members`, { user_id: id })).status).toBe(
        200,
      );
    const [own, elsewhere, others] = [
      await createKey(member, { projectId }),
      await createKey(member),
      await createKey(other, { projectId }),
    ];
    expect((await fixture.get(admin, `${projects}/${projectId}`)).text).toContain(
      'keys of this project stop at once',
    );
    const removeResponse = await fixture.post(admin, `${projects}/${projectId}/members/${member.id}/remove`);
    expect(removeResponse.status).toBe(200);
    expect(await Promise.all([own, elsewhere, others].map(statusOf))).toEqual([
      'revoked',
      'active',
      'active',
    ]);
    expect(await changesOf('project.member-removed', projectId)).toEqual({
      member: [member.email, null],
      keys: [1, 0],
    });
    expect((await requestKey(member, projectId)).status).toBe(403);
  });
});
