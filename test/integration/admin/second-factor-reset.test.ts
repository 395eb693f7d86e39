import { SecondFactors } from '#product/identity';
import { mailTo } from '../accounts/account-fixture';
import { PortalFixture, type Person } from './portal-fixture';

const page = '/dashboard/admin/users';

describe('Second-factor reset by an administrator', () => {
  let fixture: PortalFixture;
  let admin: Person;

  beforeAll(async () => {
    fixture = await PortalFixture.open();
    admin = await fixture.person('org_admin');
  });
  afterAll(() => fixture.close());

  /** Enables a second factor with one recovery code left. */
  async function enableSecondFactor(person: Person): Promise<Person> {
    await fixture.app.application.get(SecondFactors, { strict: false }).setup(person.id);
    await fixture.app.database.query('UPDATE second_factor SET enabled_at = now() WHERE user_id = $1', [
      person.id,
    ]);
    await fixture.app.database.query('INSERT INTO recovery_code (user_id, code_hash) VALUES ($1, $2)', [
      person.id,
      Buffer.alloc(32, person.id % 251),
    ]);
    return person;
  }
  const remainingState = async ({ id }: Person): Promise<object> =>
    fixture.row(
      `SELECT (SELECT count(*)::int FROM second_factor WHERE user_id = $1) AS factors,
              (SELECT count(*)::int FROM recovery_code WHERE user_id = $1) AS codes,
              (SELECT count(*)::int FROM session WHERE user_id = $1) AS sessions`,
      [id],
    );
  const resetSecondFactor = (
    actor: Person | null,
    { id }: Person,
    json: object = { reason: 'lost the phone' },
  ) => fixture.post(actor, `${page}/${id}/second-factor-reset`, json);

  test('ends factor, recovery codes and sessions, notifies the user by email and logs the reason', async () => {
    const person = await enableSecondFactor(await fixture.person('user'));
    expect((await fixture.get(admin, `${page}/${person.id}`)).text).toContain('Reset two-step sign-in');
    const answer = await resetSecondFactor(admin, person);
    expect(answer.body).toMatchObject({ ok: true, changed: ['second_factor'], user: { id: person.id } });
    expect(await remainingState(person)).toEqual({ factors: 0, codes: 0, sessions: 0 });
    const entry = await fixture.row(
      `SELECT changes, reason, actor_user_id, user_id FROM activity
        WHERE action = 'user.second-factor-reset' AND object_id = $1`,
      [String(person.id)],
    );
    expect(entry).toEqual({
      changes: { second_factor: [true, false] },
      reason: 'lost the phone',
      actor_user_id: admin.id,
      user_id: person.id,
    });
    const mail = await mailTo(fixture.app, person.email, /was reset/);
    expect(mail.text).toContain(admin.email.split('@')[0]);
    expect(mail.text).toContain('/dashboard/settings/second-factor');
  });

  test('changes nothing and signs nobody out if no second factor is enabled', async () => {
    const person = await fixture.person('user');
    expect((await resetSecondFactor(admin, person)).body).toMatchObject({ ok: true, changed: [] });
    expect(await remainingState(person)).toMatchObject({ sessions: 1 });
    expect((await fixture.get(admin, `${page}/${person.id}`)).text).toContain('Two-step sign-in is off.');
  });

  test('requires a reason, and the form shows the error at that field', async () => {
    const person = await enableSecondFactor(await fixture.person('user'));
    expect((await resetSecondFactor(admin, person, {})).status).toBe(422);
    const path = `${page}/${person.id}`;
    const formPage = await fixture.submit(admin, path, `${path}/second-factor-reset`, { reason: ' ' });
    expect(formPage.status).toBe(422);
    expect(formPage.text).toContain('id="second-factor-reason-error"');
    expect(await remainingState(person)).toMatchObject({ factors: 1 });
    expect(
      (await fixture.submit(admin, path, `${path}/second-factor-reset`, { reason: 'lost' })).status,
    ).toBe(303);
  });

  test('is refused for oneself, a superior and a user of another organisation', async () => {
    const owner = await enableSecondFactor(await fixture.person('org_owner'));
    const stranger = await enableSecondFactor(
      await fixture.person('user', { organisationId: fixture.otherOrganisation }),
    );
    const guest = await enableSecondFactor(
      await fixture.person('platform_admin', { organisationId: fixture.ownOrganisation }),
    );
    const head = await fixture.person('department_admin');
    await enableSecondFactor(admin);
    const refusals = [
      await resetSecondFactor(admin, admin),
      await resetSecondFactor(admin, owner),
      await resetSecondFactor(admin, stranger),
      await resetSecondFactor(admin, guest),
      await resetSecondFactor(head, await fixture.person('user')),
      await resetSecondFactor(null, owner),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([403, 403, 404, 403, 403, 401]);
    for (const person of [admin, owner, stranger, guest])
      expect(await remainingState(person)).toMatchObject({ factors: 1 });
  });

  test('is allowed for a platform owner only by another platform owner', async () => {
    const [one, two, administrator] = [
      await fixture.person('platform_owner'),
      await enableSecondFactor(await fixture.person('platform_owner')),
      await fixture.person('platform_admin'),
    ];
    expect((await resetSecondFactor(administrator, two)).status).toBe(403);
    expect((await resetSecondFactor(two, two)).status).toBe(403);
    expect((await resetSecondFactor(one, two)).status).toBe(200);
  });
});
