import { platformScope } from '#product/kernel';
import { KeysService } from '#product/keys';
import type { Ownership } from '../../../src/identity';
import { until } from '../../support/until';
import { mailTo } from '../accounts/account-house';
import { House, type Person } from './house';

const users = '/dashboard/admin/users';
const projects = '/dashboard/admin/projects';

describe('a person who leaves loses some things and keeps others', () => {
  let house: House;
  let platform: Person;
  let admin: Person;

  beforeAll(async () => {
    house = await House.open();
    [platform, admin] = await Promise.all([house.person('platform_admin'), house.person('org_admin')]);
  });
  afterAll(() => house.close());

  const projectOf = async (maker: Person, name: string, fields: object = {}): Promise<number> =>
    Number((await house.post(maker, projects, { name, ...fields })).body['id']);
  const departmentOf = async (organisationId: number, name: string): Promise<number> =>
    (
      await house.row<{ id: number }>(
        'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
        [organisationId, name],
      )
    ).id;
  const keyOf = ({ id: userId }: Person, owner: Partial<Ownership> = {}) =>
    house.app.database.transaction((tx) =>
      house.app.application.get(KeysService).issue(platformScope, tx, {
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
    (await house.row<{ status: string }>('SELECT status FROM api_key WHERE id = $1', [id])).status;
  const newKey = (who: Person, projectId: number) =>
    house.post(who, '/dashboard/keys/new', { name: 'mine', project_id: projectId });
  const changesOf = async (action: string, id: number) =>
    (
      await house.row<{ changes: object }>(
        'SELECT changes FROM activity WHERE action = $1 AND object_id = $2 ORDER BY id DESC LIMIT 1',
        [action, String(id)],
      )
    ).changes;

  test('with an organisation: its projects, and the keys that belong to any part of it', async () => {
    const departmentId = await departmentOf(house.ours, 'Harbour');
    const eve = await house.person('department_admin', { departmentId });
    const [made, joined] = [await projectOf(eve, 'Made'), await projectOf(admin, 'Joined')];
    const open = await projectOf(platform, 'Of everybody');
    for (const [who, id] of [
      [admin, joined],
      [platform, open],
    ] as const)
      expect((await house.post(who, `${projects}/${id}/members`, { user_id: eve.id })).status).toBe(200);
    expect((await newKey(eve, joined)).status).toBe(200);
    const [ofProject, ofDepartment, ofOrganisation] = [
      await keyOf(eve, { projectId: joined }),
      await keyOf(eve, { departmentId }),
      await keyOf(eve, { organisationId: house.ours }),
    ];
    const [ofNobodyElse, ofOpen] = [await keyOf(eve), await keyOf(eve, { projectId: open })];

    const moved = await house.post(platform, `${users}/${eve.id}/org`, { org_id: house.theirs });
    expect(moved.status).toBe(200);
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
    const { count: told } = await house.row<{ count: number }>(
      `SELECT count(*)::integer FROM activity WHERE action = 'user.organisation-changed' AND object_id = $1
          AND organisation_id = $2`,
      [String(eve.id), house.theirs],
    );
    expect(told).toBe(1);

    const there = await departmentOf(house.theirs, 'Harbour');
    await house.app.database.query(
      `UPDATE user_account SET department_id = $2, role = 'department_admin' WHERE id = $1`,
      [eve.id, there],
    );
    const again = await house.signedIn(eve);
    expect((await newKey(again, joined)).status).toBe(403);
    expect((await newKey(again, open)).status).toBe(200);
    // A row that is left over counts for as little as one that is gone.
    await house.app.database.query('INSERT INTO project_member (project_id, user_id) VALUES ($1, $2)', [
      joined,
      eve.id,
    ]);
    expect((await newKey(again, joined)).status).toBe(403);
    expect((await house.get(again, '/dashboard/keys/new')).text).not.toContain('>Joined<');
    for (const id of [made, joined]) {
      expect((await house.get(again, `${projects}/${id}`)).status).toBe(404);
      expect((await house.post(again, `${projects}/${id}`, { monthly_budget: 900 })).status).toBe(404);
    }
    expect((await house.get(again, `${projects}/${open}`)).status).toBe(200);
  });

  test('with a role of the platform: keys of the organisations it served', async () => {
    const former = await house.person('platform_admin');
    const projectId = await projectOf(former, 'Served', { org_id: house.ours });
    expect((await newKey(former, projectId)).status).toBe(200);
    const key = await keyOf(former, { projectId });
    expect((await house.post(platform, `${users}/${former.id}/role`, { role: 'user' })).status).toBe(200);
    expect(await statusOf(key)).toBe('revoked');
  });

  test('an archived project has no new keys, by any way', async () => {
    const projectId = await projectOf(admin, 'Over');
    const member = await house.person('user');
    await house.post(admin, `${projects}/${projectId}/members`, { user_id: member.id });
    const making = (who: Person, owner: object) =>
      house.post(who, '/dashboard/keys/new', { name: 'late', project_id: projectId, ...owner });

    // The archive waits for a key that is being made, and takes it along.
    const issue = house.app.database.transaction(async (tx) => {
      const key = await house.app.application.get(KeysService).issue(platformScope, tx, {
        kind: 'client',
        name: 'at the same time',
        createdBy: 'test',
        userId: member.id,
        organisationId: null,
        departmentId: null,
        projectId,
      });
      const archive = house.post(admin, `${projects}/${projectId}/archive`);
      await until(async () => {
        const waiting = await house.app.database.query(
          `SELECT 1 FROM pg_locks held JOIN pg_locks waiting USING (transactionid)
            WHERE held.granted AND NOT waiting.granted AND held.pid IN (
              SELECT pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database())`,
        );
        return waiting.length > 0;
      });
      return { key, archive };
    });
    const { key, archive } = await issue;
    expect((await archive).status).toBe(200);
    expect(await statusOf(key)).toBe('revoked');

    const root = house.app.firstKeys?.root ?? '';
    const managed = await fetch(`${house.app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'late', project_id: projectId }),
    });
    expect(managed.status).toBe(409);
    for (const answer of [
      await making(member, {}),
      await making(admin, { user_id: member.id }),
      await making(platform, { user_id: member.id }),
    ])
      expect(answer.status).toBe(409);
    const { count } = await house.row<{ count: number }>(
      "SELECT count(*)::integer FROM api_key WHERE project_id = $1 AND status <> 'revoked'",
      [projectId],
    );
    expect(count).toBe(0);
  });

  test('a billing configuration that says nothing of the budget leaves it', async () => {
    const person = await house.person('user');
    const set = (form: object) => house.post(admin, `${users}/${person.id}/billing-config`, form);
    const prepaid = { billing_type: 'prepaid' };
    await set({ ...prepaid, budget: 50 });
    expect((await set(prepaid)).body).toMatchObject({ user: { budget: 50, budget_period: 'monthly' } });
    expect((await set({ ...prepaid, budget_period: 'daily' })).body).toMatchObject({
      user: { budget: 50, budget_period: 'daily' },
    });
    expect((await set({ ...prepaid, budget: '7' })).body).toMatchObject({
      user: { budget: 7, budget_period: 'daily' },
    });
    expect((await set({ ...prepaid, budget: null })).body).toMatchObject({ user: { budget: null } });
    expect((await set({ ...prepaid, budget_period: 'daily' })).body).toMatchObject({
      user: { budget: null },
    });
  });

  describe('an invitation', () => {
    const invite = async (email: string, organisationId: number): Promise<string> => {
      const wanted = { email, role: 'user', org_id: organisationId };
      const sent = await house.post(platform, `${users}/invite`, wanted);
      expect(sent.status).toBe(200);
      const { name } = await house.row<{ name: string }>('SELECT name FROM organisation WHERE id = $1', [
        organisationId,
      ]);
      const { text } = await mailTo(house.app, email, new RegExp(name));
      return /\/invite\/([\w-]+)/.exec(text)?.[1] ?? '';
    };
    const accountOf = ({ id }: Person) =>
      house.row<{ role: string; organisation_id: number | null; version: number }>(
        'SELECT role, organisation_id, version FROM user_account WHERE id = $1',
        [id],
      );

    test('gives its own role to a person of no organisation, whatever role lay dormant', async () => {
      const person = await house.person('org_owner', { organisationId: null });
      const token = await invite(person.email, house.ours);
      expect((await house.post(person, `/invite/${token}/accept`, {})).status).toBeLessThan(400);
      expect(await accountOf(person)).toEqual({ role: 'user', organisation_id: house.ours, version: 2 });
    });

    test('of two that are accepted at once, one counts', async () => {
      const person = await house.person('user', { organisationId: null });
      const [one, other] = [await invite(person.email, house.ours), await invite(person.email, house.theirs)];
      const statuses = await Promise.all(
        [one, other].map(async (token) => (await house.post(person, `/invite/${token}/accept`, {})).status),
      );
      expect(statuses.toSorted((first, second) => first - second)).toEqual([200, 409]);
      expect((await accountOf(person)).version).toBe(2);
    });

    test('is on record with its role and with those that it replaces', async () => {
      const email = 'twice@example.com';
      const ask = () => house.post(admin, `${users}/invite`, { email, role: 'user' });
      const [first] = (await ask()).body['invites'] as number[];
      const [second] = (await ask()).body['invites'] as number[];
      expect(await changesOf('invite.created', second ?? 0)).toEqual({
        role: [null, 'user'],
        replaced_invites: [null, [first]],
      });
    });
  });

  test('with a project: the keys of it, and no key of another member', async () => {
    const projectId = await projectOf(admin, 'Shared');
    const [member, other] = [await house.person('user'), await house.person('user')];
    for (const { id } of [member, other])
      expect((await house.post(admin, `${projects}/${projectId}/members`, { user_id: id })).status).toBe(200);
    const [own, elsewhere, others] = [
      await keyOf(member, { projectId }),
      await keyOf(member),
      await keyOf(other, { projectId }),
    ];
    expect((await house.get(admin, `${projects}/${projectId}`)).text).toContain(
      'keys of this project stop at once',
    );
    const removed = await house.post(admin, `${projects}/${projectId}/members/${member.id}/remove`);
    expect(removed.status).toBe(200);
    expect(await Promise.all([own, elsewhere, others].map(statusOf))).toEqual([
      'revoked',
      'active',
      'active',
    ]);
    expect(await changesOf('project.member-removed', projectId)).toEqual({
      member: [member.email, null],
      keys: [1, 0],
    });
    expect((await newKey(member, projectId)).status).toBe(403);
  });
});
