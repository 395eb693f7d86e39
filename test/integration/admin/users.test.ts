import { Ledger } from '#product/billing';
import type { UserRole } from '../../../src/kernel';
import { addKey } from '../../support/users';
import { until } from '../../support/until';
import { PortalFixture, type Person } from './portal-fixture';

const page = '/dashboard/admin/users';

describe('Administration of users', () => {
  let fixture: PortalFixture;
  let platformAdmin: Person;
  let admin: Person;
  let owner: Person;

  beforeAll(async () => {
    fixture = await PortalFixture.open();
    [platformAdmin, admin, owner] = await Promise.all([
      fixture.person('platform_admin'),
      fixture.person('org_admin'),
      fixture.person('org_owner'),
    ]);
  });
  afterAll(() => fixture.close());

  const roleOf = async (id: number): Promise<string> =>
    (await fixture.row<{ role: string }>('SELECT role FROM user_account WHERE id = $1', [id])).role;
  const updateUser = (actor: Person | null, id: number, action: string, json: object) =>
    fixture.post(actor, `${page}/${id}/${action}`, json);

  test("the list shows only users within the role's scope", async () => {
    const stranger = await fixture.person('user', { organisationId: fixture.otherOrganisation });
    const ownList = await fixture.get(admin, page);
    expect(ownList.status).toBe(200);
    expect(ownList.text).toContain(owner.email);
    expect(ownList.text).not.toContain(stranger.email);
    expect((await fixture.get(platformAdmin, `${page}?q=${stranger.email}`)).text).toContain(stranger.email);
    expect((await fixture.get(admin, `${page}?q=${stranger.email}`)).text).not.toContain(
      `${stranger.email}</`,
    );
    const file = await fixture.get(admin, `${page}/export`);
    expect(file.text).toContain(owner.email);
    expect(file.text).not.toContain(stranger.email);
    expect((await fixture.get(await fixture.person('user'), page)).status).toBe(403);
    expect((await fixture.get(admin, `${page}?role=king`)).status).toBe(422);
  });

  test('a department administrator sees only their department', async () => {
    const { id: departmentId } = await fixture.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Research') RETURNING id`,
      [fixture.ownOrganisation],
    );
    const head = await fixture.person('department_admin', { departmentId });
    const member = await fixture.person('user', { departmentId });
    const { text } = await fixture.get(head, page);
    expect(text).toContain(member.email);
    expect(text).not.toContain(owner.email);
    expect((await fixture.get(head, `${page}/${member.id}`)).status).toBe(200);
    expect((await fixture.get(head, `${page}/${owner.id}`)).status).toBe(404);
    expect((await updateUser(head, member.id, 'role', { role: 'user' })).status).toBe(403);
  });

  test.each(['overview', 'keys', 'usage', 'billing', 'sessions', 'audit'])(
    "a user's %s tab opens within the scope and returns 404 outside it",
    async (tab) => {
      const tabPage = await fixture.get(platformAdmin, `${page}/${owner.id}?tab=${tab}`);
      expect(tabPage.status).toBe(200);
      expect(tabPage.text).toContain(owner.email);
      expect((await fixture.get(admin, `${page}/${platformAdmin.id}?tab=${tab}`)).status).toBe(404);
    },
  );

  test('a user of another organisation returns the same response as an unknown user', async () => {
    const stranger = await fixture.person('user', { organisationId: fixture.otherOrganisation });
    const otherUserResponse = await updateUser(admin, stranger.id, 'role', { role: 'user' });
    const unknownUserResponse = await updateUser(admin, 99_999_999, 'role', { role: 'user' });
    expect([otherUserResponse.status, unknownUserResponse.status]).toEqual([404, 404]);
    const withoutRequestId = ({ body }: typeof otherUserResponse) =>
      JSON.stringify({ ...body, error: { ...(body['error'] as object), request_id: '' }, request_id: '' });
    expect(withoutRequestId(otherUserResponse)).toBe(withoutRequestId(unknownUserResponse));
    expect((await fixture.post(admin, `${page}/none/role`, { role: 'user' })).status).toBe(422);
  });

  test.each<[UserRole, UserRole, number]>([
    ['org_admin', 'org_admin', 200],
    ['org_admin', 'org_owner', 403],
    ['org_admin', 'platform_owner', 403],
    ['org_owner', 'org_owner', 200],
    ['org_owner', 'platform_admin', 403],
    ['platform_admin', 'platform_admin', 200],
    ['platform_admin', 'platform_owner', 403],
  ])('%s makes a user %s: %d', async (actor, role, status) => {
    const person = await fixture.person('user');
    const actingUser = await fixture.person(actor);
    expect((await updateUser(actingUser, person.id, 'role', { role })).status).toBe(status);
    expect(await roleOf(person.id)).toBe(status === 200 ? role : 'user');
  });

  test('a superior, oneself and the last owner cannot be changed', async () => {
    expect((await updateUser(admin, owner.id, 'role', { role: 'user' })).status).toBe(403);
    expect((await updateUser(admin, admin.id, 'credit-limit', { credit_limit: '5' })).status).toBe(403);
    await fixture.app.database.query(
      "UPDATE user_account SET status = 'archived' WHERE role = 'platform_owner'",
    );
    const [one, two] = await Promise.all([
      fixture.person('platform_owner'),
      fixture.person('platform_owner'),
    ]);
    const concurrentDemotions = await Promise.all([
      updateUser(one, two.id, 'role', { role: 'user' }),
      updateUser(two, one.id, 'role', { role: 'user' }),
    ]);
    expect(concurrentDemotions.map(({ status }) => status).sort()).not.toEqual([200, 200]);
    const { count } = await fixture.row<{ count: string }>(
      "SELECT count(*) FROM user_account WHERE role = 'platform_owner' AND status = 'active'",
    );
    expect(Number(count)).toBe(1);
  });

  test('a role change ends the sessions and is logged with its reason', async () => {
    const person = await fixture.person('org_admin');
    expect((await fixture.get(person, page)).status).toBe(200);
    const roleResponse = await updateUser(platformAdmin, person.id, 'role', {
      role: 'user',
      reason: 'left the team',
    });
    expect(roleResponse.body).toMatchObject({
      ok: true,
      changed: ['role'],
      user: { role: 'user', version: 2 },
    });
    expect((await fixture.get(person, page)).status).toBe(303);
    const entry = await fixture.row<{ changes: object; reason: string; actor_user_id: number }>(
      "SELECT changes, reason, actor_user_id FROM activity WHERE action = 'user.role-changed' AND object_id = $1",
      [String(person.id)],
    );
    expect(entry).toEqual({
      changes: { role: ['org_admin', 'user'] },
      reason: 'left the team',
      actor_user_id: platformAdmin.id,
    });
  });

  test('the second of two edits from the same page returns a conflict', async () => {
    const person = await fixture.person('user');
    await fixture.app.database.query('UPDATE organisation SET credit_ceiling_nano = 5000000000');
    expect(
      (await updateUser(admin, person.id, 'credit-limit', { credit_limit: '1', version: 1 })).status,
    ).toBe(200);
    const secondEdit = await updateUser(owner, person.id, 'credit-limit', { credit_limit: '2', version: 1 });
    expect(secondEdit.status).toBe(409);
    expect(secondEdit.text).toContain('conflict');
    expect((await fixture.app.application.get(Ledger).wallet(person.id)).creditLimit).toBe(1_000_000_000n);
  });

  test("a suspended user's sessions and keys are refused immediately", async () => {
    const person = await fixture.person('user');
    const { text: key } = await addKey(fixture.app, person.id);
    const listModels = () =>
      fetch(`${fixture.app.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect((await listModels()).status).toBe(200);
    expect((await updateUser(admin, person.id, 'status', { status: 'suspended' })).status).toBe(200);
    expect((await fixture.get(person, '/dashboard/activity')).status).toBe(303);
    let keyResponse = await listModels();
    // Nodes learn of the suspension through a notification.
    await until(async () => (keyResponse = await listModels()).status !== 200);
    expect(keyResponse.status).toBe(403);
    expect(await keyResponse.text()).toContain('account_status');
    expect((await updateUser(admin, person.id, 'status', { status: 'deleted' })).status).toBe(422);
    expect((await updateUser(admin, person.id, 'status', { status: 'active' })).status).toBe(200);
  });

  test('billing settings are limited by role and take effect', async () => {
    const person = await fixture.person('user');
    expect((await updateUser(owner, person.id, 'billing-exempt', {})).status).toBe(403);
    expect((await updateUser(owner, person.id, 'monthly-budget', { monthly_budget: 5 })).status).toBe(403);
    expect((await updateUser(platformAdmin, person.id, 'billing-exempt', {})).body).toMatchObject({
      user: { billing_exempt: true },
    });
    expect(
      (await updateUser(platformAdmin, person.id, 'monthly-budget', { monthly_budget: 5 })).body,
    ).toMatchObject({
      user: { monthly_budget: 5, budget: null },
    });
    expect(
      (await updateUser(platformAdmin, person.id, 'monthly-budget', { monthly_budget: -5 })).status,
    ).toBe(422);
    expect((await updateUser(platformAdmin, person.id, 'monthly-budget', {})).status).toBe(422);
    const config = {
      billing_type: 'delegated',
      delegate_user_id: admin.id,
      budget: '7.5',
      budget_period: 'daily',
    };
    expect((await updateUser(owner, person.id, 'billing-config', config)).body).toMatchObject({
      user: { billing_type: 'delegated', delegate_user_id: admin.id, budget: 7.5, budget_period: 'daily' },
    });
    const stranger = await fixture.person('user', { organisationId: fixture.otherOrganisation });
    const otherDelegate = { ...config, delegate_user_id: stranger.id };
    expect((await updateUser(owner, person.id, 'billing-config', otherDelegate)).status).toBe(404);
    expect((await updateUser(owner, person.id, 'billing-config', { billing_type: 'invoiced' })).status).toBe(
      403,
    );
  });

  test("a superior's wallet can pay for others only with the consent of that rank", async () => {
    const person = await fixture.person('user');
    const config = (payer: Person) => ({
      billing_type: 'delegated',
      delegate_user_id: payer.id,
      budget: '1',
    });
    const refusal = await updateUser(admin, person.id, 'billing-config', config(owner));
    expect([refusal.status, refusal.body]).toEqual([
      403,
      expect.objectContaining({ param: 'delegate_user_id' }),
    ]);
    expect((await updateUser(admin, person.id, 'billing-config', config(admin))).status).toBe(200);
    expect((await updateUser(owner, person.id, 'billing-config', config(owner))).status).toBe(200);
    // An unchanged value needs no permission.
    expect(
      (await updateUser(admin, person.id, 'billing-config', { ...config(owner), budget: '2' })).status,
    ).toBe(200);

    const projectResponse = await fixture.post(admin, '/dashboard/admin/projects', { name: 'Pier' });
    const project = `/dashboard/admin/projects/${Number(projectResponse.body['id'])}`;
    const setPayer = (actor: Person, payer: Person) =>
      fixture.post(actor, project, { billing_user_id: payer.id });
    expect((await setPayer(admin, owner)).status).toBe(403);
    expect((await setPayer(admin, person)).status).toBe(200);
    expect((await setPayer(owner, owner)).status).toBe(200);
    expect((await fixture.post(admin, project, { name: 'Quay', billing_user_id: owner.id })).status).toBe(
      200,
    );
  });

  test('a temporary budget raise needs an organisation administrator, a reason and an end time', async () => {
    const person = await fixture.person('user');
    const end = new Date(Date.now() + 86_400_000).toISOString();
    const raise = { raise_amount: '2.5', raise_until: end, reason: 'A trial.' };
    expect((await updateUser(admin, person.id, 'budget-raise', raise)).status).toBe(409);
    await updateUser(platformAdmin, person.id, 'monthly-budget', { monthly_budget: 9 });
    expect((await updateUser(admin, person.id, 'budget-raise', raise)).status).toBe(409);
    await updateUser(admin, person.id, 'billing-config', { billing_type: 'prepaid', budget: 5 });
    expect((await updateUser(admin, person.id, 'budget-raise', raise)).body).toMatchObject({
      user: { monthly_budget: 9, budget: 5, budget_raised: 2.5, budget_raised_until: end },
    });
    expect((await updateUser(admin, person.id, 'budget-raise', { ...raise, reason: '' })).status).toBe(422);
    expect((await updateUser(admin, person.id, 'budget-raise', { ...raise, raise_amount: '0' })).status).toBe(
      422,
    );
    expect(
      (await updateUser(admin, person.id, 'budget-raise', { ...raise, raise_until: '2020-01-01' })).status,
    ).toBe(422);
    const head = await fixture.person('department_admin');
    expect((await updateUser(head, person.id, 'budget-raise', raise)).status).toBe(403);
    expect((await updateUser(admin, person.id, 'budget-raise', { raise_amount: null })).body).toMatchObject({
      user: { budget: 5, budget_raised: null },
    });
  });

  test("a user is moved to another organisation and department within the role's scope", async () => {
    const person = await fixture.person('org_admin');
    const { id } = await fixture.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Sales') RETURNING id`,
      [fixture.ownOrganisation],
    );
    const otherDepartment = await fixture.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Sales') RETURNING id`,
      [fixture.otherOrganisation],
    );
    expect(
      (await updateUser(owner, person.id, 'department', { department_id: otherDepartment.id })).status,
    ).toBe(404);
    expect((await updateUser(owner, person.id, 'department', { department_id: id })).status).toBe(200);
    expect((await updateUser(owner, person.id, 'org', { org_id: fixture.otherOrganisation })).status).toBe(
      403,
    );
    expect(
      (await updateUser(platformAdmin, person.id, 'org', { org_id: fixture.otherOrganisation })).body,
    ).toMatchObject({
      user: { org_id: fixture.otherOrganisation, department_id: null, role: 'user' },
    });
  });

  test('unknown form fields are refused and change nothing', async () => {
    const person = await fixture.person('user');
    for (const extraField of ['org_id', 'billing_exempt', 'credit_limit', 'balance', 'id', 'email']) {
      const answer = await updateUser(admin, person.id, 'status', { status: 'active', [extraField]: 1 });
      expect([extraField, answer.status]).toEqual([extraField, 422]);
    }
  });

  test('deletion is refused while the user has money or keys, then removes personal data and keeps the ledger', async () => {
    const person = await fixture.person('user');
    const ledger = fixture.app.application.get(Ledger);
    const post = (amount: bigint, ref: string) =>
      fixture.app.database.transaction((tx) =>
        ledger.post(tx, { walletId: person.id, amount, against: 'adjustment', kind: 'test', ref }),
      );
    await post(5n, `${person.id} in`);
    const erase = () => updateUser(owner, person.id, 'hard-delete', { confirmation: person.email });
    expect((await erase()).status).toBe(409);
    await post(-5n, `${person.id} out`);
    const key = await addKey(fixture.app, person.id);
    expect((await erase()).status).toBe(409);
    await fixture.app.database.query("UPDATE api_key SET status = 'revoked' WHERE id = $1", [key.id]);
    expect((await updateUser(admin, person.id, 'hard-delete', {})).status).toBe(403);
    expect((await updateUser(owner, person.id, 'hard-delete', { confirmation: 'else' })).status).toBe(409);
    expect((await erase()).status).toBe(200);
    const row = await fixture.row<Record<string, unknown>>('SELECT * FROM user_account WHERE id = $1', [
      person.id,
    ]);
    expect(row).toMatchObject({
      display_name: '',
      status: 'deleted',
      password_hash: null,
      organisation_id: null,
    });
    expect(JSON.stringify(row)).not.toContain(person.email.split('@')[0]);
    expect((await ledger.lines(person.id, 10)).length).toBe(2);
    expect((await fixture.get(platformAdmin, `${page}/${person.id}`)).status).toBe(404);
    expect((await fixture.get(person, page)).status).toBe(303);
    expect((await erase()).status).toBe(404);
  });
});
