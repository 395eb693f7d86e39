import { Ledger } from '#product/billing';
import { PortalFixture, type Person } from './portal-fixture';

describe('Validation of promotions', () => {
  const path = '/dashboard/admin/promotions';
  let fixture: PortalFixture;
  let platformAdmin: Person;

  beforeAll(async () => {
    fixture = await PortalFixture.open();
    platformAdmin = await fixture.person('platform_admin');
  });
  afterAll(() => fixture.close());

  const balanceOf = async (id: number) => (await fixture.app.application.get(Ledger).wallet(id)).balance;
  const promotionForm = { name: 'Odd', amount: 1 };
  const fieldError = (param: string) => ({ status: 422, body: { code: 'validation_error', param } });
  const today = new Date().toISOString().slice(0, 10);

  test('a scope with a contradicting user or organisation is refused', async () => {
    const person = await fixture.person('user');
    const bystander = await fixture.person('user');
    const user = { user_id: person.id };
    const organisation = { org_id: fixture.ownOrganisation };
    for (const [scope, targets, param] of [
      ['everyone', user, 'user_id'],
      ['everyone', organisation, 'org_id'],
      ['user', { ...user, ...organisation }, 'org_id'],
      ['organisation', { ...user, ...organisation }, 'user_id'],
    ] as const)
      expect(await fixture.post(platformAdmin, path, { ...promotionForm, scope, ...targets })).toMatchObject(
        fieldError(param),
      );
    expect([await balanceOf(person.id), await balanceOf(bystander.id)]).toEqual([0n, 0n]);
  });

  test('an invalid date and a past end are refused', async () => {
    const { id: user_id } = await fixture.person('user');
    const scope = 'user';
    for (const expires_at of ['2031-02-31', '2031-13-01', '2031-04-31T12:00:00Z', '2001-01-01', today])
      expect(
        await fixture.post(platformAdmin, path, { ...promotionForm, scope, user_id, expires_at }),
      ).toMatchObject(fieldError('expires_at'));
    expect(await balanceOf(user_id)).toBe(0n);
    const createResponse = await fixture.post(platformAdmin, path, {
      ...promotionForm,
      scope,
      user_id,
      expires_at: '2031-02-28',
    });
    const updatePath = `${path}/${Number(createResponse.body['id'])}/update`;
    expect(await fixture.post(platformAdmin, updatePath, { expires_at: '2031-02-29' })).toMatchObject(
      fieldError('expires_at'),
    );
    expect(await fixture.post(platformAdmin, updatePath, { expires_at: today })).toMatchObject(
      fieldError('expires_at'),
    );
    expect((await fixture.post(platformAdmin, updatePath, { expires_at: '2032-02-29T12:00' })).status).toBe(
      200,
    );
  });

  test('an ended promotion cannot be revived, but can be renamed and ended again without effect', async () => {
    const { id: user_id } = await fixture.person('user');
    const createResponse = await fixture.post(platformAdmin, path, {
      ...promotionForm,
      scope: 'user',
      user_id,
    });
    const id = Number(createResponse.body['id']);
    const updatePath = `${path}/${id}/update`;
    expect((await fixture.post(platformAdmin, updatePath, { end: true })).status).toBe(200);
    const grant = () =>
      fixture.row<{ expires_at: Date; name: string }>(
        'SELECT expires_at, name FROM promotion_grant WHERE id = $1',
        [id],
      );
    const { expires_at: end } = await grant();
    for (const expires_at of ['2031-01-01', null])
      expect(await fixture.post(platformAdmin, updatePath, { expires_at })).toMatchObject({
        status: 409,
        body: { code: 'conflict', param: 'expires_at', details: { reason: 'promotion-ended' } },
      });
    expect((await fixture.post(platformAdmin, updatePath, { end: true })).body['changed']).toEqual([]);
    expect((await fixture.post(platformAdmin, updatePath, { name: 'Even' })).status).toBe(200);
    expect(await grant()).toEqual({ expires_at: end, name: 'Even' });
    expect(await balanceOf(user_id)).toBe(0n);
  });
});
