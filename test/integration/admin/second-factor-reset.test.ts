import { SecondFactors } from '#product/identity';
import { mailTo } from '../accounts/account-house';
import { House, type Person } from './house';

const page = '/dashboard/admin/users';

describe('an administrator resets a second factor', () => {
  let house: House;
  let admin: Person;

  beforeAll(async () => {
    house = await House.open();
    admin = await house.person('org_admin');
  });
  afterAll(() => house.close());

  /** The person has switched it on, and has a recovery code left. */
  async function withFactor(person: Person): Promise<Person> {
    await house.app.application.get(SecondFactors, { strict: false }).setup(person.id);
    await house.app.database.query('UPDATE second_factor SET enabled_at = now() WHERE user_id = $1', [
      person.id,
    ]);
    await house.app.database.query('INSERT INTO recovery_code (user_id, code_hash) VALUES ($1, $2)', [
      person.id,
      Buffer.alloc(32, person.id % 251),
    ]);
    return person;
  }
  const left = async ({ id }: Person): Promise<object> =>
    house.row(
      `SELECT (SELECT count(*)::int FROM second_factor WHERE user_id = $1) AS factors,
              (SELECT count(*)::int FROM recovery_code WHERE user_id = $1) AS codes,
              (SELECT count(*)::int FROM session WHERE user_id = $1) AS sessions`,
      [id],
    );
  const reset = (who: Person | null, { id }: Person, json: object = { reason: 'lost the phone' }) =>
    house.post(who, `${page}/${id}/second-factor-reset`, json);

  test('factor, recovery codes and sessions end; the person is told and the reason is on record', async () => {
    const person = await withFactor(await house.person('user'));
    expect((await house.get(admin, `${page}/${person.id}`)).text).toContain('Reset two-step sign-in');
    const answer = await reset(admin, person);
    expect(answer.body).toMatchObject({ ok: true, changed: ['second_factor'], user: { id: person.id } });
    expect(await left(person)).toEqual({ factors: 0, codes: 0, sessions: 0 });
    const entry = await house.row(
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
    const mail = await mailTo(house.app, person.email, /was reset/);
    expect(mail.text).toContain(admin.email.split('@')[0]);
    expect(mail.text).toContain('/dashboard/settings/second-factor');
  });

  test('where nothing is on, nothing changes and nobody is signed out', async () => {
    const person = await house.person('user');
    expect((await reset(admin, person)).body).toMatchObject({ ok: true, changed: [] });
    expect(await left(person)).toMatchObject({ sessions: 1 });
    expect((await house.get(admin, `${page}/${person.id}`)).text).toContain('Two-step sign-in is off.');
  });

  test('a reason is needed, and the form says so in its place', async () => {
    const person = await withFactor(await house.person('user'));
    expect((await reset(admin, person, {})).status).toBe(422);
    const path = `${page}/${person.id}`;
    const shown = await house.submit(admin, path, `${path}/second-factor-reset`, { reason: ' ' });
    expect(shown.status).toBe(422);
    expect(shown.text).toContain('id="second-factor-reason-error"');
    expect(await left(person)).toMatchObject({ factors: 1 });
    expect((await house.submit(admin, path, `${path}/second-factor-reset`, { reason: 'lost' })).status).toBe(
      303,
    );
  });

  test('never one’s own, a superior’s, or a stranger’s', async () => {
    const owner = await withFactor(await house.person('org_owner'));
    const stranger = await withFactor(await house.person('user', { organisationId: house.theirs }));
    const guest = await withFactor(await house.person('platform_admin', { organisationId: house.ours }));
    const head = await house.person('department_admin');
    await withFactor(admin);
    const refused = [
      await reset(admin, admin),
      await reset(admin, owner),
      await reset(admin, stranger),
      await reset(admin, guest),
      await reset(head, await house.person('user')),
      await reset(null, owner),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 404, 403, 403, 401]);
    for (const person of [admin, owner, stranger, guest])
      expect(await left(person)).toMatchObject({ factors: 1 });
  });

  test('a platform owner’s by another platform owner alone', async () => {
    const [one, two, administrator] = [
      await house.person('platform_owner'),
      await withFactor(await house.person('platform_owner')),
      await house.person('platform_admin'),
    ];
    expect((await reset(administrator, two)).status).toBe(403);
    expect((await reset(two, two)).status).toBe(403);
    expect((await reset(one, two)).status).toBe(200);
  });
});
