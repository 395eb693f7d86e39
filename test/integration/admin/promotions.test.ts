import { Ledger } from '#product/billing';
import { House, type Person } from './house';

describe('a promotion that contradicts itself is refused before it pays', () => {
  const path = '/dashboard/admin/promotions';
  let house: House;
  let platform: Person;

  beforeAll(async () => {
    house = await House.open();
    platform = await house.person('platform_admin');
  });
  afterAll(() => house.close());

  const balanceOf = async (id: number) => (await house.app.application.get(Ledger).wallet(id)).balance;
  const given = { name: 'Odd', amount: 1 };
  const marked = (param: string) => ({ status: 422, body: { code: 'validation_error', param } });
  const ofToday = new Date().toISOString().slice(0, 10);

  test('a person beside everyone, an organisation beside a person, a person beside an organisation', async () => {
    const person = await house.person('user');
    const bystander = await house.person('user');
    const user = { user_id: person.id };
    const organisation = { org_id: house.ours };
    for (const [scope, targets, param] of [
      ['everyone', user, 'user_id'],
      ['everyone', organisation, 'org_id'],
      ['user', { ...user, ...organisation }, 'org_id'],
      ['organisation', { ...user, ...organisation }, 'user_id'],
    ] as const)
      expect(await house.post(platform, path, { ...given, scope, ...targets })).toMatchObject(marked(param));
    expect([await balanceOf(person.id), await balanceOf(bystander.id)]).toEqual([0n, 0n]);
  });

  test('a day that no calendar has, and an end that has passed', async () => {
    const { id: user_id } = await house.person('user');
    const scope = 'user';
    for (const expires_at of ['2031-02-31', '2031-13-01', '2031-04-31T12:00:00Z', '2001-01-01', ofToday])
      expect(await house.post(platform, path, { ...given, scope, user_id, expires_at })).toMatchObject(
        marked('expires_at'),
      );
    expect(await balanceOf(user_id)).toBe(0n);
    const made = await house.post(platform, path, { ...given, scope, user_id, expires_at: '2031-02-28' });
    const one = `${path}/${Number(made.body['id'])}/update`;
    expect(await house.post(platform, one, { expires_at: '2031-02-29' })).toMatchObject(marked('expires_at'));
    expect(await house.post(platform, one, { expires_at: ofToday })).toMatchObject(marked('expires_at'));
    expect((await house.post(platform, one, { expires_at: '2032-02-29T12:00' })).status).toBe(200);
  });

  test('one that has ended is not revived; it is still renamed, and ended again without effect', async () => {
    const { id: user_id } = await house.person('user');
    const made = await house.post(platform, path, { ...given, scope: 'user', user_id });
    const id = Number(made.body['id']);
    const one = `${path}/${id}/update`;
    expect((await house.post(platform, one, { end: true })).status).toBe(200);
    const grant = () =>
      house.row<{ expires_at: Date; name: string }>(
        'SELECT expires_at, name FROM promotion_grant WHERE id = $1',
        [id],
      );
    const { expires_at: end } = await grant();
    for (const expires_at of ['2031-01-01', null])
      expect(await house.post(platform, one, { expires_at })).toMatchObject({
        status: 409,
        body: { code: 'conflict', param: 'expires_at', details: { reason: 'promotion-ended' } },
      });
    expect((await house.post(platform, one, { end: true })).body['changed']).toEqual([]);
    expect((await house.post(platform, one, { name: 'Even' })).status).toBe(200);
    expect(await grant()).toEqual({ expires_at: end, name: 'Even' });
    expect(await balanceOf(user_id)).toBe(0n);
  });
});
