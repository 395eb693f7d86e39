import { Escrow, Ledger } from '#product/billing';
import { PromotionStore } from '#inside/billing/promotions/promotion-store';
import { UserAccount } from '#product/identity';
import { uuidv7 } from '#product/kernel';
import { signIn } from '../../support/users';
import { until } from '../../support/until';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';

const CENT = 10_000_000n;

describe('An ended promotion', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const addPerson = async (role: UserRole = 'user'): Promise<number> => {
    const accounts = app.database.source.getRepository(UserAccount);
    const name = uuidv7();
    const user = accounts.create({ email: `${name}@example.com`, displayName: name, role, status: 'active' });
    await accounts.insert(user);
    return user.id;
  };
  const getService = <Service>(service: new (...parts: never[]) => Service): Service =>
    app.application.get(service, { strict: false });
  const balance = async (walletId: number): Promise<bigint> =>
    (await getService(Ledger).wallet(walletId)).balance;
  const hold = (walletId: number, amount: bigint) =>
    getService(Escrow).hold({ requestId: uuidv7(), amount, refs: [{ kind: 'wallet', id: walletId }] });
  const givePromotion = async (
    walletId: number,
    amount: bigint,
    seconds: number | null = null,
  ): Promise<number> => {
    const [made] = await app.database.query<{ id: number }>(
      `INSERT INTO promotion_grant (name, scope, user_id, amount, created_by, expires_at)
       VALUES ('gift', 'user', $1, $2, $1, clock_timestamp() + $3::float8 * interval '1 second') RETURNING id`,
      [walletId, amount.toString(), seconds],
    );
    await getService(PromotionStore).creditAll(made?.id ?? 0);
    return made?.id ?? 0;
  };
  const end = async (id: number): Promise<void> => {
    await app.database.query(
      `UPDATE promotion_grant SET expires_at = now() - interval '2 days' WHERE id = $1`,
      [id],
    );
    await getService(PromotionStore).reclaimAll(id);
  };

  const topUp = (walletId: number, amount: bigint): Promise<unknown> =>
    app.database.transaction(
      (tx) =>
        getService(Ledger).post(tx, { walletId, amount, against: 'adjustment', kind: 'gift', ref: uuidv7() }),
      { withoutActivity: 'a gift of the test' },
    );
  const waitForEnd = (id: number): Promise<number> =>
    until(async () => {
      const [row] = await app.database.query<{ ended: boolean }>(
        'SELECT expires_at <= clock_timestamp() AS ended FROM promotion_grant WHERE id = $1',
        [id],
      );
      return row?.ended === true;
    });

  // "A promotion ended by itself is charged up to 15 s more ($3.18 of $5)": no job has run here.
  test('is not drawn from after its end date, neither from a slice nor from a released hold', async () => {
    const walletId = await addPerson();
    const id = await givePromotion(walletId, 500n * CENT, 1);
    const openHold = await hold(walletId, 60n * CENT);
    const servedHold = await hold(walletId, 40n * CENT);
    servedHold.release();
    await waitForEnd(id);
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
    openHold.release();
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
    expect(await balance(walletId)).toBe(500n * CENT);
    await getService(PromotionStore).reclaimAll(id);
    expect(await balance(walletId)).toBe(0n);
  });

  test('leaves all paid money of the wallet available', async () => {
    const walletId = await addPerson();
    await topUp(walletId, 100n * CENT);
    const id = await givePromotion(walletId, 500n * CENT, 1);
    (await hold(walletId, 300n * CENT)).release();
    await waitForEnd(id);
    await expect(hold(walletId, 101n * CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
    (await hold(walletId, 100n * CENT)).release();
  });

  test('ends for money already drawn by a node when its end date is moved forward', async () => {
    const walletId = await addPerson();
    const id = await givePromotion(walletId, 500n * CENT, 3_600);
    (await hold(walletId, 300n * CENT)).release();
    const soon = new Date(Date.now() + 1_000).toISOString();
    const updateResponse = await fetch(`${app.url}/dashboard/admin/promotions/${id}/update`, {
      method: 'POST',
      headers: {
        cookie: await signIn(app, await addPerson('platform_admin')),
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
      },
      body: JSON.stringify({ expires_at: soon }),
    });
    expect(updateResponse.status).toBe(200);
    await waitForEnd(id);
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
  });

  test('is not spent from the slice of a node', async () => {
    const walletId = await addPerson();
    const id = await givePromotion(walletId, 27n * CENT);
    // The announcement of the gift makes the node return what it drew before.
    await until(async () => {
      (await hold(walletId, CENT)).release();
      return (await getService(Ledger).wallet(walletId)).escrowed > 0n;
    });
    await end(id);
    expect(await balance(walletId)).toBe(0n);
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: expect.any(String) });
  });

  test('keeps the hold of a request in flight and is reclaimed once none can exist', async () => {
    const walletId = await addPerson();
    const id = await givePromotion(walletId, 27n * CENT);
    const openHold = await hold(walletId, 5n * CENT);
    await end(id);
    expect(await balance(walletId)).toBe(5n * CENT);
    // Other money of the wallet stays drawn and held meanwhile.
    await topUp(walletId, 100n * CENT);
    openHold.release();
    const otherHold = await hold(walletId, 50n * CENT);
    await app.database.query(
      `UPDATE promotion_credit SET ended_at = now() - interval '1 day' WHERE grant_id = $1`,
      [id],
    );
    await getService(PromotionStore).reclaimAll(id);
    expect(await balance(walletId)).toBe(100n * CENT);
    otherHold.release();
  });
});
