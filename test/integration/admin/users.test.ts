import { Ledger } from '#product/billing';
import type { UserRole } from '../../../src/kernel';
import { addKey } from '../../support/people';
import { until } from '../../support/until';
import { House, type Person } from './house';

const page = '/dashboard/admin/users';

describe('the administration of people', () => {
  let house: House;
  let platform: Person;
  let admin: Person;
  let owner: Person;

  beforeAll(async () => {
    house = await House.open();
    [platform, admin, owner] = await Promise.all([
      house.person('platform_admin'),
      house.person('org_admin'),
      house.person('org_owner'),
    ]);
  });
  afterAll(() => house.close());

  const roleOf = async (id: number): Promise<string> =>
    (await house.row<{ role: string }>('SELECT role FROM user_account WHERE id = $1', [id])).role;
  const set = (who: Person | null, id: number, act: string, json: object) =>
    house.post(who, `${page}/${id}/${act}`, json);

  test('a list shows the people of the role’s scope and nobody else', async () => {
    const stranger = await house.person('user', { organisationId: house.theirs });
    const ours = await house.get(admin, page);
    expect(ours.status).toBe(200);
    expect(ours.text).toContain(owner.email);
    expect(ours.text).not.toContain(stranger.email);
    expect((await house.get(platform, `${page}?q=${stranger.email}`)).text).toContain(stranger.email);
    expect((await house.get(admin, `${page}?q=${stranger.email}`)).text).not.toContain(`${stranger.email}</`);
    const file = await house.get(admin, `${page}/export`);
    expect(file.text).toContain(owner.email);
    expect(file.text).not.toContain(stranger.email);
    expect((await house.get(await house.person('user'), page)).status).toBe(403);
    expect((await house.get(admin, `${page}?role=king`)).status).toBe(422);
  });

  test('a department’s administrator sees their department', async () => {
    const { id: departmentId } = await house.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Research') RETURNING id`,
      [house.ours],
    );
    const head = await house.person('department_admin', { departmentId });
    const member = await house.person('user', { departmentId });
    const { text } = await house.get(head, page);
    expect(text).toContain(member.email);
    expect(text).not.toContain(owner.email);
    expect((await house.get(head, `${page}/${member.id}`)).status).toBe(200);
    expect((await house.get(head, `${page}/${owner.id}`)).status).toBe(404);
    expect((await set(head, member.id, 'role', { role: 'user' })).status).toBe(403);
  });

  test.each(['overview', 'keys', 'usage', 'billing', 'sessions', 'audit'])(
    'the tab %s of a person',
    async (tab) => {
      const shown = await house.get(platform, `${page}/${owner.id}?tab=${tab}`);
      expect(shown.status).toBe(200);
      expect(shown.text).toContain(owner.email);
      expect((await house.get(admin, `${page}/${platform.id}?tab=${tab}`)).status).toBe(404);
    },
  );

  test('a foreign account is as absent as one that does not exist', async () => {
    const stranger = await house.person('user', { organisationId: house.theirs });
    const foreign = await set(admin, stranger.id, 'role', { role: 'user' });
    const absent = await set(admin, 99_999_999, 'role', { role: 'user' });
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    const plain = ({ body }: typeof foreign) =>
      JSON.stringify({ ...body, error: { ...(body['error'] as object), request_id: '' }, request_id: '' });
    expect(plain(foreign)).toBe(plain(absent));
    expect((await house.post(admin, `${page}/none/role`, { role: 'user' })).status).toBe(422);
  });

  test.each<[UserRole, UserRole, number]>([
    ['org_admin', 'org_admin', 200],
    ['org_admin', 'org_owner', 403],
    ['org_admin', 'platform_owner', 403],
    ['org_owner', 'org_owner', 200],
    ['org_owner', 'platform_admin', 403],
    ['platform_admin', 'platform_admin', 200],
    ['platform_admin', 'platform_owner', 403],
  ])('%s makes somebody %s: %d', async (actor, role, status) => {
    const person = await house.person('user');
    const who = await house.person(actor);
    expect((await set(who, person.id, 'role', { role })).status).toBe(status);
    expect(await roleOf(person.id)).toBe(status === 200 ? role : 'user');
  });

  test('nobody changes somebody above, themselves, or the last owner', async () => {
    expect((await set(admin, owner.id, 'role', { role: 'user' })).status).toBe(403);
    expect((await set(admin, admin.id, 'credit-limit', { credit_limit: '5' })).status).toBe(403);
    await house.app.database.query(
      "UPDATE user_account SET status = 'archived' WHERE role = 'platform_owner'",
    );
    const [one, two] = await Promise.all([house.person('platform_owner'), house.person('platform_owner')]);
    const both = await Promise.all([
      set(one, two.id, 'role', { role: 'user' }),
      set(two, one.id, 'role', { role: 'user' }),
    ]);
    expect(both.map(({ status }) => status).sort()).not.toEqual([200, 200]);
    const { count } = await house.row<{ count: string }>(
      "SELECT count(*) FROM user_account WHERE role = 'platform_owner' AND status = 'active'",
    );
    expect(Number(count)).toBe(1);
  });

  test('a changed role ends the sessions, and the change is on record with its reason', async () => {
    const person = await house.person('org_admin');
    expect((await house.get(person, page)).status).toBe(200);
    const changed = await set(platform, person.id, 'role', { role: 'user', reason: 'left the team' });
    expect(changed.body).toMatchObject({ ok: true, changed: ['role'], user: { role: 'user', version: 2 } });
    expect((await house.get(person, page)).status).toBe(303);
    const entry = await house.row<{ changes: object; reason: string; actor_user_id: number }>(
      "SELECT changes, reason, actor_user_id FROM activity WHERE action = 'user.role-changed' AND object_id = $1",
      [String(person.id)],
    );
    expect(entry).toEqual({
      changes: { role: ['org_admin', 'user'] },
      reason: 'left the team',
      actor_user_id: platform.id,
    });
  });

  test('of two who edit the same page, the second is told', async () => {
    const person = await house.person('user');
    await house.app.database.query('UPDATE organisation SET credit_ceiling_nano = 5000000000');
    expect((await set(admin, person.id, 'credit-limit', { credit_limit: '1', version: 1 })).status).toBe(200);
    const second = await set(owner, person.id, 'credit-limit', { credit_limit: '2', version: 1 });
    expect(second.status).toBe(409);
    expect(second.text).toContain('conflict');
    expect((await house.app.application.get(Ledger).wallet(person.id)).creditLimit).toBe(1_000_000_000n);
  });

  test('a suspended person is refused at once, and their keys are', async () => {
    const person = await house.person('user');
    const { text: key } = await addKey(house.app, person.id);
    const ask = () => fetch(`${house.app.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect((await ask()).status).toBe(200);
    expect((await set(admin, person.id, 'status', { status: 'suspended' })).status).toBe(200);
    expect((await house.get(person, '/dashboard/activity')).status).toBe(303);
    let refused = await ask();
    // Nodes hear of it by an announcement.
    await until(async () => (refused = await ask()).status !== 200);
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('account_status');
    expect((await set(admin, person.id, 'status', { status: 'deleted' })).status).toBe(422);
    expect((await set(admin, person.id, 'status', { status: 'active' })).status).toBe(200);
  });

  test('billing: who may set what, and what then holds', async () => {
    const person = await house.person('user');
    expect((await set(owner, person.id, 'billing-exempt', {})).status).toBe(403);
    expect((await set(owner, person.id, 'monthly-budget', { monthly_budget: 5 })).status).toBe(403);
    expect((await set(platform, person.id, 'billing-exempt', {})).body).toMatchObject({
      user: { billing_exempt: true },
    });
    expect((await set(platform, person.id, 'monthly-budget', { monthly_budget: 5 })).body).toMatchObject({
      user: { monthly_budget: 5, budget: null },
    });
    expect((await set(platform, person.id, 'monthly-budget', { monthly_budget: -5 })).status).toBe(422);
    expect((await set(platform, person.id, 'monthly-budget', {})).status).toBe(422);
    const config = {
      billing_type: 'delegated',
      delegate_user_id: admin.id,
      budget: '7.5',
      budget_period: 'daily',
    };
    expect((await set(owner, person.id, 'billing-config', config)).body).toMatchObject({
      user: { billing_type: 'delegated', delegate_user_id: admin.id, budget: 7.5, budget_period: 'daily' },
    });
    const stranger = await house.person('user', { organisationId: house.theirs });
    const foreign = { ...config, delegate_user_id: stranger.id };
    expect((await set(owner, person.id, 'billing-config', foreign)).status).toBe(404);
    expect((await set(owner, person.id, 'billing-config', { billing_type: 'invoiced' })).status).toBe(403);
  });

  test('a superior’s wallet pays for others only where those of the same rank say so', async () => {
    const person = await house.person('user');
    const config = (payer: Person) => ({
      billing_type: 'delegated',
      delegate_user_id: payer.id,
      budget: '1',
    });
    const refused = await set(admin, person.id, 'billing-config', config(owner));
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.objectContaining({ param: 'delegate_user_id' }),
    ]);
    expect((await set(admin, person.id, 'billing-config', config(admin))).status).toBe(200);
    expect((await set(owner, person.id, 'billing-config', config(owner))).status).toBe(200);
    // A value that is not changed needs no right.
    expect((await set(admin, person.id, 'billing-config', { ...config(owner), budget: '2' })).status).toBe(
      200,
    );

    const made = await house.post(admin, '/dashboard/admin/projects', { name: 'Pier' });
    const project = `/dashboard/admin/projects/${Number(made.body['id'])}`;
    const pays = (who: Person, payer: Person) => house.post(who, project, { billing_user_id: payer.id });
    expect((await pays(admin, owner)).status).toBe(403);
    expect((await pays(admin, person)).status).toBe(200);
    expect((await pays(owner, owner)).status).toBe(200);
    expect((await house.post(admin, project, { name: 'Quay', billing_user_id: owner.id })).status).toBe(200);
  });

  test('a budget raised for a while: by those who run the organisation, with a reason, until an instant', async () => {
    const person = await house.person('user');
    const end = new Date(Date.now() + 86_400_000).toISOString();
    const raise = { raise_amount: '2.5', raise_until: end, reason: 'A trial.' };
    expect((await set(admin, person.id, 'budget-raise', raise)).status).toBe(409);
    await set(platform, person.id, 'monthly-budget', { monthly_budget: 9 });
    expect((await set(admin, person.id, 'budget-raise', raise)).status).toBe(409);
    await set(admin, person.id, 'billing-config', { billing_type: 'prepaid', budget: 5 });
    expect((await set(admin, person.id, 'budget-raise', raise)).body).toMatchObject({
      user: { monthly_budget: 9, budget: 5, budget_raised: 2.5, budget_raised_until: end },
    });
    expect((await set(admin, person.id, 'budget-raise', { ...raise, reason: '' })).status).toBe(422);
    expect((await set(admin, person.id, 'budget-raise', { ...raise, raise_amount: '0' })).status).toBe(422);
    expect(
      (await set(admin, person.id, 'budget-raise', { ...raise, raise_until: '2020-01-01' })).status,
    ).toBe(422);
    const head = await house.person('department_admin');
    expect((await set(head, person.id, 'budget-raise', raise)).status).toBe(403);
    expect((await set(admin, person.id, 'budget-raise', { raise_amount: null })).body).toMatchObject({
      user: { budget: 5, budget_raised: null },
    });
  });

  test('organisation and department', async () => {
    const person = await house.person('org_admin');
    const { id } = await house.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Sales') RETURNING id`,
      [house.ours],
    );
    const foreign = await house.row<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Sales') RETURNING id`,
      [house.theirs],
    );
    expect((await set(owner, person.id, 'department', { department_id: foreign.id })).status).toBe(404);
    expect((await set(owner, person.id, 'department', { department_id: id })).status).toBe(200);
    expect((await set(owner, person.id, 'org', { org_id: house.theirs })).status).toBe(403);
    expect((await set(platform, person.id, 'org', { org_id: house.theirs })).body).toMatchObject({
      user: { org_id: house.theirs, department_id: null, role: 'user' },
    });
  });

  test('fields that are not a form’s own are refused and change nothing', async () => {
    const person = await house.person('user');
    for (const extra of ['org_id', 'billing_exempt', 'credit_limit', 'balance', 'id', 'email']) {
      const answer = await set(admin, person.id, 'status', { status: 'active', [extra]: 1 });
      expect([extra, answer.status]).toEqual([extra, 422]);
    }
  });

  test('erasing: refused with money or keys; then no personal data is left, and the ledger stays', async () => {
    const person = await house.person('user');
    const ledger = house.app.application.get(Ledger);
    const post = (amount: bigint, ref: string) =>
      house.app.database.transaction((tx) =>
        ledger.post(tx, { walletId: person.id, amount, against: 'adjustment', kind: 'test', ref }),
      );
    await post(5n, `${person.id} in`);
    const erase = () => set(owner, person.id, 'hard-delete', { confirmation: person.email });
    expect((await erase()).status).toBe(409);
    await post(-5n, `${person.id} out`);
    const key = await addKey(house.app, person.id);
    expect((await erase()).status).toBe(409);
    await house.app.database.query("UPDATE api_key SET status = 'revoked' WHERE id = $1", [key.id]);
    expect((await set(admin, person.id, 'hard-delete', {})).status).toBe(403);
    expect((await set(owner, person.id, 'hard-delete', { confirmation: 'else' })).status).toBe(409);
    expect((await erase()).status).toBe(200);
    const row = await house.row<Record<string, unknown>>('SELECT * FROM user_account WHERE id = $1', [
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
    expect((await house.get(platform, `${page}/${person.id}`)).status).toBe(404);
    expect((await house.get(person, page)).status).toBe(303);
    expect((await erase()).status).toBe(404);
  });
});
