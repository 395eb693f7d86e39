import { Ledger } from '#product/billing';
import { PortalFixture, type Person } from './portal-fixture';

describe('Credit of promotions', () => {
  let fixture: PortalFixture;
  let platformAdmin: Person;

  beforeAll(async () => {
    fixture = await PortalFixture.open();
    platformAdmin = await fixture.person('platform_admin');
  });
  afterAll(() => fixture.close());

  const balanceOf = async (id: number) => (await fixture.app.application.get(Ledger).wallet(id)).balance;

  test('a promotion is granted once per wallet under concurrency, spent first, and its remainder is posted back at the end', async () => {
    const path = '/dashboard/admin/promotions';
    const person = await fixture.person('user');
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        fixture.post(platformAdmin, path, { name: 'Hello', scope: 'everyone', amount: '0.000000100' }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await balanceOf(person.id)).toBe(400n);
    const ids = answers.map(({ body }) => Number(body['id']));
    for (const id of ids) {
      expect(
        (await fixture.post(platformAdmin, `${path}/${id}/update`, { end: true, reason: 'over' })).status,
      ).toBe(200);
    }
    expect(await balanceOf(person.id)).toBe(0n);
    const otherOrganisation = await fixture.organisation();
    expect(
      (
        await fixture.post(platformAdmin, path, {
          name: 'x',
          scope: 'organisation',
          org_id: otherOrganisation,
          amount: 1,
        })
      ).status,
    ).toBe(404);
  });

  test('ending a promotion takes it back from more wallets than one batch holds', async () => {
    const path = '/dashboard/admin/promotions';
    await fixture.app.database.query(
      `INSERT INTO user_account (email, display_name, status)
       SELECT 'many-' || n || '@example.com', 'many', 'active' FROM generate_series(1, 501) AS n`,
    );
    const createResponse = await fixture.post(platformAdmin, path, {
      name: 'All',
      scope: 'everyone',
      amount: '0.000000100',
    });
    const id = Number(createResponse.body['id']);
    const endResponse = await fixture.post(platformAdmin, `${path}/${id}/update`, {
      end: true,
      reason: 'over',
    });
    expect(endResponse.status).toBe(200);
    const { left } = await fixture.row<{ left: number }>(
      'SELECT count(*)::integer AS "left" FROM promotion_credit WHERE grant_id = $1 AND remaining > 0',
      [id],
    );
    expect(left).toBe(0);
  });
});
